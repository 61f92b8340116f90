//! The value of one column in one row.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Int8Array, Int16Array, Int32Array, Int64Array, LargeBinaryArray,
    ListArray, StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};

use super::{BytesForm, text};
use crate::error::{ErrorKind, Result};
use crate::model::TimestampType;

/// A column, ready to be written row by row.
pub enum Cell<'a> {
    Int8(&'a Int8Array),
    Int16(&'a Int16Array),
    Int32(&'a Int32Array),
    Int64(&'a Int64Array),
    UInt64(&'a UInt64Array),
    Boolean(&'a BooleanArray),
    /// 0, 1 or -1, written as Kafka's name.
    TimestampType(&'a Int32Array),
    /// Written as whole milliseconds, which Kafka's timestamps are.
    Timestamp(&'a TimestampMicrosecondArray),
    Text(&'a StringArray),
    Bytes(BytesCell<'a>),
    /// The column `internal`: two fields of a struct are JSON already.
    Internal(&'a StructArray, [&'a StringArray; 3], &'a Int16Array),
    /// A list of structs; written as an array of objects.
    List(&'a ListArray, Vec<(Vec<u8>, Cell<'a>)>),
}

/// A column of runs of bytes, in any layout.
#[derive(Clone, Copy)]
pub enum BytesCell<'a> {
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
}

impl<'a> Cell<'a> {
    /// The column with this name.
    ///
    /// # Errors
    /// `Usage` for a type that no column of this library has.
    pub fn of(name: &str, array: &'a ArrayRef) -> Result<Self> {
        let cell = match array.data_type() {
            DataType::Int8 => array.as_primitive_opt::<Int8Type>().map(Self::Int8),
            DataType::Int16 => array.as_primitive_opt::<Int16Type>().map(Self::Int16),
            DataType::Int32 if name == "timestampType" => array.as_primitive_opt::<Int32Type>().map(Self::TimestampType),
            DataType::Int32 => array.as_primitive_opt::<Int32Type>().map(Self::Int32),
            DataType::Int64 => array.as_primitive_opt::<Int64Type>().map(Self::Int64),
            DataType::UInt64 => array.as_primitive_opt::<UInt64Type>().map(Self::UInt64),
            DataType::Boolean => array.as_boolean_opt().map(Self::Boolean),
            DataType::Utf8 => array.as_string_opt::<i32>().map(Self::Text),
            DataType::Timestamp(TimeUnit::Microsecond, _) => array.as_primitive_opt::<TimestampMicrosecondType>().map(Self::Timestamp),
            DataType::Struct(_) if name == "internal" => Self::internal(array),
            DataType::List(_) => return Self::list(name, array),
            _ => BytesCell::of(array).map(Self::Bytes),
        };
        cell.ok_or_else(|| unwritable(name, array.data_type()))
    }

    /// Writes the value of one row.
    pub fn write(&self, out: &mut Vec<u8>, row: usize, form: BytesForm) {
        match self {
            Self::Int8(array) => number(out, at(*array, row, |row| array.value(row).into())),
            Self::Int16(array) => number(out, at(*array, row, |row| array.value(row).into())),
            Self::Int32(array) => number(out, at(*array, row, |row| array.value(row).into())),
            Self::Int64(array) => number(out, at(*array, row, |row| array.value(row))),
            Self::Timestamp(array) => number(out, at(*array, row, |row| array.value(row).div_euclid(1000))),
            Self::UInt64(array) => or_null(out, at(*array, row, |row| array.value(row)), text::unsigned),
            Self::TimestampType(array) => or_null(out, at(*array, row, |row| array.value(row)), timestamp_type),
            Self::Boolean(array) => or_null(out, at(*array, row, |row| array.value(row)), boolean),
            Self::Text(array) => or_null(out, at(*array, row, |row| array.value(row)), text::string),
            Self::Bytes(array) => or_null(out, array.at(row), |out, bytes| text::bytes(out, bytes, form)),
            Self::Internal(array, texts, versions) => or_null(out, at(*array, row, |row| row), |out, row| {
                internal(out, texts, versions, row);
            }),
            Self::List(array, fields) => or_null(out, at(*array, row, |row| bounds(array, row)), |out, (start, end)| {
                objects(out, fields, start..end, form);
            }),
        }
    }

    /// The struct with the fields `type`, `version`, `key` and `value`.
    fn internal(array: &'a ArrayRef) -> Option<Self> {
        let rows = array.as_struct_opt()?;
        let text = |name| rows.column_by_name(name)?.as_string_opt::<i32>();
        let versions = rows.column_by_name("version")?.as_primitive_opt::<Int16Type>()?;
        Some(Self::Internal(rows, [text("type")?, text("key")?, text("value")?], versions))
    }

    fn list(name: &str, array: &'a ArrayRef) -> Result<Self> {
        let list = array.as_list_opt::<i32>();
        let both = list.and_then(|list| Some((list, list.values().as_any().downcast_ref::<StructArray>()?)));
        let Some((list, rows)) = both else { return Err(unwritable(name, array.data_type())) };
        let named = rows.fields().iter().zip(rows.columns());
        let fields = named.map(|(field, column)| Ok((label(field.name()), Self::of(field.name(), column)?)));
        Ok(Self::List(list, fields.collect::<Result<_>>()?))
    }
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
    text::string(&mut label, name);
    label.push(b':');
    label
}

fn at<T>(array: &dyn Array, row: usize, value: impl FnOnce(usize) -> T) -> Option<T> {
    array.is_valid(row).then(|| value(row))
}

fn or_null<T>(out: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        Some(value) => write(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

fn number(out: &mut Vec<u8>, value: Option<i64>) {
    or_null(out, value, text::integer);
}

fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

fn timestamp_type(out: &mut Vec<u8>, id: i32) {
    let known = [TimestampType::CreateTime, TimestampType::LogAppendTime, TimestampType::NoTimestampType];
    match known.into_iter().find(|known| known.id() == id) {
        Some(known) => text::string(out, known.name()),
        None => text::integer(out, id.into()),
    }
}

/// The text of keys and values is JSON, which the column `internal` was made of.
fn internal(out: &mut Vec<u8>, [kinds, keys, values]: &[&StringArray; 3], versions: &Int16Array, row: usize) {
    out.extend_from_slice(b"{\"type\":");
    or_null(out, at(*kinds, row, |row| kinds.value(row)), text::string);
    out.extend_from_slice(b",\"version\":");
    number(out, at(versions, row, |row| versions.value(row).into()));
    for (label, texts) in [(&b",\"key\":"[..], keys), (b",\"value\":", values)] {
        out.extend_from_slice(label);
        or_null(out, at(*texts, row, |row| texts.value(row)), |out, text| out.extend_from_slice(text.as_bytes()));
    }
    out.push(b'}');
}

fn bounds(array: &ListArray, row: usize) -> (usize, usize) {
    let at = |index: usize| array.value_offsets().get(index).and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
    (at(row), at(row + 1))
}

fn objects(out: &mut Vec<u8>, fields: &[(Vec<u8>, Cell<'_>)], rows: std::ops::Range<usize>, form: BytesForm) {
    out.push(b'[');
    for (index, row) in rows.enumerate() {
        out.extend_from_slice(if index == 0 { b"{" } else { b",{" });
        for (field, (label, cell)) in fields.iter().enumerate() {
            if field > 0 {
                out.push(b',');
            }
            out.extend_from_slice(label);
            cell.write(out, row, form);
        }
        out.push(b'}');
    }
    out.push(b']');
}

fn unwritable(name: &str, data_type: &DataType) -> crate::error::Error {
    ErrorKind::Usage { argument: "fields", problem: format!("column {name:?} of type {data_type} cannot be written as JSON") }.into()
}
