use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::limits as core;

/// What one entry may claim before it is refused with a LimitError.
///
/// Args:
///     max_batch_bytes: bytes of an entry as stored.
///     max_decompressed_bytes: bytes of an entry when unpacked.
///     max_ratio: unpacked bytes per compressed byte.
///     max_records: records of an entry.
///     max_headers: headers of a record.
///     max_nesting: levels of compressed sets inside each other.
///
/// None for a number means unlimited; it must be said.
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.Limits(max_records=1000).max_records
///     1000
#[pyclass(frozen, eq, from_py_object, module = "logsegment")]
#[derive(Clone, PartialEq)]
pub struct Limits(pub core::Limits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, max_batch_bytes=Some(268_435_456), max_decompressed_bytes=Some(1_073_741_824), max_ratio=Some(10_000),
        max_records=Some(16_777_216), max_headers=Some(100_000), max_nesting=Some(8)))]
    fn new(
        max_batch_bytes: Option<u64>,
        max_decompressed_bytes: Option<u64>,
        max_ratio: Option<u64>,
        max_records: Option<u64>,
        max_headers: Option<u64>,
        max_nesting: Option<u32>,
    ) -> PyResult<Self> {
        if max_ratio == Some(0) {
            return Err(PyValueError::new_err("max_ratio must be at least 1"));
        }
        Ok(Self(core::Limits {
            max_batch_bytes: max_batch_bytes.unwrap_or(u64::MAX),
            max_decompressed_bytes: max_decompressed_bytes.unwrap_or(u64::MAX),
            max_ratio: max_ratio.unwrap_or(u64::MAX),
            max_records: max_records.unwrap_or(u64::MAX),
            max_headers: max_headers.unwrap_or(u64::MAX),
            max_nesting: max_nesting.unwrap_or(u32::MAX),
        }))
    }

    #[getter]
    fn max_batch_bytes(&self) -> Option<u64> {
        limited(self.0.max_batch_bytes)
    }

    #[getter]
    fn max_decompressed_bytes(&self) -> Option<u64> {
        limited(self.0.max_decompressed_bytes)
    }

    #[getter]
    fn max_ratio(&self) -> Option<u64> {
        limited(self.0.max_ratio)
    }

    #[getter]
    fn max_records(&self) -> Option<u64> {
        limited(self.0.max_records)
    }

    #[getter]
    fn max_headers(&self) -> Option<u64> {
        limited(self.0.max_headers)
    }

    #[getter]
    fn max_nesting(&self) -> Option<u32> {
        (self.0.max_nesting != u32::MAX).then_some(self.0.max_nesting)
    }

    fn __repr__(&self) -> String {
        let number = |value: Option<u64>| value.map_or_else(|| "None".to_owned(), |value| value.to_string());
        format!(
            "Limits(max_batch_bytes={}, max_decompressed_bytes={}, max_ratio={}, max_records={}, max_headers={}, max_nesting={})",
            number(self.max_batch_bytes()),
            number(self.max_decompressed_bytes()),
            number(self.max_ratio()),
            number(self.max_records()),
            number(self.max_headers()),
            number(self.max_nesting().map(u64::from)),
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let own = slf.get();
        let arguments = PyDict::new(slf.py());
        arguments.set_item("max_batch_bytes", own.max_batch_bytes())?;
        arguments.set_item("max_decompressed_bytes", own.max_decompressed_bytes())?;
        arguments.set_item("max_ratio", own.max_ratio())?;
        arguments.set_item("max_records", own.max_records())?;
        arguments.set_item("max_headers", own.max_headers())?;
        arguments.set_item("max_nesting", own.max_nesting())?;
        let call = slf.py().import("functools")?.getattr("partial")?.call((slf.get_type(),), Some(&arguments))?;
        Ok((call, PyTuple::empty(slf.py())))
    }
}

fn limited(value: u64) -> Option<u64> {
    (value != u64::MAX).then_some(value)
}
