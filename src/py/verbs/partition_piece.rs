//! A piece of a segment: the bytes that hold wanted records.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Result;
use crate::partition as core;
use crate::partition::{Storage, WantedRange};
use crate::py::finding::PyFinding;
use crate::py::source::FileSource;
use crate::py::source::storage::PyStorage;
use crate::py::transactions::PyTransactions;
use crate::py::verbs::segment_file::PySegmentFile;
use crate::py::verbs::segment_lookup::PySegmentLookup;

/// Bytes of a file, and the options with which they are read.
pub type DecodedPart<'py> = (FileSource, Bound<'py, PyAny>);

/// Read some bytes of a segment with wanted records.
///
/// Attributes:
///     segment (SegmentLookup): the segment.
///     begin (int): position of the first byte.
///     stop (int or None): position after the last byte; None for the end of the file at the time of the read.
///     resumes (bool): another piece has the offsets of the segment before the first one of this piece.
#[pyclass(name = "SegmentRange", frozen, module = "logsegment._core")]
pub struct PySegmentRange {
    pub piece: core::SegmentRange,
    pub file: PySegmentFile,
    pub options: Py<PyAny>,
}

impl PySegmentRange {
    fn asked<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&core::SegmentRange, &dyn Storage) -> Result<T> + Send) -> PyResult<T> {
        PyStorage::asked(py, |storage| ask(&self.piece, storage))
    }

    fn of(&self, py: Python<'_>, piece: core::SegmentRange) -> Self {
        Self { piece, file: self.file.clone(), options: self.options.clone_ref(py) }
    }
}

#[pymethods]
impl PySegmentRange {
    #[getter]
    fn segment(&self) -> PySegmentLookup {
        PySegmentLookup::of_core(Arc::clone(&self.piece.segment), self.file.clone())
    }

    #[getter]
    fn begin(&self) -> u64 {
        self.piece.begin
    }

    #[getter]
    fn stop(&self) -> Option<u64> {
        self.piece.stop
    }

    #[getter]
    fn resumes(&self) -> bool {
        self.piece.resumes
    }

    /// True if the read of the piece reports the finding of the segment; of several pieces only one does.
    #[getter]
    fn has_finding(&self) -> bool {
        self.piece.has_finding
    }

    /// The options of the read, with the offsets that are wanted of the piece.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        with_wanted(self.options.bind(py), &self.piece.wanted, PyDict::new(py))
    }

    /// The number of bytes, as far as it is known. 0 if the file is gone, which the read reports.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.asked(py, core::SegmentRange::size)
    }

    /// True if the piece is not the whole segment.
    #[getter]
    fn is_looked_up(&self) -> bool {
        self.piece.is_looked_up()
    }

    /// The first offset after the piece; None if only the file shows it.
    #[getter]
    fn end_offset(&self) -> Option<i64> {
        self.piece.end_offset()
    }

    /// The most offsets that the piece may hold; None if only the file shows it.
    #[getter]
    fn most_offsets(&self) -> Option<i64> {
        self.piece.most_offsets()
    }

    /// The findings of the `.index`, also those of the look-up of the first and the last offset.
    #[getter]
    fn index_findings(&self, py: Python<'_>) -> PyResult<Vec<PyFinding>> {
        let found = self.asked(py, |piece, storage| {
            if piece.wanted.skips_damage {
                // The bytes of such a read are found without it.
                let (start, end) = piece.wanted.bounds();
                piece.segment.byte_range(start, end, storage)?;
            }
            piece.segment.index_findings(storage)
        })?;
        Ok(crate::py::finding::to_py(&found))
    }

    /// Return the offset after the last batch of the piece that ends within `most_bytes`; None if there is none.
    ///
    /// Args:
    ///     most_bytes: counted from the beginning of the piece.
    ///     takes_first: the first batch is within them, however large it is.
    ///
    /// Raises:
    ///     RecordBatchError: if headers cannot be read.
    ///     OSError: if the file cannot be read.
    #[pyo3(signature = (most_bytes, *, takes_first))]
    fn offset_within(&self, py: Python<'_>, most_bytes: u64, takes_first: bool) -> PyResult<Option<i64>> {
        self.asked(py, |piece, storage| piece.offset_within(most_bytes, takes_first, storage))
    }

    /// Return the piece without the finding of its segment, which another read reports.
    fn without_finding(&self, py: Python<'_>) -> Self {
        self.of(py, core::SegmentRange { has_finding: false, ..self.piece.clone() })
    }

    /// Return the bytes and the options of the read, with the transactions that a committed read must know.
    #[pyo3(signature = (transactions))]
    pub fn part<'py>(&self, py: Python<'py>, transactions: Option<PyTransactions>) -> PyResult<DecodedPart<'py>> {
        let found = self.asked(py, core::SegmentRange::bytes)?;
        let finding = self.file.finding.clone().filter(|_| self.piece.has_finding);
        let file = PySegmentFile { file: self.file.file.clone(), finding };
        let source = file.bytes(found.bytes.0, found.bytes.1, found.is_inner);
        let changes = PyDict::new(py);
        changes.set_item("transactions", transactions)?;
        Ok((source, with_wanted(self.options.bind(py), &found.wanted, changes)?))
    }

    /// Return the transactions with offsets of the piece, of which a partition may have very many.
    fn touching(&self, transactions: PyRef<'_, PyTransactions>) -> PyTransactions {
        let (known, stable) = (&transactions.0, transactions.0.last_stable_offset());
        let touching = |ranges: Vec<(i64, i64, i64)>| self.piece.touching(ranges.iter(), stable);
        let (aborted, undecided) = (touching(known.aborted()), touching(known.undecided()));
        PyTransactions(crate::decode::Transactions::from_parts(aborted, undecided, stable))
    }

    /// Return pieces of about `step` bytes; each batch is in one of them.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read.
    fn cut_by_bytes(&self, py: Python<'_>, step: u64) -> PyResult<Vec<Self>> {
        let found = self.asked(py, |piece, storage| piece.cut_by_bytes(step, storage))?;
        Ok(found.into_iter().map(|piece| self.of(py, piece)).collect())
    }

    /// Return the piece without about its last `step` bytes, and these; None if it is too short to be cut.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read.
    fn cut_before_end(&self, py: Python<'_>, step: u64) -> PyResult<Option<(Self, Self)>> {
        let found = self.asked(py, |piece, storage| piece.cut_before_end(step, storage))?;
        Ok(found.map(|(before, last)| (self.of(py, before), self.of(py, last))))
    }

    /// Return pieces of at most `most` offsets. A batch may be among the bytes of two of them, each of which reads its own records.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read.
    fn cut_by_offsets(&self, py: Python<'_>, most: i64) -> PyResult<Vec<Self>> {
        let found = self.asked(py, |piece, storage| piece.cut_by_offsets(most, storage))?;
        Ok(found.into_iter().map(|piece| self.of(py, piece)).collect())
    }
}

/// Options of a read that wants other offsets and times, and other `changes`.
pub fn with_wanted<'py>(options: &Bound<'py, PyAny>, wanted: &WantedRange, changes: Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    changes.set_item("start_offset", wanted.start_offset)?;
    changes.set_item("end_offset", wanted.end_offset)?;
    changes.set_item("share", wanted.share)?;
    changes.set_item("times", wanted.times)?;
    options.py().import("dataclasses")?.call_method("replace", (options,), Some(&changes))
}
