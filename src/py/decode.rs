use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::interrupt::Signals;
use super::options::{RecordArguments, committed};
use super::stream::RecordStream;
use super::{source, transactions};
use crate::columns::stream;

/// Open a stream of records; see `logsegment.decode`.
#[pyfunction]
pub fn decode(py: Python<'_>, source: &Bound<'_, PyAny>, options: RecordArguments) -> PyResult<RecordStream> {
    let (signals, interrupt) = Signals::new();
    let mut stream = options.to_stream(interrupt)?;
    if options.is_committed()? {
        let known = options.transactions.as_ref().map(|known| known.0.clone());
        let transactions = match known {
            Some(transactions) => transactions,
            None => scan(py, source)?,
        };
        stream.decode.isolation = committed(transactions);
    }
    let opened = source::open(source)?;
    Ok(RecordStream::new(stream::open(opened.source, stream), signals))
}

/// The transactions of a source that can be read twice.
fn scan(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<crate::decode::Transactions> {
    let opened = source::open(object)?;
    if !opened.is_repeatable {
        return Err(PyValueError::new_err(
            "read_committed needs a source that can be read twice (a buffer or a FileSource), or transactions= from scan_transactions",
        ));
    }
    transactions::scan(py, vec![opened.source])
}
