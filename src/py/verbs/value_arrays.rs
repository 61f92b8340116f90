use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::py::arrow::export::ArrowArray;
use crate::py::arrow::import;
use crate::py::interrupt::Signals;
use crate::py::option_values::choice;
use crate::py::value_schemas::PyValueSchemas;
use crate::values::array::{ArrayOptions, decode_array};
use crate::values::outputs::RecordPart;

/// Decoded keys or values of a binary column; see `logsegment._arrays.decode_values_array`.
#[pyfunction]
pub fn decode_values_array(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    headers: Option<&Bound<'_, PyAny>>,
    schemas: &PyValueSchemas,
    columns: Vec<String>,
    on_error: &str,
) -> PyResult<ArrowArray> {
    let arrays = import::arrays(array)?;
    let headers = headers.map(import::arrays).transpose()?.unwrap_or_default();
    if headers.len() > 1 {
        return Err(PyValueError::new_err("headers: an array is needed, not one in chunks"));
    }
    let plans = [RecordPart::Value, RecordPart::Key].map(|part| Ok::<_, PyErr>((part, schemas.plan(&columns, part)?)));
    let mut found = None;
    for plan in plans {
        let (part, plan) = plan?;
        found = found.or(plan.map(|plan| (part, plan)));
    }
    let (part, plan) = found.ok_or_else(|| PyValueError::new_err("columns: neither keys nor values are wanted"))?;
    let (signals, interrupt) = Signals::new();
    let is_bad_null = choice("on_error", on_error, [("raise", false), ("null", true)])?;
    let options = ArrayOptions { plan, part, is_bad_null, interrupt };
    let made = py.detach(|| decode_array(&arrays, headers.first(), &options));
    made.map(ArrowArray).map_err(|error| signals.raised(py, &error))
}
