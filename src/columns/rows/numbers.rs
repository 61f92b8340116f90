//! A column of integers of any width, as 64-bit ones.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::errors::unfit;
use crate::error::Result;

/// The integers; those of 64 bits are not copied.
pub struct IntegerColumn {
    values: ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
}

impl IntegerColumn {
    /// The integers of an array.
    ///
    /// # Errors
    /// `Usage` for an array of another type, or of numbers above 2^63-1.
    pub fn of(name: &str, array: &ArrayRef) -> Result<Self> {
        Self::of_array(array).ok_or_else(|| unfit(name, "integers of at most 64 bits with a sign", array))
    }

    /// These integers.
    pub(super) fn new(values: ScalarBuffer<i64>, nulls: Option<NullBuffer>) -> Self {
        Self { values, nulls }
    }

    /// The integer of a row, `None` for null.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        self.values.get(row).copied()
    }

    fn of_array(array: &ArrayRef) -> Option<Self> {
        let values = match array.data_type() {
            DataType::Int64 => array.as_primitive::<Int64Type>().values().clone(),
            DataType::Int32 => widened::<Int32Type>(array)?,
            DataType::Int16 => widened::<Int16Type>(array)?,
            DataType::Int8 => widened::<Int8Type>(array)?,
            DataType::UInt64 => widened::<UInt64Type>(array)?,
            DataType::UInt32 => widened::<UInt32Type>(array)?,
            DataType::UInt16 => widened::<UInt16Type>(array)?,
            DataType::UInt8 => widened::<UInt8Type>(array)?,
            DataType::Null => {
                return Some(Self { values: vec![0; array.len()].into(), nulls: Some(NullBuffer::new_null(array.len())) });
            }
            _ => return None,
        };
        Some(Self { values, nulls: array.nulls().cloned() })
    }
}

/// Null slots may hold anything.
fn widened<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<ScalarBuffer<i64>>
where
    i64: TryFrom<T::Native>,
{
    let array = array.as_primitive::<T>();
    let slot = |(row, value): (usize, &T::Native)| if array.is_null(row) { Some(0) } else { i64::try_from(*value).ok() };
    array.values().iter().enumerate().map(slot).collect::<Option<Vec<_>>>().map(ScalarBuffer::from)
}
