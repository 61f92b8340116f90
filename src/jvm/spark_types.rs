//! Columns of decoded keys and values in the types of Spark, as `logsegment.spark.arrow_types` documents them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, ListArray, MapArray, PrimitiveArray, StringArray, StructArray, new_null_array,
};
use arrow_buffer::i256;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};

/// Most digits of a decimal in Spark.
const MOST_DIGITS: u8 = 38;
/// A time zone or none, as Arrow has it.
type Zone = Option<Arc<str>>;

/// Return an array in the type that Spark has for it; buffers that need no change are shared.
///
/// # Errors
/// Never for arrays of decoded values.
pub fn as_spark(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows: &dyn Array = array.as_ref();
    Ok(match rows.data_type() {
        DataType::Null => new_null_array(&DataType::Utf8, rows.len()),
        DataType::UInt32 => Arc::new(rows.as_primitive::<UInt32Type>().unary::<_, Int64Type>(i64::from)),
        DataType::UInt64 => {
            let wide = rows.as_primitive::<UInt64Type>().unary::<_, Decimal128Type>(i128::from);
            Arc::new(wide.with_precision_and_scale(20, 0)?)
        }
        DataType::Time32(TimeUnit::Second) => number::<Time32SecondType, Int32Type>(rows),
        DataType::Time32(_) => number::<Time32MillisecondType, Int32Type>(rows),
        DataType::Time64(TimeUnit::Microsecond) => number::<Time64MicrosecondType, Int64Type>(rows),
        DataType::Time64(_) => number::<Time64NanosecondType, Int64Type>(rows),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            let micros =
                rows.as_primitive::<TimestampMillisecondType>().unary_opt::<_, TimestampMicrosecondType>(|time| time.checked_mul(1000));
            timestamps(micros, zone.clone())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            let micros = rows.as_primitive::<TimestampNanosecondType>().unary::<_, TimestampMicrosecondType>(|time| time.div_euclid(1000));
            timestamps(micros, zone.clone())
        }
        DataType::FixedSizeBinary(_) => Arc::new(rows.as_fixed_size_binary().iter().collect::<BinaryArray>()),
        DataType::Decimal256(digits, scale) => decimals(rows, *digits, *scale)?,
        DataType::Struct(_) => structs(array)?,
        DataType::List(_) => lists(array)?,
        DataType::Map(..) => maps(array)?,
        _ => Arc::clone(array),
    })
}

fn number<T, N>(rows: &dyn Array) -> ArrayRef
where
    T: ArrowPrimitiveType,
    N: ArrowPrimitiveType<Native = T::Native>,
{
    Arc::new(rows.as_primitive::<T>().reinterpret_cast::<N>())
}

/// A time zone other than UTC changes no instant.
fn timestamps(micros: PrimitiveArray<TimestampMicrosecondType>, zone: Zone) -> ArrayRef {
    Arc::new(micros.with_timezone_opt(zone.map(|_| "UTC")))
}

/// A decimal that Spark's type can hold, and a text of any other.
fn decimals(rows: &dyn Array, digits: u8, scale: i8) -> Result<ArrayRef, ArrowError> {
    let wide = rows.as_primitive::<Decimal256Type>();
    if digits > MOST_DIGITS {
        let text = |value: Option<i256>| value.map(|value| decimal_text(&value.to_string(), scale));
        return Ok(Arc::new(wide.iter().map(text).collect::<StringArray>()));
    }
    let narrow: Decimal128Array = wide.unary_opt::<_, Decimal128Type>(i256::to_i128);
    Ok(Arc::new(narrow.with_precision_and_scale(digits, scale)?))
}

/// Digits with a point, as the cast of pyarrow writes a decimal: with an exponent if the number is very small.
fn decimal_text(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let scale = i64::from(scale);
    let exponent = count - 1 - scale;
    let split = |at: i64| digits.split_at_checked(usize::try_from(at).unwrap_or(0)).unwrap_or((digits, ""));
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    if scale < 0 || exponent < -6 {
        let (first, rest) = split(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}E{}{exponent}", if exponent < 0 { "" } else { "+" });
    }
    if count > scale {
        let (whole, part) = split(count - scale);
        return format!("{sign}{whole}.{part}");
    }
    let zeros = usize::try_from(scale - count).unwrap_or(0);
    format!("{sign}0.{}{digits}", "0".repeat(zeros))
}

/// A field as Spark has it. Values that Spark cannot hold are null, so that it is nullable.
fn field(of: &FieldRef, array: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(of.name(), array.data_type().clone(), true))
}

fn structs(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows = array.as_struct();
    let columns = rows.columns().iter().map(as_spark).collect::<Result<Vec<_>, _>>()?;
    if columns.iter().zip(rows.columns()).all(|(column, own)| Arc::ptr_eq(column, own)) {
        return Ok(Arc::clone(array));
    }
    let fields = rows.fields().iter().zip(&columns).map(|(own, column)| field(own, column)).collect();
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, rows.nulls().cloned(), rows.len())?))
}

fn lists(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows: &ListArray = array.as_list::<i32>();
    let values = as_spark(rows.values())?;
    let DataType::List(item) = rows.data_type() else { return Ok(Arc::clone(array)) };
    if Arc::ptr_eq(&values, rows.values()) {
        return Ok(Arc::clone(array));
    }
    let item = field(item, &values);
    Ok(Arc::new(ListArray::try_new(item, rows.offsets().clone(), values, rows.nulls().cloned())?))
}

fn maps(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows: &MapArray = array.as_map();
    let pairs = [as_spark(rows.keys())?, as_spark(rows.values())?];
    let DataType::Map(own, is_sorted) = rows.data_type() else { return Ok(Arc::clone(array)) };
    if pairs.iter().zip(rows.entries().columns()).all(|(column, own)| Arc::ptr_eq(column, own)) {
        return Ok(Arc::clone(array));
    }
    let names = rows.entries().fields().iter().zip(&pairs).enumerate();
    let fields: Vec<_> = names.map(|(index, (own, pair))| Field::new(own.name(), pair.data_type().clone(), index > 0)).collect();
    let entries = StructArray::try_new(fields.into(), pairs.into(), None)?;
    let own = Field::new(own.name(), entries.data_type().clone(), false);
    Ok(Arc::new(MapArray::try_new(Arc::new(own), rows.offsets().clone(), entries, rows.nulls().cloned(), *is_sorted)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_pyarrow_writes_them() {
        let texts = [("123", 0), ("123", 2), ("-123", 3), ("-123", 4), ("5", 9), ("123", 9), ("0", 2), ("123", -2)];
        let expected = ["123", "1.23", "-0.123", "-0.0123", "5E-9", "1.23E-7", "0.00", "1.23E+4"];
        assert_eq!(texts.map(|(digits, scale)| decimal_text(digits, scale)), expected);
    }

    #[test]
    fn times_before_1970_are_rounded_down_and_those_out_of_range_are_null() {
        let nanos: ArrayRef = Arc::new(PrimitiveArray::<TimestampNanosecondType>::from(vec![-1, 1999]).with_timezone("UTC"));
        let micros = as_spark(&nanos).unwrap();
        assert_eq!(micros.as_primitive::<TimestampMicrosecondType>().values(), &[-1, 1]);
        assert_eq!(micros.data_type(), &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
        let millis: ArrayRef = Arc::new(PrimitiveArray::<TimestampMillisecondType>::from(vec![i64::MAX, 1]));
        assert_eq!(as_spark(&millis).unwrap().null_count(), 1);
        let field = Arc::new(Field::new("at", millis.data_type().clone(), false));
        let rows: ArrayRef = Arc::new(StructArray::from(vec![(field, millis)]));
        assert_eq!(as_spark(&rows).unwrap().as_struct().column(0).null_count(), 1);
    }

    #[test]
    fn nested_columns_are_converted_inside() {
        let fields = vec![Field::new("a", DataType::UInt32, true), Field::new("b", DataType::Utf8, true)];
        let nothing = new_null_array(&DataType::List(Arc::new(Field::new("element", DataType::Struct(fields.into()), true))), 3);
        let expected = DataType::Struct(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)].into());
        assert_eq!(as_spark(&nothing).unwrap().data_type(), &DataType::List(Arc::new(Field::new("element", expected, true))));
    }
}
