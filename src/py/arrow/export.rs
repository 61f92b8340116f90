//! Arrow data for other libraries, by the capsules of the Arrow PyCapsule interface. Nothing is copied.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};

use crate::error::plural;
use crate::py::arrow::{libraries, rows};
use crate::py::errors;
use crate::py::option_values::choice;
use crate::report::jsonl::{BytesForm, JsonLines, RowFilter};
use crate::report::preview::{schema_text, table_text};

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Hold Arrow columns of the same length: a record batch.
///
/// Any library with the Arrow PyCapsule interface reads it without a copy (`pyarrow.record_batch(batch)`, `polars.DataFrame(batch)`).
///
/// Example:
///     >>> import logsegment as ls
///     >>> batch = next(ls.decode(ls.FileSource("00000000000000000000.log"), columns=["offset", "key"]))
///     >>> batch.column_names
///     ['offset', 'key']
#[pyclass(frozen, module = "logsegment")]
pub struct ArrowBatch(pub RecordBatch);

#[pymethods]
impl ArrowBatch {
    /// Return the number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Return the names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.0.schema())
    }

    /// Return the schema, an object with `__arrow_c_schema__`.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, schema) = (self.0.num_rows(), self.0.schema());
        format!("ArrowBatch, {}\n{}", plural(rows, "row"), table_text(&schema, std::slice::from_ref(&self.0), Some(rows)))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Capsules<'py>> {
        // The interface allows to answer with what is there; consumers cast.
        let _ = requested_schema;
        array_capsules(py, &StructArray::from(self.0.clone()).to_data())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    /// Return the batch as a `pyarrow.RecordBatch`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(slf.py(), "pyarrow")?.call_method1("record_batch", (slf,))
    }

    /// Return some rows as a batch. Nothing is copied.
    ///
    /// Args:
    ///     offset: index of the first row.
    ///     length: largest number of rows; None for all following rows.
    #[pyo3(signature = (offset=0, length=None))]
    fn slice(&self, offset: usize, length: Option<usize>) -> Self {
        let offset = offset.min(self.0.num_rows());
        let left = self.0.num_rows() - offset;
        Self(self.0.slice(offset, length.map_or(left, |length| length.min(left))))
    }

    /// Return a batch with these columns, in this order. Nothing is copied.
    ///
    /// Args:
    ///     columns: names of columns; an unknown name is a KeyError.
    #[expect(clippy::needless_pass_by_value, reason = "what Python gives")]
    fn select(&self, columns: Vec<String>) -> PyResult<Self> {
        let schema = self.0.schema_ref();
        let indexes = columns.iter().map(|name| schema.index_of(name)).collect::<Result<Vec<_>, _>>();
        let selected = indexes.and_then(|indexes| self.0.project(&indexes));
        selected.map(Self).map_err(|error| PyKeyError::new_err(error.to_string()))
    }

    /// Return the rows as dicts. Bytes are copied; a time is a `datetime` in UTC. pyarrow is not needed.
    ///
    /// Args:
    ///     rows: conditions, as in `to_jsonl`.
    ///
    /// Raises:
    ///     OverflowError: if a time is outside the range of `datetime`; select the column `timestampMs`.
    ///     ValueError: if a time of decoded values has parts of a microsecond; use `to_pyarrow()`.
    #[pyo3(signature = (*, rows=None))]
    fn to_pylist<'py>(&self, py: Python<'py>, rows: Option<RowArguments>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = rows.map(RowFilter::from).unwrap_or_default();
        let chosen = rows.bind(&self.0).map_err(|error| errors::to_py(py, &error))?;
        rows::dicts(py, &self.0, chosen.rows())
    }

    /// Return the rows as tuples, otherwise as `to_pylist` does.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        rows::tuples(py, &self.0)
    }

    /// Return the rows as JSON lines, UTF-8.
    ///
    /// Args:
    ///     bytes: "auto" writes text if the bytes are UTF-8 and {"base64": "..."} otherwise; "utf8", "base64" and "hex" write a string.
    ///     fields: (column, name in the object) pairs, in order; None for all columns.
    ///     constants: (name, text) pairs at the start of every object.
    ///     rows: {"since": ..., "until": ..., "keys": ..., "limit": ...}, each may be None: first timestampMs,
    ///         end of timestampMs (exclusive), list of keys, largest number of rows.
    ///     iso: write times in ISO 8601 instead of milliseconds; fields with names that end in `Ms` stay numbers.
    #[pyo3(signature = (bytes="auto", *, fields=None, constants=Vec::new(), rows=None, iso=false))]
    fn to_jsonl<'py>(
        &self,
        py: Python<'py>,
        bytes: &str,
        fields: Option<Vec<(String, String)>>,
        constants: Vec<(String, String)>,
        rows: Option<RowArguments>,
        iso: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let forms = [("auto", BytesForm::Auto), ("utf8", BytesForm::Utf8), ("base64", BytesForm::Base64), ("hex", BytesForm::Hex)];
        let bytes = choice("bytes", bytes, forms)?;
        let rows = rows.map(RowFilter::from).unwrap_or_default();
        let lines = JsonLines { bytes, fields, constants, rows, has_iso_times: iso };
        let written = py.detach(|| lines.write(&self.0)).map_err(|error| errors::to_py(py, &error))?;
        Ok(PyBytes::new(py, &written))
    }
}

/// Conditions of written rows; every key must exist.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RowArguments {
    since: Option<i64>,
    until: Option<i64>,
    keys: Option<Vec<Vec<u8>>>,
    limit: Option<usize>,
}

impl From<RowArguments> for RowFilter {
    fn from(given: RowArguments) -> Self {
        Self { since: given.since, until: given.until, keys: given.keys.map(|keys| keys.into_iter().collect()), limit: given.limit }
    }
}

/// Hold an Arrow array. Any library with the Arrow PyCapsule interface reads it without a copy (`pyarrow.array(array)`).
///
/// Example:
///     >>> import logsegment as ls, pyarrow as pa
///     >>> ls.batch_info_array(pa.array([None], pa.binary()))
///     ArrowArray(1 value)
#[pyclass(frozen, module = "logsegment")]
pub struct ArrowArray(pub ArrayRef);

#[pymethods]
impl ArrowArray {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("ArrowArray({})", plural(self.0.len(), "value"))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Capsules<'py>> {
        // The interface allows to answer with what is there; consumers cast.
        let _ = requested_schema;
        array_capsules(py, &self.0.to_data())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        type_capsule(py, self.0.data_type())
    }

    /// Return the values as Python objects, as `ArrowBatch.to_pylist` does.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        rows::values(py, "value", &self.0)
    }

    /// Return the array as a `pyarrow.Array`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(slf.py(), "pyarrow")?.call_method1("array", (slf,))
    }
}

/// An Arrow schema; `pyarrow.schema(schema)` takes it.
#[pyclass(frozen, module = "logsegment")]
pub struct ArrowSchema(pub SchemaRef);

#[pymethods]
impl ArrowSchema {
    /// Names of the fields, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        names(&self.0)
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __repr__(&self) -> String {
        format!("ArrowSchema({})", schema_text(&self.0))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }

    /// The schema as a `pyarrow.Schema`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(slf.py(), "pyarrow")?.call_method1("schema", (slf,))
    }
}

/// A capsule named `arrow_schema`.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let ffi = FFI_ArrowSchema::try_from(schema).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, ffi, c"arrow_schema")
}

/// A capsule named `arrow_schema` for a type without a name.
pub fn type_capsule<'py>(py: Python<'py>, data_type: &DataType) -> PyResult<Bound<'py, PyCapsule>> {
    let ffi = FFI_ArrowSchema::try_from(data_type).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, ffi, c"arrow_schema")
}

fn array_capsules<'py>(py: Python<'py>, data: &ArrayData) -> PyResult<Capsules<'py>> {
    let schema = type_capsule(py, data.data_type())?;
    let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(data), c"arrow_array")?;
    Ok((schema, array))
}

/// The names of the fields of a schema.
pub fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}
