//! The end of a partition that grows, and its new records.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::decode::{ChecksumVerifier, Checksums};
use crate::log::LastBatch;
use crate::partition as core;
use crate::partition::growing::{EndOptions, GrowingEnd};
use crate::partition::{EndDamage, Followed, GrowingPartition, SegmentFile as CoreFile, SegmentRange};
use crate::py::errors::{self, SegmentKeyError};
use crate::py::finding::PyFinding;
use crate::py::options::{PartitionRead, ReadOptions};
use crate::py::source::storage::PyStorage;
use crate::py::verbs::partition_piece::{DecodedPart, with_wanted};
use crate::py::verbs::segment_file::PySegmentFile;

/// A batch to be known again: position, stored checksum, last offset.
type Last = (u64, u32, i64);

/// Describe the end of a growing segment.
///
/// Attributes:
///     last: the last valid batch, as position, checksum and last offset; None if there is none.
///     next_offset: the offset after the last batch; the first offset of the segment if there is none.
///     tail: the bytes after the batch. "complete": the batch is the end. "torn": inside an entry that may still be written. "zeros": zeros of
///         a preallocated file. "damaged": invalid bytes, or an entry with valid batches after its start.
///     position: position of these bytes; None for a complete log.
///     stop: position of the zeros at the end, or None.
///     finding: the finding of a damaged tail; None if damage is skipped.
///     is_cut: True if the last batch of the previous look is gone.
#[pyclass(name = "LogEnd", frozen, module = "logsegment._core")]
pub struct PyLogEnd(GrowingEnd);

#[pymethods]
impl PyLogEnd {
    #[getter]
    fn last(&self) -> Option<Last> {
        self.0.end.last.map(|last| (last.position, last.crc, last.last_offset))
    }

    #[getter]
    fn next_offset(&self) -> i64 {
        self.0.next_offset()
    }

    #[getter]
    fn tail(&self) -> &'static str {
        self.0.end.tail.name()
    }

    #[getter]
    fn position(&self) -> Option<u64> {
        self.0.end.tail.position()
    }

    #[getter]
    fn stop(&self) -> Option<u64> {
        Some(self.0.end.zeros.start).filter(|_| !self.0.end.zeros.is_empty())
    }

    #[getter]
    fn finding(&self) -> Option<PyFinding> {
        self.0.end.finding.as_ref().map(PyFinding::from)
    }

    #[getter]
    fn is_cut(&self) -> bool {
        self.0.is_cut
    }
}

/// Find the end of a partition again and again: only the batches that are new are walked.
///
/// Args:
///     options: the `ReadOptions`. With `on_error="raise"` the end is the last batch before damage, with "skip" the last valid batch past
///         damage.
#[pyclass(name = "GrowingLog", frozen, subclass, module = "logsegment._core")]
pub struct PyGrowingLog(Mutex<GrowingPartition>);

impl PyGrowingLog {
    fn ends(&self) -> MutexGuard<'_, GrowingPartition> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyGrowingLog {
    #[new]
    fn new(options: ReadOptions) -> PyResult<Self> {
        Ok(Self(Mutex::new(GrowingPartition::new(ends_by(&options)?))))
    }

    /// Return the end of a segment.
    ///
    /// Args:
    ///     segment: the segment that grows.
    ///     is_checked: the very last batch counts only if its checksum matches.
    ///
    /// Raises:
    ///     RecordBatchError: if a header is damaged, unless damage is skipped.
    ///     OSError: if the file cannot be read.
    #[pyo3(signature = (segment, *, is_checked=true), text_signature = "(self, segment, *, is_checked=True)")]
    fn end(&self, py: Python<'_>, segment: PyRef<'_, PySegmentFile>, is_checked: bool) -> PyResult<PyLogEnd> {
        let file = segment.file.clone();
        PyStorage::asked(py, |storage| self.ends().end(&file, is_checked, storage)).map(PyLogEnd)
    }

    /// Return the end of a segment past damage, whatever `on_error` is.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read.
    fn last_valid(&self, py: Python<'_>, segment: PyRef<'_, PySegmentFile>) -> PyResult<PyLogEnd> {
        let file = segment.file.clone();
        PyStorage::asked(py, |storage| self.ends().last_valid(&file, storage)).map(PyLogEnd)
    }

    /// Return True if a batch of a segment is still at its position.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read.
    fn has(&self, py: Python<'_>, segment: PyRef<'_, PySegmentFile>, last: Last) -> PyResult<bool> {
        let (position, crc, last_offset) = last;
        let file = segment.file.clone();
        PyStorage::asked(py, |storage| self.ends().has(&file, &LastBatch { position, crc, last_offset }, storage))
    }

    /// Return the first offset of the oldest transaction that is open at `until`, or `until` (TXN-6).
    ///
    /// Args:
    ///     segments: those of the partition, in the order of their offsets.
    ///     until: markers from this offset on do not count: they may still be cut off.
    ///
    /// Raises:
    ///     RecordBatchError: if a header is damaged, or a marker.
    ///     OSError: if a file cannot be read.
    fn stable_offset(&self, py: Python<'_>, segments: Vec<PyRef<'_, PySegmentFile>>, until: i64) -> PyResult<i64> {
        let files = files_of(&segments);
        PyStorage::asked(py, |storage| self.ends().stable_offset(&files, until, storage))
    }

    /// Forget the ends of all other segments.
    #[expect(clippy::needless_pass_by_value, reason = "a list from Python is made anew")]
    fn forget_others(&self, segments: Vec<PyRef<'_, PySegmentFile>>) {
        self.ends().forget_others(&files_of(&segments));
    }
}

/// Follow one partition: find what is new each time.
///
/// Args:
///     start: the first offset that is wanted; None for records that are appended from now on.
///     options: the `ReadOptions`.
///     wait: seconds for which a segment that is gone, or shorter than it was, may come back unchanged.
///
/// Attributes:
///     next_offset: the first offset that was not shown; None before the first look if only new records are wanted.
#[pyclass(name = "Follower", frozen, subclass, module = "logsegment._core")]
pub struct PyFollower {
    follower: Mutex<core::Follower>,
    options: Py<PyAny>,
    skips_damage: bool,
}

impl PyFollower {
    fn state(&self) -> MutexGuard<'_, core::Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, number: usize) -> PySegmentFile {
        self.state().segments().get(number).cloned().unwrap_or_default().into()
    }

    fn part<'py>(&self, py: Python<'py>, file: &PySegmentFile, piece: &SegmentRange) -> PyResult<DecodedPart<'py>> {
        let found = PyStorage::asked(py, |storage| piece.bytes(storage))?;
        let source = file.bytes(found.bytes.0, found.bytes.1, found.is_inner);
        Ok((source, with_wanted(self.options.bind(py), &found.wanted, PyDict::new(py))?))
    }
}

/// The segment, the part to decode, and the last byte whose findings are for this look.
type FollowedRecords<'py> = (PySegmentFile, DecodedPart<'py>, Option<u64>);

#[pymethods]
impl PyFollower {
    #[new]
    #[pyo3(signature = (start, options, wait=0.0))]
    fn new(start: Option<i64>, options: Bound<'_, PyAny>, wait: f64) -> PyResult<Self> {
        let wanted = options.extract::<PartitionRead>()?.wanted()?;
        let ends = ends_by(&options.extract()?)?;
        let wait = Duration::try_from_secs_f64(wait.max(0.0)).unwrap_or(Duration::MAX);
        let follower = Mutex::new(core::Follower::new(start, wanted, ends, wait));
        Ok(Self { follower, options: options.unbind(), skips_damage: wanted.skips_damage })
    }

    #[getter]
    fn next_offset(&self) -> Option<i64> {
        self.state().next_offset()
    }

    /// Begin a look at the segments of the partition, in the order of their offsets.
    ///
    /// Raises:
    ///     FileNotFoundError: if a segment was deleted meanwhile: look again.
    fn begin(&self, py: Python<'_>, segments: Vec<PyRef<'_, PySegmentFile>>) -> PyResult<()> {
        let files = files_of(&segments);
        PyStorage::asked(py, |storage| self.state().begin(&files, storage))
    }

    /// Return what the look finds next; None at its end. Records count as shown when the next thing is asked for.
    ///
    /// Returns:
    ///     A segment with the part to decode and the last byte whose findings are for this look (None if all are); a text about records that are
    ///     gone; the error of an upload that is skipped because its key is missing; or a segment with the finding of damage that ends the
    ///     read.
    ///
    /// Raises:
    ///     FileNotFoundError: as `begin`.
    ///     RecordBatchError: if a batch that is not the last one is damaged, after the records before it.
    ///     SegmentKeyError: if a key is missing or wrong, and damage is not skipped.
    fn next_found<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = PyStorage::asked(py, |storage| self.state().next_found(storage));
        let found = match found {
            Err(error) if self.skips_damage && error.is_instance_of::<SegmentKeyError>(py) => {
                PyStorage::asked(py, |storage| {
                    self.state().step_over(storage);
                    Ok(())
                })?;
                return Ok(Some(error.into_value(py).into_bound(py).into_any()));
            }
            found => found?,
        };
        let found = match found {
            None => return Ok(None),
            Some(Followed::Gone(text)) => text.into_pyobject(py)?.into_any(),
            Some(Followed::Records { segment, piece, known }) => {
                let file = self.file(segment);
                let part = self.part(py, &file, &piece)?;
                let records: FollowedRecords<'py> = (file, part, known);
                records.into_pyobject(py)?.into_any()
            }
            Some(Followed::Damaged(segment, damage)) => match *damage {
                EndDamage::Error(error) => return Err(errors::to_py(py, &error)),
                EndDamage::Finding(finding) => (self.file(segment), PyFinding::from(&finding)).into_pyobject(py)?.into_any(),
            },
        };
        Ok(Some(found))
    }
}

fn files_of(segments: &[PyRef<'_, PySegmentFile>]) -> Vec<CoreFile> {
    segments.iter().map(|segment| segment.file.clone()).collect()
}

fn ends_by(options: &ReadOptions) -> PyResult<EndOptions> {
    let ChecksumVerifier { formats, limits, .. } = options.verifier(Checksums::All);
    Ok(EndOptions { formats, limits, skips_damage: options.skips_damage()?, is_checked: true })
}
