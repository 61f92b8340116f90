//! The offsets of a batch that is not whole.

use pyo3::prelude::*;

use crate::decode;
use crate::format::record_batch;
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::FileSource;

/// Return the first and the last offset in the header at the start of a source, of which the end may be missing; None if it does not show both.
#[pyfunction]
pub fn torn_offsets(py: Python<'_>, source: PyRef<'_, FileSource>, options: ReadOptions) -> PyResult<Option<(i64, i64)>> {
    let (signals, _) = Signals::new();
    let mut opened = source.open(&signals)?;
    let mut found = options.to_decode()?;
    let read = options.reading.resolve(&mut found, &mut opened).and_then(|()| opened.source.fill(record_batch::MAX_HEADER_LEN));
    read.map_err(|error| signals.raised(py, &error))?;
    Ok(decode::torn_offsets(opened.source.front(), found.formats))
}
