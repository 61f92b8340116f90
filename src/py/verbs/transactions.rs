//! Transactions of sources that a user gives: as a value, and how they are found.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::batch_rows::batch_rows;
use crate::decode::transactions::TransactionScan;
use crate::decode::{ChecksumVerifier, Checksums, OffsetRange, transactions as core};
use crate::error::{Error, Result};
use crate::framing::Source;
use crate::log::transaction_history::Transaction;
use crate::log::{self, Committed, EntrySource};
use crate::model::ControlType;
use crate::py::arrow::export::ArrowBatch;
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::paths;
use crate::py::source::{self, FileSource};
use crate::py::transactions::PyTransactions;
use crate::py::verbs::valid_batches::PyBatchHeader;

/// Find the transactions of sources; see `logsegment.scan_transactions`. `options` are those of the decode that follows.
#[pyfunction]
pub fn scan_transactions(py: Python<'_>, sources: Vec<Bound<'_, PyAny>>, options: ReadOptions) -> PyResult<PyTransactions> {
    learned(py, &sources, options.verifier(options.scan_checksums()?), options.skips_unreadable()).map(PyTransactions)
}

/// The transactions of sources that can be read again, which are in offset order.
///
/// What the verifier does not trust is skipped, as the decode that follows skips it; batches of magic 3 where they are not read are
/// only when that one `skips` them.
pub fn learned(py: Python<'_>, sources: &[Bound<'_, PyAny>], verifier: ChecksumVerifier, skips: bool) -> PyResult<core::Transactions> {
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let given = sources.iter().map(|object| RepeatableSource::new(object, &signals)).collect::<PyResult<Vec<_>>>()?;
    let committed = Committed { wanted: OffsetRange::default(), verifier, skips_unreadable: skips, interrupt: &interrupt };
    py.detach(|| committed.transactions_of(&given)).map_err(|error| signals.raised(py, &error))
}

/// A source that a user gave.
struct RepeatableSource {
    object: Py<PyAny>,
    signals: Arc<Signals>,
}

impl RepeatableSource {
    fn new(object: &Bound<'_, PyAny>, signals: &Arc<Signals>) -> PyResult<Self> {
        Ok(Self { object: source::to_file_source(object)?.unbind(), signals: Arc::clone(signals) })
    }

    /// Fails with ValueError when it can be read only once: the decode would find it empty.
    fn opened(&self, py: Python<'_>, start: u64) -> PyResult<Source> {
        let object = self.object.bind(py);
        let file = object.cast::<FileSource>().ok().map(|file| Bound::new(py, file.get().from(start))).transpose()?;
        let mut opened = source::open(file.as_ref().map_or(object, Bound::as_any), &self.signals)?;
        if !opened.is_repeatable {
            return Err(PyValueError::new_err(
                "isolation \"read_committed\" reads the source twice, which a file object does not allow; pass a path or a buffer",
            ));
        }
        opened.source.discard_to(start);
        Ok(opened.source)
    }
}

impl EntrySource for RepeatableSource {
    fn source(&self, start: u64) -> Result<Source> {
        Python::attach(|py| self.opened(py, start).map_err(|error| self.signals.kept(error)))
    }

    fn named(&self, error: Error) -> Error {
        Python::attach(|py| match self.object.bind(py).cast::<FileSource>() {
            Ok(file) => paths::in_file(error, &file.get().path),
            Err(_) => error,
        })
    }
}

/// How a transaction ended and what it was: state, producer id, producer epoch, first offset, last offset, offset of the marker, batches,
/// records, bytes, first timestamp and duration (ms).
type History = (&'static str, i64, i16, i64, i64, Option<i64>, u64, i64, u64, i64, i64);

/// The transactions of a partition one by one; see `logsegment.partition.transactions`.
#[pyclass(name = "TransactionHistory", module = "logsegment._core")]
pub struct PyTransactionHistory(log::TransactionHistory);

#[pymethods]
impl PyTransactionHistory {
    /// Create an empty history.
    ///
    /// Args:
    ///     longest_ms: a transaction that is open for longer hangs.
    #[new]
    fn new(longest_ms: i64) -> Self {
        Self(log::TransactionHistory::new(longest_ms))
    }

    /// Begin a segment: read its markers. A marker whose batch fails its checksum does not count.
    ///
    /// Args:
    ///     source: a buffer or a FileSource.
    ///     options: those of the read.
    ///
    /// Raises:
    ///     UnsupportedError: for a batch of magic 3 that the options do not read (MAP-3).
    ///     OSError: if the file cannot be read.
    fn enter(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>, options: ReadOptions) -> PyResult<()> {
        let mut scan = TransactionScan::keeping_ends();
        let (signals, interrupt) = Signals::new();
        signals.skip_damage(true);
        let given = RepeatableSource::new(source, &signals)?;
        let verifier = options.verifier(Checksums::All);
        let committed = Committed { wanted: OffsetRange::default(), verifier, skips_unreadable: false, interrupt: &interrupt };
        let visited = py.detach(|| given.source(0).and_then(|source| committed.visit_source(source, &mut scan)));
        visited.map_err(|error| signals.raised(py, &error))?;
        self.0.enter(scan.into_ends().into_iter().map(|(id, offset, kind)| (id, offset, kind == ControlType::Commit)));
        Ok(())
    }

    /// Remember that the segment is damaged at a position.
    fn add_damage(&mut self, position: u64) {
        self.0.add_damage(position);
    }

    /// Visit rows of `logsegment.batches`; return the offset where they begin, the transactions that they end, and the headers whose
    /// checksums do not match.
    fn visit(&mut self, rows: &ArrowBatch) -> (Option<i64>, Vec<History>, Vec<PyBatchHeader>) {
        let (mut ended, mut invalid) = (Vec::new(), Vec::new());
        let rows = batch_rows(&rows.0).unwrap_or_default();
        let first = rows.first().and_then(|row| row.base_offset);
        for row in rows {
            if row.is_valid == Some(false) {
                self.0.mark_undecided();
                invalid.push(PyBatchHeader(row));
            } else {
                ended.extend(self.0.visit(&row.header).map(history));
            }
        }
        (first, ended, invalid)
    }

    /// End the last segment, and return the transactions without a marker, by first offset.
    ///
    /// Args:
    ///     now: the time up to which they last; None for as long as the log shows.
    fn open(&mut self, now: Option<i64>) -> Vec<History> {
        self.0.leave();
        self.0.open(now).into_iter().map(history).collect()
    }
}

fn history(transaction: Transaction) -> History {
    let Transaction { state, producer_id, producer_epoch, first_offset, last_offset, marker_offset, .. } = transaction;
    let (batches, records, bytes, begin, duration) =
        (transaction.batches, transaction.records, transaction.bytes, transaction.first_timestamp, transaction.duration_ms);
    let state = state.name();
    (state, producer_id, producer_epoch, first_offset, last_offset, marker_offset, batches, records, bytes, begin, duration)
}
