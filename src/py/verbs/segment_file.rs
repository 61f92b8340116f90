//! A file of log entries, as the Python package and the tasks of Spark know it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::decode::OffsetRange;
use crate::partition as core;
use crate::py::finding::PyFinding;
use crate::py::source::FileSource;
use crate::py::source::storage::PyStorage;
use crate::py::source::uris;

/// First offset (inclusive) and end (exclusive).
type SegmentOffsets = (i64, Option<i64>);

/// Describe a file of log entries.
///
/// Two of them are equal if path, topic, partition and base offset are. It can be pickled.
///
/// Attributes:
///     path: the path as it was reached; links are not resolved. In a store it is a URI that shows no secret.
///     topic: from the name of its directory; None if that is not a partition's name.
///     partition: as `topic`.
///     base_offset: from its own name; None if that is not a segment's name.
///     known_size: bytes, from the listing of a store.
///     offsets: the offsets that its batches may hold, from its name and that of the next segment in the directory (SEG-1): first
///         (inclusive) and end (exclusive, None for the last segment). None if the names do not say.
///     held: the first and last offset of its batches, if they contradict its name.
///     named: the offsets that its name allows, if they contradict it.
///     finding: a finding that each read of the file reports, or None.
///     next_offset: the offset in the name of the next segment of the directory, a position for Kafka 0.7; None for the last segment,
///         for a file that was named itself, and for uploads. A segment with a next one is complete (SEG-23).
///     is_listed: True if it was found in a directory, False if it was named itself.
///     log_start: the log start offset of its partition, if segments have records below it, which were deleted; else None.
///     part: the bytes from the first (inclusive) to the second position (exclusive), if it is a part of a file; else None.
#[pyclass(name = "SegmentFile", frozen, module = "logsegment._core")]
#[derive(Clone)]
pub struct PySegmentFile {
    /// Without its finding.
    pub file: core::SegmentFile,
    pub finding: Option<PyFinding>,
}

impl From<core::SegmentFile> for PySegmentFile {
    fn from(mut file: core::SegmentFile) -> Self {
        let finding = file.finding.take().as_ref().map(PyFinding::from);
        Self { file, finding }
    }
}

impl PySegmentFile {
    /// The bytes of a range, with the offsets that they may hold.
    pub fn bytes(&self, start: u64, end: Option<u64>, is_inner: bool) -> FileSource {
        let (start, end) = self.file.part.map_or((start, end), |(start, end)| (start, Some(end)));
        FileSource::of_segment(&self.file, self.finding.clone(), start, end, is_inner)
    }

    fn key(&self) -> (&PathBuf, &Option<String>, Option<i32>, Option<i64>) {
        (&self.file.path, &self.file.topic, self.file.partition, self.file.base_offset)
    }
}

impl PartialEq for PySegmentFile {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

#[pymethods]
impl PySegmentFile {
    #[new]
    #[pyo3(signature = (path, topic=None, partition=None, base_offset=None, **more))]
    fn new(
        path: PathBuf,
        topic: Option<String>,
        partition: Option<i32>,
        base_offset: Option<i64>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let file = core::SegmentFile { path, topic, partition, base_offset, ..core::SegmentFile::default() };
        Self { file, finding: None }.replaced(more)
    }

    /// Return a file as a segment, whatever its name. The file is not read.
    #[staticmethod]
    fn at(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let path = uris::to_internal_uri(py, &path)?;
        PyStorage::asked(py, |storage| Ok(core::segment_at(&path, storage))).map(Self::from)
    }

    /// Return all segments of its directory; itself alone if its name is not a segment's name.
    ///
    /// Raises:
    ///     OSError: if the directory cannot be listed.
    fn siblings(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let found = PyStorage::asked(py, |storage| core::segments_of_directory(&self.file, storage))?;
        Ok(found.into_iter().map(Self::from).collect())
    }

    /// Return a segment that was named itself with the offsets that the names in its directory allow, and with the next segment.
    ///
    /// It stays as it is if its directory cannot be listed, or does not have it.
    fn with_neighbours(&self, py: Python<'_>) -> PyResult<Self> {
        let file = PyStorage::asked(py, |storage| core::with_neighbours(&self.file, storage))?;
        Ok(Self { file, finding: self.finding.clone() })
    }

    /// Return the number of records of one of its batches before an offset. A batch that cannot be decompressed has none.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read.
    fn records_of_batch_before(&self, py: Python<'_>, position: u64, size: u64, offset: i64) -> PyResult<u64> {
        PyStorage::asked(py, |storage| core::records_of_batch_before(&self.file.path, (position, size), offset, storage))
    }

    /// Return the same file with other attributes.
    #[pyo3(signature = (**attributes))]
    fn replaced(&self, attributes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut changed = self.clone();
        for (name, value) in attributes.into_iter().flatten() {
            changed.set(name.extract()?, &value)?;
        }
        Ok(changed)
    }

    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::text_of(py, &self.file.path)
    }

    #[getter]
    fn topic(&self) -> Option<&str> {
        self.file.topic.as_deref()
    }

    #[getter]
    fn partition(&self) -> Option<i32> {
        self.file.partition
    }

    #[getter]
    fn base_offset(&self) -> Option<i64> {
        self.file.base_offset
    }

    #[getter]
    fn known_size(&self) -> Option<u64> {
        self.file.known_size
    }

    #[getter]
    fn offsets(&self) -> Option<SegmentOffsets> {
        self.file.offsets.map(|offsets| (offsets.start, offsets.end))
    }

    #[getter]
    fn actual_offsets(&self) -> Option<(i64, i64)> {
        self.file.actual_offsets
    }

    #[getter]
    fn named(&self) -> Option<SegmentOffsets> {
        self.file.named.map(|offsets| (offsets.start, offsets.end))
    }

    #[getter]
    fn finding(&self) -> Option<PyFinding> {
        self.finding.clone()
    }

    #[getter]
    fn next_offset(&self) -> Option<i64> {
        self.file.next_offset
    }

    #[getter]
    fn is_listed(&self) -> bool {
        self.file.is_listed
    }

    #[getter]
    fn log_start(&self) -> Option<i64> {
        self.file.log_start
    }

    #[getter]
    fn part(&self) -> Option<(u64, u64)> {
        self.file.part
    }

    /// The path of its partition: its directory, or itself if it was named and the name of its directory is not a partition's.
    #[getter]
    fn place<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::text_of(py, &self.file.place())
    }

    /// The path of its directory.
    #[getter]
    fn directory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::text_of(py, &self.file.directory())
    }

    /// The first offset of its name. `base_offset` differs if a segment of the partition contradicts its name.
    #[getter]
    fn named_offset(&self) -> Option<i64> {
        self.file.named_offset()
    }

    /// Return a range of its bytes, with the offsets that they may hold; of a part, the bytes of the part.
    ///
    /// Args:
    ///     start: first byte, the start of an entry.
    ///     end: end of the range; None for the end of the file.
    ///     is_inner: another entry begins at the end of the range.
    #[pyo3(signature = (start=0, end=None, *, is_inner=false), text_signature = "(self, start=0, end=None, *, is_inner=False)")]
    fn source(&self, start: u64, end: Option<u64>, is_inner: bool) -> FileSource {
        self.bytes(start, end, is_inner)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self == other.get())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.key().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let topic = self.file.topic.as_ref().map_or_else(|| "None".to_owned(), |topic| format!("{topic:?}"));
        let number = |number: Option<i64>| number.map_or_else(|| "None".to_owned(), |number| number.to_string());
        let (partition, base) = (number(self.file.partition.map(i64::from)), number(self.file.base_offset));
        format!("SegmentFile(path={:?}, topic={topic}, partition={partition}, base_offset={base})", uris::redacted_uri(&self.file.path))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, own) = (slf.py(), slf.get());
        let state = PyDict::new(py);
        state.set_item("known_size", own.known_size())?;
        state.set_item("offsets", own.offsets())?;
        state.set_item("actual_offsets", own.actual_offsets())?;
        state.set_item("named", own.named())?;
        state.set_item("finding", own.finding())?;
        state.set_item("next_offset", own.next_offset())?;
        state.set_item("is_listed", own.is_listed())?;
        state.set_item("log_start", own.log_start())?;
        state.set_item("part", own.part())?;
        let made = py.import("functools")?.getattr("partial")?.call((slf.get_type(),), Some(&state))?;
        let names = (own.path(py)?, own.topic(), own.partition(), own.base_offset()).into_pyobject(py)?;
        PyTuple::new(py, [made, names.into_any()])
    }
}

impl PySegmentFile {
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let offsets = |value: &Bound<'_, PyAny>| -> PyResult<Option<OffsetRange>> {
            Ok(value.extract::<Option<SegmentOffsets>>()?.map(|(start, end)| OffsetRange { start, end }))
        };
        match name {
            "path" => self.file.path = value.extract()?,
            "topic" => self.file.topic = value.extract()?,
            "partition" => self.file.partition = value.extract()?,
            "base_offset" => self.file.base_offset = value.extract()?,
            "known_size" => self.file.known_size = value.extract()?,
            "offsets" => self.file.offsets = offsets(value)?,
            "actual_offsets" => self.file.actual_offsets = value.extract()?,
            "named" => self.file.named = offsets(value)?,
            "finding" => self.finding = value.extract::<Option<PyRef<'_, PyFinding>>>()?.map(|finding| finding.clone()),
            "next_offset" => self.file.next_offset = value.extract()?,
            "is_listed" => self.file.is_listed = value.extract()?,
            "log_start" => self.file.log_start = value.extract()?,
            "part" => self.file.part = value.extract()?,
            _ => return Err(PyTypeError::new_err(format!("got an unexpected keyword argument {name:?}"))),
        }
        Ok(())
    }
}
