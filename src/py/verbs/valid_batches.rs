//! The valid batches of a source, one by one.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::columns::batch_rows::{BatchRow, batch_rows};
use crate::format::record_batch;
use crate::model::{BatchHeader, RecordFormat};
use crate::py::arrow::export::ArrowBatch;
use crate::py::arrow::stream::RecordStream;
use crate::py::finding::PyFinding;
use crate::py::options::ReadOptions;
use crate::py::source::FileSource;
use crate::py::verbs::batches::batch_stream;
use crate::wire::Sink;

/// The header of a batch, as a row of `logsegment.batches` has it.
#[pyclass(name = "BatchHeader", frozen, module = "logsegment._core")]
pub struct PyBatchHeader(pub BatchRow);

#[pymethods]
impl PyBatchHeader {
    #[getter]
    fn position(&self) -> u64 {
        self.0.header.position
    }

    #[getter]
    fn size(&self) -> u64 {
        self.0.header.size
    }

    /// None while a compressed message of magic 0 or 1 is not decompressed.
    #[getter]
    fn base_offset(&self) -> Option<i64> {
        self.0.base_offset
    }

    #[getter]
    fn last_offset(&self) -> i64 {
        self.0.header.last_offset
    }

    /// None as `base_offset`.
    #[getter]
    fn count(&self) -> Option<i32> {
        self.0.header.count
    }

    #[getter]
    fn magic(&self) -> i8 {
        self.0.header.magic
    }

    #[getter]
    fn crc(&self) -> u32 {
        self.0.header.crc
    }

    #[getter]
    fn base_timestamp(&self) -> i64 {
        self.0.header.base_timestamp
    }

    #[getter]
    fn max_timestamp(&self) -> i64 {
        self.0.header.max_timestamp
    }

    /// None if checksums are not compared.
    #[getter]
    fn is_valid(&self) -> Option<bool> {
        self.0.is_valid
    }

    /// Bytes of the header that the batch would have in the proposed format.
    #[getter]
    fn proposed_header_len(&self) -> usize {
        let mut bytes = Sink::default();
        record_batch::open(&mut bytes, &BatchHeader { format: RecordFormat::V3, ..self.0.header });
        bytes.len()
    }

    fn __repr__(&self) -> String {
        let header = &self.0.header;
        format!("BatchHeader(position={}, size={}, last_offset={})", header.position, header.size, header.last_offset)
    }
}

/// Return the headers in rows of `logsegment.batches`.
#[pyfunction]
pub fn batch_headers(rows: &ArrowBatch) -> Vec<PyBatchHeader> {
    batch_rows(&rows.0).unwrap_or_default().into_iter().map(PyBatchHeader).collect()
}

/// An iterator over the headers of the batches whose checksums match; with `check_crc=False`, of all batches.
///
/// Attributes:
///     findings: what was skipped so far, which may be after the last header that was given.
#[pyclass(frozen, module = "logsegment._core")]
pub struct ValidBatches {
    stream: RecordStream,
    waiting: Mutex<VecDeque<BatchRow>>,
}

#[pymethods]
impl ValidBatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatchHeader>> {
        loop {
            if let Some(row) = self.take() {
                return Ok(Some(PyBatchHeader(row)));
            }
            let Some(rows) = self.stream.next(py)? else { return Ok(None) };
            let valid = batch_rows(&rows).unwrap_or_default().into_iter().filter(|row| row.is_valid != Some(false));
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(valid);
        }
    }

    #[getter]
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<PyFinding>> {
        self.stream.findings(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.stream.close(py)
    }
}

impl ValidBatches {
    fn take(&self) -> Option<BatchRow> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Walk the batches of a source whose checksums match; with `on_error="skip"` in the options also past damage.
///
/// Args:
///     source: see `logsegment.batches`.
///     options: `batch_size` is the number of headers that are read together.
///
/// Raises:
///     RecordBatchError: from the iterator, if bytes cannot be framed, unless damage is skipped.
///     OSError: if a file cannot be read.
#[pyfunction]
pub fn valid_batches(py: Python<'_>, source: &Bound<'_, PyAny>, options: ReadOptions) -> PyResult<ValidBatches> {
    let stream = batch_stream(py, source, options, None::<PyRef<'_, FileSource>>)?;
    Ok(ValidBatches { stream, waiting: Mutex::default() })
}
