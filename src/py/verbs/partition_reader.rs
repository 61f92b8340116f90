//! The reader of a partition for Python: segments and options go in, the bytes that hold the wanted records come out, and the records.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::partition as core;
use crate::partition::{SegmentFile as CoreFile, TimeSearch, WantedRange};
use crate::py::arrow::stream::RecordStream;
use crate::py::finding::PyFinding;
use crate::py::options::{PartitionRead, ReadOptions};
use crate::py::source::storage::PyStorage;
use crate::py::transactions::PyTransactions;
use crate::py::verbs::decode_files::decode_files;
use crate::py::verbs::partition_piece::{DecodedPart, PySegmentRange, with_wanted};
use crate::py::verbs::segment_file::PySegmentFile;
use crate::py::verbs::segment_lookup::PySegmentLookup;

/// Read the records of one partition that are wanted, and no more bytes than it must.
///
/// A segment holds offsets from its name on and before the name of the next segment; compaction may only make it begin later. A segment that
/// contradicts its name (SEG-1) is damage: it was renamed, or swapped with another one. A read finds its batches by the offsets that they
/// hold; a read of these offsets, or of the offsets of the name, raises the error, or reports it and returns the records.
///
/// Args:
///     segments: all segments that may be read (`PySegmentLookup`), in the order of their offsets.
///     options: the `ReadOptions`, with the offsets that are wanted, topic and partition. Records below the log start offset of the partition
///         are never wanted.
///     timestamp: ms; batches whose headers say that all of their records are earlier may be left out. None for no such time.
///
/// Source: `LogSegment` and `LocalLog` in Kafka.
#[pyclass(name = "PartitionReader", frozen, module = "logsegment._core")]
pub struct PyPartitionReader {
    reader: core::PartitionReader,
    files: Vec<PySegmentFile>,
    options: Py<PyAny>,
    transactions: OnceLock<Option<PyTransactions>>,
}

impl PyPartitionReader {
    fn of_segments(
        segments: Vec<Arc<core::SegmentLookup>>,
        files: Vec<PySegmentFile>,
        options: &Bound<'_, PyAny>,
        timestamp: Option<i64>,
    ) -> PyResult<Self> {
        let given = options.extract::<PartitionRead>()?.wanted()?;
        let reader = core::PartitionReader::new(segments, given, timestamp);
        let options = changed(options, given, reader.wanted)?.unbind();
        Ok(Self { reader, files, options, transactions: OnceLock::new() })
    }

    fn piece_of(&self, py: Python<'_>, number: usize, piece: core::SegmentRange) -> Option<PySegmentRange> {
        let file = self.files.get(number)?.clone();
        Some(PySegmentRange { piece, file, options: self.options.clone_ref(py) })
    }

    fn segment(&self, number: usize) -> Option<PySegmentLookup> {
        let (lookup, file) = self.reader.segments.get(number).zip(self.files.get(number))?;
        Some(PySegmentLookup::of_core(Arc::clone(lookup), file.clone()))
    }

    fn only(&self) -> PyResult<&Arc<core::SegmentLookup>> {
        match self.reader.segments.as_slice() {
            [segment] => Ok(segment),
            _ => Err(PyValueError::new_err("segments: there must be one")),
        }
    }

    fn search(&self, py: Python<'_>) -> PyResult<TimeSearch> {
        search(self.options.bind(py), self.reader.segments.clone(), self.reader.wanted)
    }
}

#[pymethods]
impl PyPartitionReader {
    #[new]
    #[pyo3(signature = (segments, options, timestamp=None))]
    fn new(segments: Vec<PyRef<'_, PySegmentLookup>>, options: &Bound<'_, PyAny>, timestamp: Option<i64>) -> PyResult<Self> {
        let (lookups, files) = both(&segments);
        Self::of_segments(lookups, files, options, timestamp)
    }

    /// Plan a read of a partition.
    ///
    /// Args:
    ///     segments: in the order of their offsets, at least one.
    ///     options: those of the read, with the offsets at which it begins and ends, if they are given.
    ///     times: ms; the time at which the read begins, at the first record of this time or later, and the time that its records are before.
    ///         With a second time, the times of a record decide, wherever the record is, and a record without a timestamp is in no range.
    ///     timestamp: see the class.
    ///
    /// Raises:
    ///     RecordBatchError: if bytes on the way to a time cannot be read, unless damage is skipped.
    ///     OSError: if a file cannot be read.
    #[staticmethod]
    #[pyo3(signature = (segments, options, times=(None, None), timestamp=None))]
    fn plan<'py>(
        py: Python<'py>,
        segments: Vec<PyRef<'py, PySegmentLookup>>,
        options: &Bound<'py, PyAny>,
        times: (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>),
        timestamp: Option<i64>,
    ) -> PyResult<Self> {
        let (lookups, files) = both(&segments);
        let changes = PyDict::new(py);
        if let Some(file) = files.first() {
            changes.set_item("topic", file.file.topic.as_deref())?;
            changes.set_item("partition", file.file.partition)?;
        }
        let given = options.extract::<PartitionRead>()?.wanted()?;
        let wanted = within(py, options, lookups.clone(), given, times)?;
        let options = with_wanted(options, &wanted, changes)?;
        Self::of_segments(lookups, files, &options, timestamp)
    }

    /// Return the reader of segments that `order_by_offsets` returned.
    #[staticmethod]
    #[pyo3(signature = (files, options, timestamp=None))]
    fn of(files: Vec<PyRef<'_, PySegmentFile>>, options: &Bound<'_, PyAny>, timestamp: Option<i64>) -> PyResult<Self> {
        let lookups = files.iter().map(|file| Arc::new(core::SegmentLookup::new(file.file.clone()))).collect();
        Self::of_segments(lookups, files.iter().map(|file| PySegmentFile::clone(file)).collect(), options, timestamp)
    }

    /// The segments, in the order of their offsets.
    #[getter]
    fn segments(&self) -> Vec<PySegmentLookup> {
        (0..self.files.len()).filter_map(|number| self.segment(number)).collect()
    }

    /// The options of the read.
    #[getter]
    fn options(&self, py: Python<'_>) -> Py<PyAny> {
        self.options.clone_ref(py)
    }

    /// The transactions that the read must know, those of its options or from the markers of the partition; None if it is not committed.
    #[getter]
    fn transactions(&self, py: Python<'_>) -> PyResult<Option<PyTransactions>> {
        if let Some(known) = self.transactions.get() {
            return Ok(known.clone());
        }
        let options: ReadOptions = self.options.bind(py).extract()?;
        let known = match (options.is_committed()?, &options.transactions, self.files.first()) {
            (false, known, _) | (true, known @ Some(_), _) => known.clone(),
            (true, None, None) => None,
            (true, None, Some(first)) if first.file.is_of_0_7() => Some(PyTransactions(crate::decode::Transactions::default())),
            (true, None, Some(first)) => {
                let committed = options.to_committed()?;
                let ask = |storage: &PyStorage| {
                    let files = core::segments_of_directory(&first.file, storage)?;
                    core::committed_transactions(&files, committed, storage)
                };
                Some(PyTransactions(PyStorage::asked(py, ask)?))
            }
        };
        Ok(self.transactions.get_or_init(|| known).clone())
    }

    /// Return the segments that may hold wanted offsets, each with the first offset after it, or None for the last segment.
    fn wanted(&self) -> Vec<(PySegmentLookup, Option<i64>)> {
        let found = self.reader.wanted_segments();
        found.into_iter().filter_map(|(number, follower)| Some((self.segment(number)?, follower))).collect()
    }

    /// Return the reader of one offset.
    fn at(&self, py: Python<'_>, offset: i64) -> PyResult<Self> {
        let wanted = WantedRange { start_offset: Some(offset), end_offset: Some(offset.saturating_add(1)), ..self.reader.wanted };
        let options = with_wanted(self.options.bind(py), &wanted, PyDict::new(py))?;
        Self::of_segments(self.reader.segments.clone(), self.files.clone(), &options, self.reader.timestamp)
    }

    /// Return the reader of one of its segments.
    fn within(&self, py: Python<'_>, segment: PyRef<'_, PySegmentLookup>) -> PyResult<Self> {
        let (lookups, files) = both(&[segment]);
        Self::of_segments(lookups, files, self.options.bind(py), self.reader.timestamp)
    }

    /// Return the first wanted offset at a time (ms) or later; None if there is none.
    ///
    /// A read that skips damage trusts only batches whose checksums match, and reads all bytes before the record; otherwise indexes and headers
    /// lead to it, and damage on the way is an error.
    ///
    /// Raises:
    ///     RecordBatchError: if bytes on the way cannot be read, unless damage is skipped.
    ///     OSError: if a file cannot be read.
    fn offset_at(&self, py: Python<'_>, timestamp: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let Some(timestamp) = least_time(timestamp)? else { return Ok(None) };
        let search = self.search(py)?;
        Ok(PyStorage::asked(py, |storage| search.first_at(timestamp, storage))?.map(|found| found.offset))
    }

    /// Return where a read begins that begins at a time (ms): as `offset_at`, but an offset that the header of its batch claims. None if no record
    /// is late enough.
    ///
    /// Raises:
    ///     RecordBatchError, OSError: as `offset_at`.
    fn place_at(&self, py: Python<'_>, timestamp: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let Some(timestamp) = least_time(timestamp)? else { return Ok(None) };
        let search = self.search(py)?;
        PyStorage::asked(py, |storage| search.place_at(timestamp, false, storage))
    }

    /// Return the bytes that are read of the only segment; a piece without bytes if none of its records are wanted.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    fn piece(&self, py: Python<'_>) -> PyResult<PySegmentRange> {
        let segment = self.only()?;
        let found = PyStorage::asked(py, |storage| self.reader.piece_of(segment, None, storage))?;
        let none = || core::SegmentRange::new(Arc::clone(segment), self.reader.wanted, 0, Some(0));
        self.piece_of(py, 0, found.unwrap_or_else(none)).ok_or_else(|| PyValueError::new_err("segments: there must be one"))
    }

    /// Return the bytes of `piece` with their options.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    fn part<'py>(&self, py: Python<'py>) -> PyResult<DecodedPart<'py>> {
        self.piece(py)?.part(py, self.transactions(py)?)
    }

    /// Return the part of the only segment whose wanted records are in known bytes.
    ///
    /// Args:
    ///     begin: position of the first byte; None to look it up.
    ///     stop: position after the last byte; None for the end of the file.
    ///
    /// Raises:
    ///     OSError: if a file of the partition cannot be read.
    #[pyo3(signature = (begin, stop))]
    fn part_in<'py>(&self, py: Python<'py>, begin: Option<u64>, stop: Option<u64>) -> PyResult<DecodedPart<'py>> {
        let segment = self.only()?;
        let piece = PyStorage::asked(py, |storage| self.reader.piece_in(segment, begin, stop, storage))?;
        let piece = self.piece_of(py, 0, piece).ok_or_else(|| PyValueError::new_err("segments: there must be one"))?;
        piece.part(py, self.transactions(py)?)
    }

    /// Return the bytes of each segment that may hold wanted records. A segment that is gone is whole: the read raises the error.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    fn pieces(&self, py: Python<'_>) -> PyResult<Vec<PySegmentRange>> {
        let found = PyStorage::asked(py, |storage| self.reader.pieces(storage))?;
        Ok(found.into_iter().filter_map(|(number, piece)| self.piece_of(py, number, piece)).collect())
    }

    /// Return the bytes of each segment that holds wanted offsets, each with its options. They can be pickled.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<DecodedPart<'py>>> {
        let pieces = self.pieces(py)?;
        // Markers are looked for only if something is read.
        let transactions = if pieces.is_empty() { None } else { self.transactions(py)? };
        pieces.iter().map(|piece| piece.part(py, transactions.clone())).collect()
    }

    /// Return the records. `notes` are findings of the stream from its beginning on.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    #[pyo3(signature = (notes=Vec::new()))]
    fn read(&self, py: Python<'_>, notes: Vec<PyRef<'_, PyFinding>>) -> PyResult<RecordStream> {
        let mut parts = Vec::new();
        for (source, options) in self.parts(py)? {
            parts.push((Bound::new(py, source)?, options.extract()?));
        }
        decode_files(py, parts, self.options.bind(py).extract()?, notes)
    }
}

/// Return the segments of partitions in the order of the offsets that they hold.
///
/// A segment that contradicts its name gets the first offset of its batches as `base_offset`. Without `reports` it keeps the offsets that its
/// name allows, so that whoever reads it raises the error. With `reports` it gets the offsets that its batches prove, and the finding.
///
/// Args:
///     files: segments, those of one directory one after the other, as discovery returns them.
///     reports: report segments that contradict their names, instead of raising where they are read.
///     alone: each is one segment of a partition of which only its neighbours' names are known.
///
/// Returns:
///     As many segments. In a store the names alone count unless `reports` is set: asking each segment costs a request.
#[pyfunction]
#[pyo3(signature = (files, *, reports, alone=false), text_signature = "(files, *, reports, alone=False)")]
pub fn order_by_offsets(py: Python<'_>, files: Vec<PyRef<'_, PySegmentFile>>, reports: bool, alone: bool) -> PyResult<Vec<PySegmentFile>> {
    let own: Vec<CoreFile> = files.iter().map(|file| file.file.clone()).collect();
    let findings: Vec<_> = files.iter().map(|file| file.finding.clone()).collect();
    let found = PyStorage::asked(py, |storage| {
        if !alone {
            return core::order_by_offsets(&own, reports, storage);
        }
        let mut found = Vec::with_capacity(own.len());
        for file in own {
            let file = if file.offsets.is_none() { core::with_neighbours(&file, storage)? } else { file };
            found.push(if reports { core::proven(file, storage)? } else { file });
        }
        Ok(found)
    })?;
    let given = |file: &CoreFile| files.iter().zip(&findings).find(|(other, _)| other.file.path == file.path)?.1.clone();
    let with_finding = |file: CoreFile| {
        let known = if file.finding.is_none() { given(&file) } else { None };
        let file = PySegmentFile::from(file);
        PySegmentFile { finding: file.finding.clone().or(known), ..file }
    };
    let has_findings = findings.iter().any(Option::is_some);
    Ok(found.into_iter().map(|file| if has_findings { with_finding(file) } else { file.into() }).collect())
}

/// Return the transactions that a committed read must know, from the markers of a partition.
///
/// Args:
///     files: all segments of one partition.
///     options: those of the read, with the first offset that it does not read. A read that skips damage trusts a marker only if its checksum
///         matches.
///
/// Raises:
///     OSError: if a file cannot be read.
#[pyfunction]
pub fn committed_transactions(py: Python<'_>, files: Vec<PyRef<'_, PySegmentFile>>, options: ReadOptions) -> PyResult<PyTransactions> {
    let own: Vec<CoreFile> = files.iter().map(|file| file.file.clone()).collect();
    let committed = options.to_committed()?;
    PyStorage::asked(py, |storage| core::committed_transactions(&own, committed, storage)).map(PyTransactions)
}

fn both(segments: &[PyRef<'_, PySegmentLookup>]) -> (Vec<Arc<core::SegmentLookup>>, Vec<PySegmentFile>) {
    segments.iter().map(|segment| (Arc::clone(&segment.lookup), segment.file.clone())).unzip()
}

/// The options with what is wanted instead of what was given.
fn changed<'py>(options: &Bound<'py, PyAny>, given: WantedRange, wanted: WantedRange) -> PyResult<Bound<'py, PyAny>> {
    if given == wanted { Ok(options.clone()) } else { with_wanted(options, &wanted, PyDict::new(options.py())) }
}

fn search(options: &Bound<'_, PyAny>, segments: Vec<Arc<core::SegmentLookup>>, wanted: WantedRange) -> PyResult<TimeSearch> {
    let read: ReadOptions = options.extract()?;
    Ok(TimeSearch { segments, wanted, decode: read.to_decode()?, is_control_wanted: read.wants_control() })
}

fn within<'py>(
    py: Python<'py>,
    options: &Bound<'py, PyAny>,
    segments: Vec<Arc<core::SegmentLookup>>,
    wanted: WantedRange,
    (since, until): (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>),
) -> PyResult<WantedRange> {
    if since.is_none() && until.is_none() {
        return Ok(wanted);
    }
    let search = search(options, segments, wanted)?;
    let until = until.map(|until| clamped(&until)).transpose()?.map(|(until, _)| until);
    let Some(since) = since else { return PyStorage::asked(py, |storage| search.within((None, until), storage)) };
    let (since, is_beyond) = clamped(&since)?;
    if is_beyond {
        // No record has such a time.
        let times = until.map_or(wanted.times, |until| (Some(since), Some(until)));
        return Ok(WantedRange { times, ..wanted }.sharing(Some(i64::MAX), None));
    }
    PyStorage::asked(py, |storage| search.within((Some(since), until), storage))
}

/// A time that records may have; `None` if it is after all of them.
fn least_time(timestamp: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    clamped(timestamp).map(|(time, is_beyond)| (!is_beyond).then_some(time))
}

/// A time within 64 bits, and whether it is after all of them.
fn clamped(timestamp: &Bound<'_, PyAny>) -> PyResult<(i64, bool)> {
    match timestamp.extract::<i64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(timestamp.py()) => {
            let is_negative = timestamp.lt(0)?;
            Ok(if is_negative { (i64::MIN, false) } else { (i64::MAX, true) })
        }
        time => Ok((time?, false)),
    }
}
