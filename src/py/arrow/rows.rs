//! Rows of Arrow columns as Python objects, by the types that pyarrow gives.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, DecimalType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, TimeUnit};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

/// Returns the value in a row that is not null.
type RowValue<'a, 'py> = Box<dyn Fn(usize) -> PyResult<Bound<'py, PyAny>> + 'a>;

/// Return rows of a record batch as dicts.
pub fn dicts<'py>(py: Python<'py>, batch: &RecordBatch, rows: impl Iterator<Item = usize>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = PyRow::of(py, batch.schema_ref().fields(), batch.columns())?;
    rows.map(|at| row.dict(at)).collect()
}

/// Return the rows of a record batch as tuples.
pub fn tuples<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let row = PyRow::of(py, batch.schema_ref().fields(), batch.columns())?;
    (0..batch.num_rows()).map(|at| PyTuple::new(py, row.values(at)?)).collect()
}

/// Return the values of an array.
pub fn values<'py>(py: Python<'py>, name: &str, array: &ArrayRef) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let value = value(py, name, array)?;
    (0..array.len()).map(|at| array.is_valid(at).then(|| value(at)).transpose()).collect()
}

/// The columns of a record batch or a struct.
struct PyRow<'a, 'py> {
    py: Python<'py>,
    columns: Vec<(Bound<'py, PyString>, &'a ArrayRef, RowValue<'a, 'py>)>,
}

impl<'a, 'py: 'a> PyRow<'a, 'py> {
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

fn value<'a, 'py: 'a>(py: Python<'py>, name: &str, array: &'a ArrayRef) -> PyResult<RowValue<'a, 'py>> {
    Ok(match array.data_type() {
        DataType::Int8 => number::<Int8Type>(py, array),
        DataType::Int16 => number::<Int16Type>(py, array),
        DataType::Int32 => number::<Int32Type>(py, array),
        DataType::Int64 => number::<Int64Type>(py, array),
        DataType::UInt32 => number::<UInt32Type>(py, array),
        DataType::UInt64 => number::<UInt64Type>(py, array),
        DataType::Float32 => number::<Float32Type>(py, array),
        DataType::Float64 => number::<Float64Type>(py, array),
        // A null has no value, so that the function is never called.
        DataType::Null => Box::new(move |_| Ok(py.None().into_bound(py))),
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
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            Box::new(move |at| Ok(PyBytes::new(py, array.value(at)).into_any()))
        }
        DataType::Decimal128(..) => decimal::<Decimal128Type>(py, array)?,
        DataType::Decimal256(..) => decimal::<Decimal256Type>(py, array)?,
        DataType::Date32 => {
            let day = epoch(py, None)?.call_method0("date")?;
            since::<Date32Type>(py, name, array, day, DAY_NANOS)?
        }
        DataType::Time32(TimeUnit::Millisecond) => time_of_day::<Time32MillisecondType>(py, name, array, MILLI_NANOS)?,
        DataType::Time64(TimeUnit::Microsecond) => time_of_day::<Time64MicrosecondType>(py, name, array, MICRO_NANOS)?,
        DataType::Time64(TimeUnit::Nanosecond) => time_of_day::<Time64NanosecondType>(py, name, array, 1)?,
        DataType::Timestamp(unit, zone) => {
            let epoch = epoch(py, zone.as_deref())?;
            match unit {
                TimeUnit::Second => since::<TimestampSecondType>(py, name, array, epoch, SECOND_NANOS)?,
                TimeUnit::Millisecond => since::<TimestampMillisecondType>(py, name, array, epoch, MILLI_NANOS)?,
                TimeUnit::Microsecond => since::<TimestampMicrosecondType>(py, name, array, epoch, MICRO_NANOS)?,
                TimeUnit::Nanosecond => since::<TimestampNanosecondType>(py, name, array, epoch, 1)?,
            }
        }
        DataType::Struct(fields) => {
            let row = PyRow::of(py, fields, array.as_struct().columns())?;
            Box::new(move |at| Ok(row.dict(at)?.into_any()))
        }
        DataType::List(_) => {
            let array = array.as_list::<i32>();
            list(py, array.value_offsets(), array.values(), value(py, name, array.values())?)
        }
        // As pyarrow gives it: a list of pairs.
        DataType::Map(..) => {
            let entries = array.as_map();
            let row = PyRow::of(py, entries.entries().fields(), entries.entries().columns())?;
            let pair = move |at| Ok(PyTuple::new(py, row.values(at)?)?.into_any());
            list(py, entries.value_offsets(), entries.keys(), Box::new(pair))
        }
        other => return Err(PyTypeError::new_err(format!("values of type {other} cannot become Python objects"))),
    })
}

fn number<'a, 'py: 'a, T>(py: Python<'py>, array: &'a ArrayRef) -> RowValue<'a, 'py>
where
    T: ArrowPrimitiveType,
    T::Native: IntoPyObject<'py>,
{
    let array = array.as_primitive::<T>();
    Box::new(move |at| array.value(at).into_bound_py_any(py))
}

const MICRO_NANOS: i64 = 1_000;
const MILLI_NANOS: i64 = 1_000_000;
const SECOND_NANOS: i64 = 1_000_000_000;
const DAY_NANOS: i64 = 86_400 * SECOND_NANOS;

/// The start of 1970, with a time zone if a column has one: the time zone of all columns is UTC.
fn epoch<'py>(py: Python<'py>, zone: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let datetime = py.import("datetime")?;
    let zone = zone.map(|_| datetime.getattr("timezone")?.getattr("utc")).transpose()?;
    datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, zone))
}

/// Return times as `start` plus a `timedelta`; a value counts units of `nanos` nanoseconds.
fn since<'a, 'py: 'a, T>(
    py: Python<'py>,
    name: &str,
    array: &'a ArrayRef,
    start: Bound<'py, PyAny>,
    nanos: i64,
) -> PyResult<RowValue<'a, 'py>>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let delta = py.import("datetime")?.getattr("timedelta")?;
    let array = array.as_primitive::<T>();
    let name = name.to_owned();
    Ok(Box::new(move |at| {
        let count: i64 = array.value(at).into();
        if nanos == 1 && count % MICRO_NANOS != 0 {
            let text = format!("column {name}: {count} ns has parts of a microsecond, which Python's times cannot hold; use to_pyarrow()");
            return Err(PyValueError::new_err(text));
        }
        let micros = i128::from(count) * i128::from(nanos) / i128::from(MICRO_NANOS);
        let time = delta.call1((0, 0, micros)).and_then(|delta| start.add(delta));
        time.map_err(|_| PyOverflowError::new_err(outside(&name, micros)))
    }))
}

/// Return times of a day.
fn time_of_day<'a, 'py: 'a, T>(py: Python<'py>, name: &str, array: &'a ArrayRef, nanos: i64) -> PyResult<RowValue<'a, 'py>>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let time = since::<T>(py, name, array, epoch(py, None)?, nanos)?;
    Ok(Box::new(move |at| time(at)?.call_method0("time")))
}

/// Return `decimal.Decimal` objects with the scale of the column.
fn decimal<'a, 'py: 'a, T: DecimalType + ArrowPrimitiveType>(py: Python<'py>, array: &'a ArrayRef) -> PyResult<RowValue<'a, 'py>> {
    let decimal = py.import("decimal")?.getattr("Decimal")?;
    let array = array.as_primitive::<T>();
    Ok(Box::new(move |at| decimal.call1((array.value_as_string(at),))))
}

fn outside(name: &str, micros: i128) -> String {
    let hint = if name == "timestamp" { "select the column timestampMs" } else { "use to_pyarrow()" };
    format!("column {name}: {micros} us since 1970 is outside the range of datetime; {hint}")
}

/// Return lists of `items`, which begin and end at `ends`.
fn list<'a, 'py: 'a>(py: Python<'py>, ends: &'a [i32], items: &'a ArrayRef, item: RowValue<'a, 'py>) -> RowValue<'a, 'py> {
    let end = move |index: usize| ends.get(index).and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
    Box::new(move |at| {
        let found = (end(at)..end(at + 1)).map(|row| if items.is_valid(row) { item(row).map(Some) } else { Ok(None) });
        Ok(PyList::new(py, found.collect::<PyResult<Vec<_>>>()?)?.into_any())
    })
}
