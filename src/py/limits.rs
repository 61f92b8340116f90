use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::limits as core;

/// Set the limits of one entry; an entry over a limit is a LimitError.
///
/// Args:
///     max_batch_bytes: stored bytes of an entry.
///     max_decompressed_bytes: decompressed bytes of an entry.
///     max_ratio: decompressed bytes per compressed byte; at least 512 compressed bytes are counted.
///     max_records: records of an entry.
///     max_headers: headers of a record.
///     max_nesting: levels of compressed sets inside each other.
///
/// To lift a limit, set it to "unlimited".
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.Limits(max_records=1000).max_records
///     1000
#[pyclass(name = "Limits", frozen, eq, get_all, from_py_object, module = "logsegment")]
#[derive(Clone, Copy, PartialEq)]
pub struct PyLimits {
    max_batch_bytes: Limit,
    max_decompressed_bytes: Limit,
    max_ratio: Limit,
    max_records: Limit,
    max_headers: Limit,
    max_nesting: Limit,
}

impl PyLimits {
    /// The core's limits; its default ones for None.
    pub fn or_default(given: Option<&Self>) -> core::Limits {
        given.map_or_else(core::Limits::default, |limits| core::Limits {
            max_batch_bytes: limits.max_batch_bytes.0,
            max_decompressed_bytes: limits.max_decompressed_bytes.0,
            max_ratio: limits.max_ratio.0,
            max_records: limits.max_records.0,
            max_headers: limits.max_headers.0,
            max_nesting: u32::try_from(limits.max_nesting.0).unwrap_or(u32::MAX),
        })
    }

    fn fields(&self) -> [(&'static str, Limit); 6] {
        [
            ("max_batch_bytes", self.max_batch_bytes),
            ("max_decompressed_bytes", self.max_decompressed_bytes),
            ("max_ratio", self.max_ratio),
            ("max_records", self.max_records),
            ("max_headers", self.max_headers),
            ("max_nesting", self.max_nesting),
        ]
    }
}

#[pymethods]
impl PyLimits {
    #[new]
    #[pyo3(signature = (*, max_batch_bytes=Limit(268_435_456), max_decompressed_bytes=Limit(1_073_741_824), max_ratio=Limit(40_000),
        max_records=Limit(16_777_216), max_headers=Limit(100_000), max_nesting=Limit(8)),
        text_signature = "(*, max_batch_bytes=268435456, max_decompressed_bytes=1073741824, max_ratio=40000, max_records=16777216, max_headers=100000, max_nesting=8)")]
    fn new(
        max_batch_bytes: Limit,
        max_decompressed_bytes: Limit,
        max_ratio: Limit,
        max_records: Limit,
        max_headers: Limit,
        max_nesting: Limit,
    ) -> PyResult<Self> {
        if max_ratio.0 == 0 {
            return Err(PyValueError::new_err("max_ratio must be at least 1"));
        }
        let max_nesting = if max_nesting.0 < u64::from(u32::MAX) { max_nesting } else { Limit(u64::MAX) };
        Ok(Self { max_batch_bytes, max_decompressed_bytes, max_ratio, max_records, max_headers, max_nesting })
    }

    fn __repr__(&self) -> String {
        let number = |limit: Limit| if limit.0 == u64::MAX { format!("{UNLIMITED:?}") } else { limit.0.to_string() };
        format!("Limits({})", self.fields().map(|(name, limit)| format!("{name}={}", number(limit))).join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let arguments = PyDict::new(slf.py());
        for (name, limit) in slf.get().fields() {
            arguments.set_item(name, limit)?;
        }
        let call = slf.py().import("functools")?.getattr("partial")?.call((slf.get_type(),), Some(&arguments))?;
        Ok((call, PyTuple::empty(slf.py())))
    }
}

/// A number, or "unlimited".
#[derive(Clone, Copy, PartialEq)]
struct Limit(u64);

const UNLIMITED: &str = "unlimited";

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.extract::<String>() {
            let unlimited = (text == UNLIMITED).then_some(Self(u64::MAX));
            return unlimited.ok_or_else(|| PyValueError::new_err(format!("a limit is a number or \"unlimited\", not {text:?}")));
        }
        Ok(Self(value.extract()?))
    }
}

impl<'py> IntoPyObject<'py> for Limit {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.0 == u64::MAX { UNLIMITED.into_bound_py_any(py) } else { self.0.into_bound_py_any(py) }
    }
}
