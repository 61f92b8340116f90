use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::interrupt::Signals;
use super::options::EntryArguments;
use super::source;
use super::stream::RecordStream;
use crate::columns::batches::BatchRows;

/// Open a stream of batch rows; see `logsegment.batches`.
#[pyfunction]
pub fn batch_stream(py: Python<'_>, source: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<RecordStream> {
    let options = EntryArguments::from_dict(options)?;
    let (signals, interrupt) = Signals::new();
    let mut stream = options.to_stream(interrupt)?;
    let mut opened = source::open(source, &signals)?;
    options.reading.resolve(&mut stream.decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
    let rows = BatchRows::new(opened.source, stream);
    let rows = if options.resolves { rows.resolving() } else { rows };
    Ok(RecordStream::new(Box::new(rows), signals))
}
