//! A column of timestamps, as the milliseconds that Kafka stores.

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use super::errors::unfit;
use super::numbers::IntegerColumn;
use crate::error::Result;

/// The timestamps; nothing is copied.
pub(super) struct Timestamps {
    numbers: IntegerColumn,
    unit: TimeUnit,
}

impl Timestamps {
    /// The timestamps of an array of any unit; integers are milliseconds. The time zone says only how they are shown.
    ///
    /// # Errors
    /// `Usage` for an array of another type.
    pub(super) fn of(name: &str, array: &ArrayRef) -> Result<Self> {
        let DataType::Timestamp(unit, _) = array.data_type() else {
            let numbers = IntegerColumn::of(name, array).map_err(|_| unfit(name, "timestamps, or integers in milliseconds", array))?;
            return Ok(Self { numbers, unit: TimeUnit::Millisecond });
        };
        let values = match unit {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
        };
        Ok(Self { numbers: IntegerColumn::new(values.clone(), array.nulls().cloned()), unit: *unit })
    }

    /// Milliseconds of a row, rounded down; `None` for null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        let value = self.numbers.get(row)?;
        Some(match self.unit {
            TimeUnit::Second => value.saturating_mul(1000),
            TimeUnit::Millisecond => value,
            TimeUnit::Microsecond => value.div_euclid(1000),
            TimeUnit::Nanosecond => value.div_euclid(1_000_000),
        })
    }
}
