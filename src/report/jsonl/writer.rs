//! The parts of which the writers of columns are made.

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayAccessor, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, RecordBatch};
use arrow_schema::DataType;

use super::text::BytesForm;
use crate::error::{ErrorKind, Result};
use crate::wire::json_text;

/// How values are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonForm {
    /// Runs of bytes.
    pub bytes: BytesForm,
    /// Times are in ISO 8601, also the numbers of the columns of this library that hold milliseconds.
    pub has_iso_times: bool,
}

/// Writes the value of a column in one row.
pub type CellWriter<'a> = Box<dyn Fn(&mut Vec<u8>, usize) + 'a>;

pub(super) fn values<'a, A: ArrayAccessor + 'a>(array: Option<A>, write: impl Fn(&mut Vec<u8>, A::Item) + 'a) -> Option<CellWriter<'a>> {
    let array = array?;
    Some(Box::new(move |out, row| or_null(out, at(&array, row, |row| array.value(row)), &write)))
}

pub(super) fn numbers<'a, T: ArrowPrimitiveType>(
    array: &'a ArrayRef,
    write: impl Fn(&mut Vec<u8>, T::Native) + 'a,
) -> Option<CellWriter<'a>> {
    values(array.as_primitive_opt::<T>(), write)
}

/// A column of runs of bytes, in any layout.
#[derive(Clone, Copy)]
pub enum BytesCell<'a> {
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
}

impl<'a> BytesCell<'a> {
    /// The column, when it holds bytes.
    pub fn of(array: &'a ArrayRef) -> Option<Self> {
        match array.data_type() {
            DataType::Binary => array.as_binary_opt::<i32>().map(Self::Binary),
            DataType::LargeBinary => array.as_binary_opt::<i64>().map(Self::LargeBinary),
            DataType::BinaryView => array.as_binary_view_opt().map(Self::BinaryView),
            _ => None,
        }
    }

    /// The bytes of one row.
    pub fn at(self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Binary(array) => at(array, row, |row| array.value(row)),
            Self::LargeBinary(array) => at(array, row, |row| array.value(row)),
            Self::BinaryView(array) => at(array, row, |row| array.value(row)),
        }
    }
}

/// `"name":`, escaped.
pub fn label(name: &str) -> Vec<u8> {
    let mut label = Vec::with_capacity(name.len() + 3);
    json_text::string(&mut label, name);
    label.push(b':');
    label
}

pub(super) fn at<T>(array: &dyn Array, row: usize, value: impl FnOnce(usize) -> T) -> Option<T> {
    array.is_valid(row).then(|| value(row))
}

pub(super) fn or_null<T>(out: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        Some(value) => write(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

pub(super) fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Returns the column with this name.
///
/// # Errors
/// `Usage` if the batch has none.
pub(super) fn column_named<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    let missing = || ErrorKind::Usage { argument: "fields", problem: format!("there is no column {name:?}") }.into();
    batch.column_by_name(name).ok_or_else(missing)
}
