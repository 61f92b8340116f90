//! The bytes of one segment that hold offsets or times.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::error::Result;
use crate::log::BatchLookup;
use crate::partition as core;
use crate::partition::Storage;
use crate::py::finding::{self, PyFinding};
use crate::py::options::PartitionRead;
use crate::py::source::storage::PyStorage;
use crate::py::source::uris;
use crate::py::verbs::segment_file::PySegmentFile;

/// Position; size, base offset and last offset of the batch, or None.
type FoundBatch = (u64, Option<(u64, i64, i64)>);

/// Look up offsets and times in one segment. Entries of Kafka 0.7 have no offsets and no times: all of its bytes may be wanted.
///
/// Args:
///     file: the segment.
///     remembers: the last offset is looked up once, for one short search in which the file does not change.
///
/// Attributes:
///     file (SegmentFile): the segment.
///     bytes_walked (int): bytes of which every header was read, because no index led past them.
#[pyclass(name = "SegmentLookup", frozen, module = "logsegment._core")]
pub struct PySegmentLookup {
    pub lookup: Arc<core::SegmentLookup>,
    pub file: PySegmentFile,
}

impl PySegmentLookup {
    /// Look-ups that are known already.
    pub fn of_core(lookup: Arc<core::SegmentLookup>, file: PySegmentFile) -> Self {
        Self { lookup, file }
    }

    fn asked<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&core::SegmentLookup, &dyn Storage) -> Result<T> + Send) -> PyResult<T> {
        PyStorage::asked(py, |storage| ask(&self.lookup, storage))
    }
}

#[pymethods]
impl PySegmentLookup {
    #[new]
    #[pyo3(signature = (file, *, remembers=false), text_signature = "(file, *, remembers=False)")]
    fn new(file: PyRef<'_, PySegmentFile>, remembers: bool) -> Self {
        let lookup = core::SegmentLookup::new(file.file.clone());
        Self::of_core(Arc::new(if remembers { lookup.remembering() } else { lookup }), file.clone())
    }

    #[getter]
    fn file(&self) -> PySegmentFile {
        self.file.clone()
    }

    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::text_of(py, &self.file.file.path)
    }

    /// Bytes of the file now.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.asked(py, core::SegmentLookup::size)
    }

    #[getter]
    fn base_offset(&self) -> Option<i64> {
        self.file.file.base_offset
    }

    #[getter]
    fn bytes_walked(&self) -> u64 {
        self.lookup.bytes_walked()
    }

    /// Bytes of the `.index` that a look-up has read; None if there was no look-up.
    #[getter]
    fn index_bytes(&self) -> Option<u64> {
        self.lookup.index_bytes()
    }

    /// Where the headers end after which no batch of a wanted time was found; else None.
    #[getter]
    fn end_of_times(&self) -> Option<u64> {
        self.lookup.end_of_times()
    }

    /// Return the look-up of the same file with other offsets that it may hold.
    fn of(&self, file: PyRef<'_, PySegmentFile>) -> Self {
        Self::of_core(Arc::new(self.lookup.of(file.file.clone())), file.clone())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (PySegmentFile,)) {
        (slf.get_type().into_any(), (slf.get().file(),))
    }

    /// Return positions of batches where the file can be cut into pieces of about `step` bytes, between two positions.
    #[pyo3(signature = (step, start=0, end=None, *, valid=false))]
    fn cuts(&self, py: Python<'_>, step: u64, start: u64, end: Option<u64>, valid: bool) -> PyResult<Vec<u64>> {
        self.asked(py, |lookup, storage| lookup.cuts(step, start, end, valid, storage))
    }

    /// Return the entries of the `.index`: offset and position.
    fn offset_index(&self, py: Python<'_>) -> PyResult<Vec<(i64, i32)>> {
        self.asked(py, |lookup, storage| {
            Ok(lookup.offset_index(storage)?.entries.iter().map(|entry| (entry.offset, entry.position)).collect())
        })
    }

    /// Return the entries of the `.timeindex`: timestamp and offset.
    fn time_index(&self, py: Python<'_>) -> PyResult<Vec<(i64, i64)>> {
        self.asked(py, |lookup, storage| {
            Ok(lookup.time_index(storage)?.entries.iter().map(|entry| (entry.timestamp, entry.offset)).collect())
        })
    }

    /// Return the findings of the `.index` or the `.timeindex` alone.
    fn findings_of(&self, py: Python<'_>, suffix: &str) -> PyResult<Vec<PyFinding>> {
        let found = self.asked(py, |lookup, storage| {
            let findings = if suffix == ".index" { &lookup.offset_index(storage)?.findings } else { &lookup.time_index(storage)?.findings };
            Ok(lookup.in_sidecar(findings, suffix.trim_start_matches('.'), storage))
        })?;
        Ok(finding::to_py(&found))
    }

    /// The findings of the `.index` alone (missing, cut, out of order), and of look-ups that it led nowhere.
    #[getter]
    fn index_findings(&self, py: Python<'_>) -> PyResult<Vec<PyFinding>> {
        Ok(finding::to_py(&self.asked(py, core::SegmentLookup::index_findings)?))
    }

    /// Return the bytes that a read needs: the position of the first batch, and the end of the last one; None for the end of the file.
    ///
    /// A read that skips damage trusts no header that may be damaged. Offsets of Kafka 0.7 are positions after messages, by which nothing
    /// is looked up. If headers cannot be read, the range begins at 0, or ends at the end of the file: the decode raises the error.
    fn range_to_read(&self, py: Python<'_>, options: PartitionRead) -> PyResult<(u64, Option<u64>)> {
        let wanted = options.wanted()?;
        self.asked(py, |lookup, storage| lookup.range_to_read(&wanted, storage))
    }

    /// Return the bytes of the batches that may hold offsets from `start_offset` (inclusive) to `end_offset` (exclusive).
    #[pyo3(signature = (start_offset=None, end_offset=None))]
    fn byte_range(&self, py: Python<'_>, start_offset: Option<i64>, end_offset: Option<i64>) -> PyResult<(u64, Option<u64>)> {
        self.asked(py, |lookup, storage| lookup.byte_range(start_offset, end_offset, storage))
    }

    /// Return the bytes of these offsets for a read that skips damage: as `byte_range`, but more.
    #[pyo3(signature = (start_offset=None, end_offset=None))]
    fn valid_range(&self, py: Python<'_>, start_offset: Option<i64>, end_offset: Option<i64>) -> PyResult<(u64, Option<u64>)> {
        self.asked(py, |lookup, storage| lookup.valid_range(start_offset, end_offset, storage))
    }

    /// Return the bytes that hold the batch of an offset, if there is one although no header shows it. None if a header does.
    fn hidden_range(&self, py: Python<'_>, offset: i64) -> PyResult<Option<(u64, Option<u64>)>> {
        self.asked(py, |lookup, storage| lookup.hidden_range(offset, storage))
    }

    /// Find the first batch that ends at or after an offset: its position; its size, first and last offset, or None if there is none.
    fn find_offset(&self, py: Python<'_>, offset: i64) -> PyResult<FoundBatch> {
        self.asked(py, |lookup, storage| lookup.find_offset(offset, storage).map(as_found))
    }

    /// Find the first batch that may hold a record of this time (ms) or later, by its header; as `find_offset`.
    fn find_timestamp(&self, py: Python<'_>, timestamp: i64) -> PyResult<FoundBatch> {
        self.asked(py, |lookup, storage| lookup.find_timestamp(timestamp, storage).map(as_found))
    }

    /// Return the position of the first batch that may hold a record of this time (ms) or later, or None if headers show that none does.
    fn position_for_timestamp(&self, py: Python<'_>, timestamp: i64) -> PyResult<Option<u64>> {
        self.asked(py, |lookup, storage| lookup.position_for_timestamp(timestamp, storage))
    }

    /// Return the offset after the last whole batch, the first offset if there is none, or None if headers cannot be read.
    fn next_offset(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.asked(py, core::SegmentLookup::next_offset)
    }

    /// Return the offset and the position after the last whole batch, to which the index leads; the first of both if there is none.
    fn end(&self, py: Python<'_>) -> PyResult<(Option<i64>, u64)> {
        self.asked(py, core::SegmentLookup::end)
    }

    /// Return the position, the size and the last offset of the last whole batch; None if there is none.
    fn last_batch(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, i64)>> {
        let last = self.asked(py, core::SegmentLookup::last_batch)?;
        Ok(last.map(|header| (header.position, header.size, header.last_offset)))
    }

    /// Return the offset after the last batch if it is before an offset; None if it is not, or headers cannot be read.
    ///
    /// Args:
    ///     offset: the offset.
    ///     past_damage: a damaged header may claim the bytes of valid batches up to the end.
    #[pyo3(signature = (offset, *, past_damage))]
    fn end_before(&self, py: Python<'_>, offset: i64, past_damage: bool) -> PyResult<Option<i64>> {
        self.asked(py, |lookup, storage| lookup.end_before(offset, past_damage, storage))
    }

    /// Return the positions where the entry around a position begins and ends; None if an entry begins there, or none is there.
    fn entry_around(&self, py: Python<'_>, position: u64) -> PyResult<Option<(u64, u64)>> {
        self.asked(py, |lookup, storage| lookup.entry_around(position, storage))
    }
}

fn as_found(place: BatchLookup) -> FoundBatch {
    (place.position, place.header.map(|header| (header.size, header.base_offset, header.last_offset)))
}
