use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::columns::rows::Rows;
use crate::encode::RecordWriter;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::py::arrow::import::{self, Batches};
use crate::py::bytes_writer;
use crate::py::encode_options::EncodeOptions;
use crate::py::interrupt::Signals;
use crate::py::output::Output;
use crate::py::writer_pool;

/// Encode records; see `logsegment.encode`.
#[pyfunction]
#[pyo3(signature = (table, options, out=None))]
pub fn encode<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    options: EncodeOptions,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mut writer = options.to_writer(py)?;
    let batches = import::batches(table)?;
    let (signals, interrupt) = Signals::new();
    let output = Output::of(out, &signals)?;
    let written = py.detach(|| write(batches, &mut writer, output, &interrupt));
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

fn write(batches: Batches, writer: &mut RecordWriter, mut output: Output, interrupt: &Interrupt) -> Result<()> {
    let mut first_row = 0;
    for batch in batches {
        let batch = batch.map_err(std::io::Error::other)?;
        let rows = Rows::of(&batch)?;
        let mut row = 0;
        while row < batch.num_rows() {
            interrupt.ensure_wanted()?;
            let some = row..batch.num_rows().min(row + ROWS);
            row = rows.write_until(writer, some, first_row + row, output.enough())?;
            if writer.ended_len() >= output.enough() {
                writer.pass_ended(|ended| output.write(ended))?;
            }
        }
        first_row += batch.num_rows();
    }
    writer.end_batch()?;
    finish(writer, output)
}

fn finish(writer: &mut RecordWriter, output: Output) -> Result<()> {
    if matches!(output, Output::Memory) { Ok(()) } else { writer.pass_ended(|ended| output.finish(ended)) }
}

/// The typed exception of one of our own streams, of which Arrow carries the text alone.
fn typed(table: &Bound<'_, PyAny>) -> Option<PyErr> {
    if !table.is_instance_of::<crate::py::arrow::stream::RecordStream>() {
        return None;
    }
    let error = table.getattr("error").ok().filter(|error| !error.is_none())?;
    Some(PyErr::from_value(error))
}
