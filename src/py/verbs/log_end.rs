//! The end of a log to which a broker appends, and its last stable offset.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;

use crate::decode::{ChecksumVerifier, Checksums, OffsetRange};
use crate::error::Result;
use crate::framing::Ending;
use crate::log::{self as core, GrowingLog, LastBatch, Lookup};
use crate::py::finding::Finding;
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::paths;
use crate::py::verbs::segment::{Scope, scanned};
use crate::sidecar::offset_index;

/// A batch to be known again: position, stored checksum, last offset.
type Last = (u64, u32, i64);

/// Describe the end of a log after its last batch.
///
/// Attributes:
///     kind: "complete": the batch is the end. "torn": inside an entry that may still be written. "zeros": zeros of a preallocated
///         file. "damaged": invalid bytes, or an entry with valid batches after its start.
///     position: position of the bytes after the batch; None for a complete log.
#[pyclass(frozen, get_all, module = "logsegment._core")]
pub struct Tail {
    kind: &'static str,
    position: Option<u64>,
}

/// Describe the end of a growing segment.
///
/// Attributes:
///     last: the last valid batch, as position, checksum and last offset; None if there is none.
///     next_offset: the offset after the last batch; the first offset of the segment if there is none.
///     tail: the bytes after the batch.
///     stop: position of the zeros at the end, or None.
///     finding: the finding of a damaged tail; None if damage is skipped.
///     is_cut: True if the last batch of the previous look is gone.
#[pyclass(frozen, module = "logsegment._core")]
pub struct LogEnd {
    end: core::LogEnd,
    base_offset: i64,
    #[pyo3(get)]
    is_cut: bool,
}

#[pymethods]
impl LogEnd {
    #[getter]
    fn last(&self) -> Option<Last> {
        self.end.last.map(|last| (last.position, last.crc, last.last_offset))
    }

    #[getter]
    fn next_offset(&self) -> i64 {
        self.end.last.map_or(self.base_offset, |last| last.last_offset.saturating_add(1))
    }

    #[getter]
    fn tail(&self) -> Tail {
        Tail { kind: self.end.tail.name(), position: self.end.tail.position() }
    }

    #[getter]
    fn stop(&self) -> Option<u64> {
        Some(self.end.zeros.start).filter(|_| !self.end.zeros.is_empty())
    }

    #[getter]
    fn finding(&self) -> Option<Finding> {
        self.end.finding.as_ref().map(Finding::from)
    }
}

/// Find the end of a growing segment.
///
/// Args:
///     path: the segment.
///     base_offset: its first offset.
///     options: those of the read. If it skips damage, the end is the last valid batch past damage.
///     since: an earlier answer about the same segment. Only what is new since then is read; None for the end to which the index leads.
///     is_checked: the very last batch counts only if its checksum matches.
///
/// Raises:
///     RecordBatchError: if a header is damaged, unless damage is skipped.
///     OSError: if the file cannot be read.
#[pyfunction]
#[pyo3(signature = (path, base_offset, options, *, since=None, is_checked=true),
    text_signature = "(path, base_offset, options, *, since=None, is_checked=True)")]
pub fn log_end(
    py: Python<'_>,
    path: PathBuf,
    base_offset: i64,
    options: ReadOptions,
    since: Option<PyRef<'_, LogEnd>>,
    is_checked: bool,
) -> PyResult<LogEnd> {
    let known = since.map(|since| since.end.clone());
    let skips_damage = options.skips_damage()?;
    let zeros = known.as_ref().map_or(0..0, |known| known.zeros.clone());
    let last = known.and_then(|known| known.last);
    looked_at(py, &path, &options, |growing, signals| {
        let growing = GrowingLog { is_checked, skips_damage, zeros, ..growing };
        let is_cut = last.map_or(Ok(false), |last| growing.holds(&last).map(|holds| !holds))?;
        let since = last.filter(|_| !is_cut);
        let start = since.map_or_else(|| near_end(&growing, (&path, base_offset), signals), |last| Ok(last.position))?;
        let end = growing.end(since, start, &|from, to| Ok(paths::recovering(&path, from, to, signals)?))?;
        Ok(LogEnd { end, base_offset, is_cut })
    })
}

/// Return True if a batch of a segment is still at its position.
///
/// Raises:
///     OSError: if the file cannot be read.
#[pyfunction]
pub fn has_batch(py: Python<'_>, path: PathBuf, last: Last, options: ReadOptions) -> PyResult<bool> {
    let (position, crc, last_offset) = last;
    looked_at(py, &path, &options, |growing, _| growing.holds(&LastBatch { position, crc, last_offset }))
}

/// Track the last stable offset of a growing partition.
#[pyclass(module = "logsegment._core")]
#[derive(Default)]
pub struct StableOffset(core::StableOffset);

#[pymethods]
impl StableOffset {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Return the first offset of the oldest transaction that is open at `until`, or `until`.
    ///
    /// Args:
    ///     segments: those of the partition in offset order, as (path, base offset).
    ///     until: markers from this offset on do not count.
    ///     options: those of the read.
    ///
    /// Raises:
    ///     RecordBatchError: if a header is damaged, or the checksum of a marker, or of the first batch of an open transaction, is wrong.
    ///     OSError: if a file cannot be read.
    fn find(&mut self, py: Python<'_>, segments: Vec<(PathBuf, i64)>, until: i64, options: ReadOptions) -> PyResult<i64> {
        let verifier = options.verifier(Checksums::OfMarkers);
        let scope = Scope { wanted: OffsetRange::default(), verifier, skips: (false, false) };
        scanned(py, segments, scope, |committed, segments| self.0.find(committed, segments, until))
    }
}

/// Opens a log and looks something up in it.
fn looked_at<T: Send>(
    py: Python<'_>,
    path: &Path,
    options: &ReadOptions,
    look: impl FnOnce(GrowingLog<'_>, &Arc<Signals>) -> Result<T> + Send,
) -> PyResult<T> {
    let (signals, interrupt) = Signals::new();
    let (log, len) = paths::open(path, &signals).map_err(|error| paths::raised(py, &error, path, &signals))?;
    let ChecksumVerifier { formats, limits, .. } = options.verifier(Checksums::All);
    let growing =
        GrowingLog { log: &*log, len, limits, formats, is_checked: true, skips_damage: false, zeros: 0..0, interrupt: &interrupt };
    py.detach(|| look(growing, &signals)).map_err(|error| signals.raised(py, &paths::in_file(error, path)))
}

/// An index that cannot be read is a hint that is missing.
fn near_end(growing: &GrowingLog<'_>, (path, base_offset): (&Path, i64), signals: &Arc<Signals>) -> Result<u64> {
    let bytes = paths::read(&paths::sidecar(path, "index"), signals).ok().flatten().unwrap_or_default();
    let parsed = offset_index::parse(&bytes, base_offset);
    let offsets = if parsed.is_valid() { parsed.entries.as_slice() } else { &[] };
    Lookup { log: growing.log, len: growing.len, limits: growing.limits, offsets, ending: Ending::Open }.near_end()
}
