//! Numbers, times and other single values of any type that decoded keys and values have.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime};

use super::text;
use super::writer::{CellWriter, JsonForm, at, boolean, numbers, or_null};
use crate::wire::json_text;

/// Returns what writes a column of single values of a type that only decoded values have; `None` for another type.
///
/// Times are ISO 8601, or the number that is stored where the calendar ends. Decimals and floats that are no numbers are strings.
pub(super) fn scalar<'a>(array: &'a ArrayRef, form: JsonForm) -> Option<CellWriter<'a>> {
    match array.data_type() {
        DataType::Null => Some(Box::new(|out, _| out.extend_from_slice(b"null"))),
        DataType::Float32 => numbers::<Float32Type>(array, |out, number| float(out, number.into(), || number.to_string())),
        DataType::Float64 => numbers::<Float64Type>(array, |out, number| float(out, number, || number.to_string())),
        DataType::UInt32 => numbers::<UInt32Type>(array, |out, number| json_text::unsigned(out, number.into())),
        DataType::Date32 => numbers::<Date32Type>(array, date),
        DataType::Time32(_) => numbers::<Time32MillisecondType>(array, |out, millis| time(out, i64::from(millis), 1000)),
        DataType::Time64(_) => numbers::<Time64MicrosecondType>(array, |out, micros| time(out, micros, 1_000_000)),
        DataType::Timestamp(unit, zone) => timestamps(array, *unit, zone.is_some()),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        DataType::Boolean => {
            let values = array.as_boolean_opt()?;
            Some(Box::new(move |out, row| or_null(out, at(values, row, |row| values.value(row)), boolean)))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary_opt()?;
            Some(Box::new(move |out, row| {
                or_null(out, at(values, row, |row| values.value(row)), |out, bytes| text::bytes(out, bytes, form.bytes));
            }))
        }
        _ => None,
    }
}

fn float(out: &mut Vec<u8>, number: f64, digits: impl FnOnce() -> String) {
    if number.is_nan() {
        json_text::string(out, "NaN");
    } else if number.is_infinite() {
        json_text::string(out, if number > 0.0 { "Infinity" } else { "-Infinity" });
    } else {
        out.extend_from_slice(digits().as_bytes());
    }
}

fn decimals<T: arrow_array::types::DecimalType>(array: &ArrayRef) -> Option<CellWriter<'_>> {
    let values: &PrimitiveArray<T> = array.as_primitive_opt::<T>()?;
    Some(Box::new(move |out, row| {
        or_null(out, at(values, row, |row| values.value_as_string(row)), |out, digits| json_text::string(out, &digits))
    }))
}

fn date(out: &mut Vec<u8>, days: i32) {
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1);
    let distance = Days::new(days.unsigned_abs().into());
    let date = epoch.and_then(|epoch| if days < 0 { epoch.checked_sub_days(distance) } else { epoch.checked_add_days(distance) });
    match date.filter(|date| (0..=9999).contains(&date.year())) {
        Some(date) => json_text::string(out, &date.format("%Y-%m-%d").to_string()),
        None => json_text::integer(out, days.into()),
    }
}

fn time(out: &mut Vec<u8>, number: i64, per_second: i64) {
    let (seconds, rest) = (number.div_euclid(per_second), number.rem_euclid(per_second));
    let nanos = u32::try_from(rest * (1_000_000_000 / per_second)).unwrap_or_default();
    let time = u32::try_from(seconds).ok().and_then(|seconds| NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos));
    match time {
        Some(time) => json_text::string(out, &time.format("%H:%M:%S%.f").to_string()),
        None => json_text::integer(out, number),
    }
}

fn timestamps(array: &ArrayRef, unit: TimeUnit, is_utc: bool) -> Option<CellWriter<'_>> {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let numbers = match unit {
        TimeUnit::Second => longs::<arrow_array::types::TimestampSecondType>(array),
        TimeUnit::Millisecond => longs::<arrow_array::types::TimestampMillisecondType>(array),
        TimeUnit::Microsecond => longs::<arrow_array::types::TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => longs::<arrow_array::types::TimestampNanosecondType>(array),
    }?;
    Some(Box::new(move |out, row| {
        or_null(out, at(array, row, |row| numbers.get(row).copied().unwrap_or_default()), |out, number| {
            timestamp(out, number, per_second, is_utc);
        });
    }))
}

fn longs<T: ArrowPrimitiveType<Native = <Int64Type as ArrowPrimitiveType>::Native>>(array: &ArrayRef) -> Option<&[i64]> {
    Some(array.as_primitive_opt::<T>()?.values())
}

fn timestamp(out: &mut Vec<u8>, number: i64, per_second: i64, is_utc: bool) {
    let (seconds, rest) = (number.div_euclid(per_second), number.rem_euclid(per_second));
    let nanos = u32::try_from(rest * (1_000_000_000 / per_second)).unwrap_or_default();
    match DateTime::from_timestamp(seconds, nanos).filter(|time| (0..=9999).contains(&time.year())) {
        Some(time) => {
            json_text::string(out, &time.format(if is_utc { "%Y-%m-%dT%H:%M:%S%.fZ" } else { "%Y-%m-%dT%H:%M:%S%.f" }).to_string())
        }
        None => json_text::integer(out, number),
    }
}
