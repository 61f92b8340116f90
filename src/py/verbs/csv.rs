//! JSON lines as CSV, for `logsegment cat --csv`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::py::errors;
use crate::report::csv::CsvRecords;

/// Return JSON lines with the same fields in the same order as records of CSV, and the end of each record.
#[pyfunction]
pub fn csv_of_lines<'py>(py: Python<'py>, lines: &[u8]) -> PyResult<(Bound<'py, PyBytes>, Vec<usize>)> {
    let records = py.detach(|| CsvRecords::of_lines(lines)).map_err(|error| errors::to_py(py, &error))?;
    Ok((PyBytes::new(py, &records.text), records.ends))
}
