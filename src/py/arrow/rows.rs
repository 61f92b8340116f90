//! Rows of Arrow columns as Python objects, by the types that pyarrow gives.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, TimeUnit};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

/// Returns the value in a row that is not null.
type Value<'a, 'py> = Box<dyn Fn(usize) -> PyResult<Bound<'py, PyAny>> + 'a>;

/// Return rows of a record batch as dicts.
pub fn dicts<'py>(py: Python<'py>, batch: &RecordBatch, rows: impl Iterator<Item = usize>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = Row::of(py, batch.schema_ref().fields(), batch.columns())?;
    rows.map(|at| row.dict(at)).collect()
}

/// Return the rows of a record batch as tuples.
pub fn tuples<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let row = Row::of(py, batch.schema_ref().fields(), batch.columns())?;
    (0..batch.num_rows()).map(|at| PyTuple::new(py, row.values(at)?)).collect()
}

/// Return the values of an array.
pub fn values<'py>(py: Python<'py>, name: &str, array: &ArrayRef) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let value = value(py, name, array)?;
    (0..array.len()).map(|at| array.is_valid(at).then(|| value(at)).transpose()).collect()
}

/// The columns of a record batch or a struct.
struct Row<'a, 'py> {
    py: Python<'py>,
    columns: Vec<(Bound<'py, PyString>, &'a ArrayRef, Value<'a, 'py>)>,
}

impl<'a, 'py: 'a> Row<'a, 'py> {
    fn of(py: Python<'py>, fields: &Fields, columns: &'a [ArrayRef]) -> PyResult<Self> {
        let named = fields.iter().zip(columns);
        let columns = named.map(|(field, array)| Ok((PyString::intern(py, field.name()), array, value(py, field.name(), array)?)));
        Ok(Self { py, columns: columns.collect::<PyResult<_>>()? })
    }

    fn values(&self, at: usize) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        self.columns.iter().map(|(_, array, value)| array.is_valid(at).then(|| value(at)).transpose()).collect()
    }

    fn dict(&self, at: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        for (name, array, value) in &self.columns {
            dict.set_item(name, if array.is_valid(at) { Some(value(at)?) } else { None })?;
        }
        Ok(dict)
    }
}

fn value<'a, 'py: 'a>(py: Python<'py>, name: &str, array: &'a ArrayRef) -> PyResult<Value<'a, 'py>> {
    Ok(match array.data_type() {
        DataType::Int8 => number::<Int8Type>(py, array),
        DataType::Int16 => number::<Int16Type>(py, array),
        DataType::Int32 => number::<Int32Type>(py, array),
        DataType::Int64 => number::<Int64Type>(py, array),
        DataType::UInt64 => number::<UInt64Type>(py, array),
        DataType::Boolean => {
            let array = array.as_boolean();
            Box::new(move |at| array.value(at).into_bound_py_any(py))
        }
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Box::new(move |at| Ok(PyString::new(py, array.value(at)).into_any()))
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Box::new(move |at| Ok(PyBytes::new(py, array.value(at)).into_any()))
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            Box::new(move |at| Ok(PyBytes::new(py, array.value(at)).into_any()))
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            Box::new(move |at| Ok(PyBytes::new(py, array.value(at)).into_any()))
        }
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => time(py, name, array)?,
        DataType::Struct(fields) => {
            let row = Row::of(py, fields, array.as_struct().columns())?;
            Box::new(move |at| Ok(row.dict(at)?.into_any()))
        }
        DataType::List(_) => list(py, name, array)?,
        other => return Err(PyTypeError::new_err(format!("values of type {other} cannot become Python objects"))),
    })
}

fn number<'a, 'py: 'a, T>(py: Python<'py>, array: &'a ArrayRef) -> Value<'a, 'py>
where
    T: ArrowPrimitiveType,
    T::Native: IntoPyObject<'py>,
{
    let array = array.as_primitive::<T>();
    Box::new(move |at| array.value(at).into_bound_py_any(py))
}

/// Aware `datetime` objects: the time zone of all columns is UTC.
fn time<'a, 'py: 'a>(py: Python<'py>, name: &str, array: &'a ArrayRef) -> PyResult<Value<'a, 'py>> {
    let datetime = py.import("datetime")?;
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, datetime.getattr("timezone")?.getattr("utc")?))?;
    let delta = datetime.getattr("timedelta")?;
    let array = array.as_primitive::<TimestampMicrosecondType>();
    let name = name.to_owned();
    Ok(Box::new(move |at| {
        let time = delta.call1((0, 0, array.value(at))).and_then(|delta| epoch.add(delta));
        time.map_err(|_| PyOverflowError::new_err(outside(&name, array.value(at))))
    }))
}

fn outside(name: &str, micros: i64) -> String {
    format!("column {name}: {micros} us since 1970 is outside the range of datetime; select the column timestampMs")
}

fn list<'a, 'py: 'a>(py: Python<'py>, name: &str, array: &'a ArrayRef) -> PyResult<Value<'a, 'py>> {
    let array = array.as_list::<i32>();
    let (items, ends) = (array.values(), array.value_offsets());
    let item = value(py, name, items)?;
    let end = move |index: usize| ends.get(index).and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
    Ok(Box::new(move |at| {
        let rows = end(at)..end(at + 1);
        let found = rows.map(|row| if items.is_valid(row) { item(row).map(Some) } else { Ok(None) });
        Ok(PyList::new(py, found.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }))
}
