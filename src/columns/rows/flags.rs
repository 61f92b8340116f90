//! A column of booleans.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;

use super::errors::unfit;
use crate::error::Result;

/// The booleans; null is false.
pub(super) struct Flags<'a>(Option<&'a BooleanArray>);

impl<'a> Flags<'a> {
    /// The booleans of an array.
    ///
    /// # Errors
    /// `Usage` for an array of another type.
    pub(super) fn of(name: &str, array: &'a ArrayRef) -> Result<Self> {
        match array.data_type() {
            DataType::Boolean => Ok(Self(Some(array.as_boolean()))),
            DataType::Null => Ok(Self(None)),
            _ => Err(unfit(name, "booleans", array)),
        }
    }

    /// The flag of a row.
    #[inline]
    pub(super) fn get(&self, row: usize) -> bool {
        self.0.is_some_and(|flags| row < flags.len() && flags.is_valid(row) && flags.value(row))
    }

    /// True when no flag is set.
    pub(super) fn are_clear(&self) -> bool {
        self.0.is_none_or(|flags| flags.true_count() == 0)
    }
}
