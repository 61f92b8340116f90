//! Places of records in a file as a set.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::py::arrow::import;
use crate::rewrite::OffsetSet;

/// A set of places of records among the records of one file, from 0.
///
/// Args:
///     arrays: Arrow arrays or chunked arrays of int64, without nulls.
///
/// Raises:
///     TypeError: for an array of another type.
#[pyclass(frozen, module = "logsegment")]
pub struct PlaceSet(pub Arc<OffsetSet>);

#[pymethods]
impl PlaceSet {
    #[new]
    fn new(arrays: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let chunks = arrays.iter().map(import::arrays).collect::<PyResult<Vec<_>>>()?.concat();
        let columns = chunks.iter().map(|chunk| chunk.as_primitive_opt::<Int64Type>()).collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| PyTypeError::new_err("places must be an Arrow array of int64 values"))?;
        Ok(Self(Arc::new(columns.into_iter().flat_map(|column| column.values().iter().copied()).collect())))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}
