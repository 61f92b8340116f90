//! Columns whose rows are all the same: made once at full length, sliced for each chunk.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, StringArray, new_null_array};
use arrow_schema::DataType;

/// A column of one repeated value.
#[derive(Debug)]
pub struct Constant<T> {
    value: Option<T>,
    made: Option<ArrayRef>,
}

/// Values that can be repeated.
pub trait Repeat {
    /// The Arrow type of the column.
    const DATA_TYPE: DataType;
    /// `len` rows of the value.
    fn repeat(&self, len: usize) -> ArrayRef;
}

impl<T: Repeat> Constant<T> {
    /// A column of `value`, or of nulls.
    pub fn new(value: Option<T>) -> Self {
        Self { value, made: None }
    }

    /// `len` rows.
    pub fn rows(&mut self, len: usize) -> ArrayRef {
        let made = match self.made.take() {
            Some(made) if made.len() >= len => made,
            _ => self.make(len.next_power_of_two()),
        };
        let rows = made.slice(0, len);
        self.made = Some(made);
        rows
    }

    fn make(&self, len: usize) -> ArrayRef {
        self.value.as_ref().map_or_else(|| new_null_array(&T::DATA_TYPE, len), |value| value.repeat(len))
    }
}

impl Repeat for String {
    const DATA_TYPE: DataType = DataType::Utf8;
    fn repeat(&self, len: usize) -> ArrayRef {
        Arc::new(StringArray::new_repeated(self, len))
    }
}

impl Repeat for i32 {
    const DATA_TYPE: DataType = DataType::Int32;
    fn repeat(&self, len: usize) -> ArrayRef {
        Arc::new(Int32Array::from_value(*self, len))
    }
}
