use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::columns::rows::Rows;
use crate::encode::RecordWriter;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::py::arrow::import::{self, ImportedBatches};
use crate::py::bytes_writer;
use crate::py::encode_options::EncodeOptions;
use crate::py::interrupt::Signals;
use crate::py::output::PyOutput;
use crate::py::value_writer::{PyValueWriter, typed_writers};
use crate::py::writer_pool;
use crate::values::TypedWriters;

/// Encode records; see `logsegment.encode`.
#[pyfunction]
#[pyo3(signature = (table, options, out=None, value_writer=None, key_writer=None))]
pub fn encode<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    options: EncodeOptions,
    out: Option<&Bound<'py, PyAny>>,
    value_writer: Option<PyValueWriter>,
    key_writer: Option<PyValueWriter>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mut writer = options.to_writer(py)?;
    let batches = import::batches(table)?;
    let writers = typed_writers(value_writer, key_writer);
    let (signals, interrupt) = Signals::new();
    let output = PyOutput::of(out, &signals)?;
    let written = py.detach(|| write(batches, &writers, EncodeTarget { writer: &mut writer, output, interrupt: &interrupt }));
    match written {
        Ok(()) => {
            let bytes = out.is_none().then(|| bytes_writer::copied(py, writer.ended())).transpose()?;
            writer_pool::give_back(writer);
            Ok(bytes)
        }
        Err(error) => Err(typed(table).unwrap_or_else(|| signals.raised(py, &error))),
    }
}

/// Rows between two looks at signals.
const ROWS: usize = 64;

struct EncodeTarget<'w> {
    writer: &'w mut RecordWriter,
    output: PyOutput,
    interrupt: &'w Interrupt,
}

fn write(batches: ImportedBatches, typed: &TypedWriters, mut target: EncodeTarget<'_>) -> Result<()> {
    let mut first_row = 0;
    for batch in batches {
        let batch = batch.map_err(std::io::Error::other)?;
        if typed.is_empty() {
            target.write(&batch, first_row)?;
        } else {
            typed.each(&batch, first_row, |part, first_row| target.write(part, first_row))?;
        }
        first_row += batch.num_rows();
    }
    target.writer.end_batch()?;
    finish(target.writer, target.output)
}

impl EncodeTarget<'_> {
    fn write(&mut self, batch: &RecordBatch, first_row: usize) -> Result<()> {
        let rows = Rows::of(batch)?;
        let mut row = 0;
        while row < batch.num_rows() {
            self.interrupt.ensure_wanted()?;
            let some = row..batch.num_rows().min(row + ROWS);
            row = rows.write_until(self.writer, some, first_row + row, self.output.enough())?;
            if self.writer.ended_len() >= self.output.enough() {
                self.writer.pass_ended(|ended| self.output.write(ended))?;
            }
        }
        Ok(())
    }
}

fn finish(writer: &mut RecordWriter, output: PyOutput) -> Result<()> {
    if matches!(output, PyOutput::Memory) { Ok(()) } else { writer.pass_ended(|ended| output.finish(ended)) }
}

/// The typed exception of one of our own streams, of which Arrow carries the text alone.
fn typed(table: &Bound<'_, PyAny>) -> Option<PyErr> {
    if !table.is_instance_of::<crate::py::arrow::stream::RecordStream>() {
        return None;
    }
    let error = table.getattr("error").ok().filter(|error| !error.is_none())?;
    Some(PyErr::from_value(error))
}
