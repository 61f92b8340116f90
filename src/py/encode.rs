use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::arrow_in::{self, Batches};
use super::encode_options::EncodeArguments;
use super::interrupt::Signals;
use super::output::Output;
use super::writers;
use crate::columns::rows::Rows;
use crate::encode::RecordWriter;
use crate::error::{ErrorKind, Result};
use crate::interrupt::Interrupt;

/// Encode records; see `logsegment.encode`.
#[pyfunction]
#[pyo3(signature = (table, options, out=None))]
pub fn encode<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mut writer = EncodeArguments::from_dict(options)?.to_writer(py)?;
    let batches = arrow_in::batches(table)?;
    let (signals, interrupt) = Signals::new();
    let output = Output::of(out, &signals)?;
    let written = py.detach(|| write(batches, &mut writer, output, &interrupt));
    match written {
        Ok(()) => {
            let bytes = out.is_none().then(|| PyBytes::new(py, writer.output()));
            writers::give_back(writer);
            Ok(bytes)
        }
        Err(error) => Err(typed(table).unwrap_or_else(|| signals.raised(py, &error))),
    }
}

/// Rows between two looks at what is pending and at signals; large ones must not pile up.
const ROWS: usize = 64;

fn write(batches: Batches, writer: &mut RecordWriter, mut output: Output, interrupt: &Interrupt) -> Result<()> {
    let mut first_row = 0;
    for batch in batches {
        let batch = batch.map_err(|error| ErrorKind::Io { kind: std::io::ErrorKind::Other, os_code: None, message: error.to_string() })?;
        let rows = Rows::of(&batch)?;
        for start in (0..batch.num_rows()).step_by(ROWS) {
            interrupt.ensure_wanted()?;
            rows.write_range(writer, start..batch.num_rows().min(start + ROWS), first_row + start)?;
            output.take(writer.output())?;
        }
        first_row += batch.num_rows();
    }
    writer.end_batch()?;
    output.finish(writer.output())
}

/// The typed exception of one of our own streams, of which Arrow carries the text alone.
fn typed(table: &Bound<'_, PyAny>) -> Option<PyErr> {
    if !table.is_instance_of::<super::stream::RecordStream>() {
        return None;
    }
    let error = table.getattr("error").ok().filter(|error| !error.is_none())?;
    Some(PyErr::from_value(error))
}
