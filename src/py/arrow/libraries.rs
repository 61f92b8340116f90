//! Other libraries, imported by what needs them and by nothing else.

use pyo3::exceptions::PyModuleNotFoundError;
use pyo3::prelude::*;

/// A library that may not be installed; then the error says how it is.
pub fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| if is_missing(py, &error, name) { hint(py, name) } else { error })
}

/// The library itself is not there, rather than one that it needs.
fn is_missing(py: Python<'_>, error: &PyErr, name: &str) -> bool {
    let missing = error.value(py).getattr("name").and_then(|missing| missing.extract::<String>());
    error.is_instance_of::<PyModuleNotFoundError>(py) && missing.is_ok_and(|missing| missing == name)
}

fn hint(py: Python<'_>, name: &str) -> PyErr {
    // The extra has what pandas needs to take Arrow data too.
    let package = if matches!(name, "pandas" | "polars") { format!("\"logsegment[{name}]\"") } else { name.to_owned() };
    let error = PyModuleNotFoundError::new_err(format!("this needs {name}, which is not installed: pip install {package}"));
    match error.value(py).setattr("name", name) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}
