use std::sync::Arc;

use arrow_array::ArrayRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::StreamOptions;
use crate::columns::encoded::encode_lists;
use crate::columns::values::{Exploded, OnBadValue, Values};
use crate::error::Result;
use crate::py::arrow::export::{ArrowArray, ArrowBatch};
use crate::py::arrow::import;
use crate::py::encode_options::EncodeOptions;
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::option_values::{choice, committed, depth};
use crate::py::options::ReadOptions;

/// Records of every value; see `logsegment.decode_array`.
#[pyfunction]
pub fn decode_array(py: Python<'_>, array: &Bound<'_, PyAny>, options: ReadOptions) -> PyResult<ArrowArray> {
    let exploded = explode(py, array, options)?;
    Ok(ArrowArray(Arc::new(exploded.to_lists())))
}

/// Records of all values in one batch, and the index of the value that each came from; see `logsegment.explode_array`.
#[pyfunction]
pub fn explode_array(py: Python<'_>, array: &Bound<'_, PyAny>, options: ReadOptions) -> PyResult<(ArrowBatch, ArrowArray)> {
    let exploded = explode(py, array, options)?;
    let parents: ArrayRef = Arc::new(exploded.parents());
    Ok((ArrowBatch(exploded.rows), ArrowArray(parents)))
}

/// Header of the first entry of every value; see `logsegment.batch_info_array`.
#[pyfunction]
pub fn batch_info_array(py: Python<'_>, array: &Bound<'_, PyAny>, options: ReadOptions) -> PyResult<ArrowArray> {
    let arrays = import::arrays(array)?;
    let (on_bad, decode) = (on_bad_value(&options.on_error)?, options.to_decode()?);
    let made = py.detach(|| Values::of(&arrays)?.batch_info(&decode, on_bad));
    made.map(|structs| ArrowArray(Arc::new(structs))).map_err(|error| errors::to_py(py, &error))
}

/// Findings of every value; see `logsegment.validate_array`.
#[pyfunction]
pub fn validate_array(py: Python<'_>, array: &Bound<'_, PyAny>, depth_name: &str, options: ReadOptions) -> PyResult<ArrowArray> {
    let arrays = import::arrays(array)?;
    let (signals, interrupt) = Signals::new();
    let (depth, decode) = (depth(depth_name)?, options.to_decode()?);
    let made = py.detach(|| Values::of(&arrays)?.validate(&decode, depth, &interrupt));
    made.map(|structs| ArrowArray(Arc::new(structs))).map_err(|error| signals.raised(py, &error))
}

/// Raw batches of every list of records; see `logsegment.encode_array`.
#[pyfunction]
pub fn encode_array(py: Python<'_>, array: &Bound<'_, PyAny>, options: EncodeOptions) -> PyResult<ArrowArray> {
    let mut writer = options.to_writer(py)?;
    let on_bad = on_bad_value(&options.on_error)?;
    let arrays = import::arrays(array)?;
    let (signals, interrupt) = Signals::new();
    let made = py.detach(|| encode_lists(&arrays, &mut writer, on_bad, &interrupt));
    made.map(|encoded| ArrowArray(Arc::new(encoded))).map_err(|error| signals.raised(py, &error))
}

fn explode(py: Python<'_>, array: &Bound<'_, PyAny>, mut options: ReadOptions) -> PyResult<Exploded> {
    let arrays = import::arrays(array)?;
    let (signals, interrupt) = Signals::new();
    let on_bad = on_bad_value(&options.on_error)?;
    options.on_error = "raise".to_owned();
    let mut stream = options.to_record_stream(interrupt)?;
    if options.is_committed()? {
        let Some(known) = &options.transactions else {
            return Err(PyValueError::new_err("read_committed over a column needs transactions= from scan_transactions"));
        };
        stream.decode.isolation = committed(known.0.clone());
    }
    let exploded = py.detach(|| work(&arrays, &stream, on_bad));
    exploded.map_err(|error| signals.raised(py, &error))
}

fn work(arrays: &[ArrayRef], options: &StreamOptions, on_bad: OnBadValue) -> Result<Exploded> {
    Values::of(arrays)?.explode(options, on_bad)
}

pub fn on_bad_value(name: &str) -> PyResult<OnBadValue> {
    choice("on_error", name, [("raise", OnBadValue::Raise), ("skip", OnBadValue::Skip), ("null", OnBadValue::Null)])
}
