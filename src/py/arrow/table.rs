use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::decode::Stats;
use crate::error::plural;
use crate::py::arrow::c_stream::{BatchFeed, CStream};
use crate::py::arrow::export::{ArrowBatch, ArrowSchema, names, schema_capsule};
use crate::py::arrow::{libraries, rows};
use crate::py::fetches::Fetches;
use crate::py::finding::{self, PyFinding};
use crate::report::preview::table_text;

/// Hold Arrow record batches of one schema in memory.
///
/// Any library with the Arrow PyCapsule interface reads it (`pyarrow.table(table)`, `polars.DataFrame(table)`), any number of times.
///
/// Attributes:
///     schema, num_rows, column_names: as in pyarrow.
///     findings (list[Finding]): findings of the read.
///     io_stats: counters of what was read.
///
/// Example:
///     >>> import logsegment as ls
///     >>> table = ls.batches(ls.FileSource("00000000000000000000.log"))
///     >>> table.num_rows == len(table.to_pylist())
///     True
#[pyclass(frozen, module = "logsegment")]
pub struct ArrowTable {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    pub findings: Vec<PyFinding>,
    pub stats: Stats,
    pub fetches: Fetches,
}

#[pymethods]
impl ArrowTable {
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(Arc::clone(&self.schema))
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.schema)
    }

    #[getter]
    fn findings(&self) -> Vec<PyFinding> {
        self.findings.clone()
    }

    #[getter]
    fn io_stats(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        finding::counters(py, &self.stats, self.fetches)
    }

    /// Return the batches of the table.
    fn to_batches(&self) -> Vec<ArrowBatch> {
        self.batches.iter().cloned().map(ArrowBatch).collect()
    }

    /// Return the table as a `pyarrow.Table`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// Return the table as a `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// Return the table as a `pandas.DataFrame`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(slf.py(), "pandas")?;
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// Return the rows as dicts, as `ArrowBatch.to_pylist` does. pyarrow is not needed.
    pub fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let batches = self.batches.iter().map(|batch| rows::dicts(py, batch, 0..batch.num_rows()));
        Ok(batches.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Return the rows as tuples, otherwise as `to_pylist` does.
    pub fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let batches = self.batches.iter().map(|batch| rows::tuples(py, batch));
        Ok(batches.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().collect())
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        let rows = self.num_rows();
        format!("ArrowTable, {}\n{}", plural(rows, "row"), table_text(&self.schema, &self.batches, Some(rows)))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to answer with what is there; consumers cast.
        let _ = requested_schema;
        let left = self.batches.iter().rev().cloned().collect();
        let feed = TableFeed { schema: Arc::clone(&self.schema), left: std::sync::Mutex::new(left) };
        PyCapsule::new_with_value(py, CStream::new(Arc::new(feed)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }
}

/// The batches of a table, last first.
struct TableFeed {
    schema: SchemaRef,
    left: std::sync::Mutex<Vec<RecordBatch>>,
}

impl BatchFeed for TableFeed {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&self) -> Result<Option<RecordBatch>, String> {
        Ok(self.left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop())
    }
}
