//! The value of one column in one row.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayAccessor, ArrayRef, BinaryArray, BinaryViewArray, Int16Array, LargeBinaryArray, StringArray, StructArray};
use arrow_schema::{DataType, TimeUnit};

use super::nested::nested;
use super::{BytesForm, text};
use crate::error::{ErrorKind, Result};
use crate::model::TimestampType;
use crate::model::timestamp::NO_TIMESTAMP;

/// The columns of records and batches that hold milliseconds as numbers.
const MILLIS: [&str; 4] = ["timestampMs", "baseTimestamp", "maxTimestamp", "deleteHorizonMs"];

/// The columns of records that hold lists of headers.
const HEADERS: [&str; 2] = ["headers", "headersRaw"];

/// How values are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    /// Runs of bytes.
    pub bytes: BytesForm,
    /// Times are in ISO 8601, also the numbers of the columns of this library that hold milliseconds.
    pub has_iso_times: bool,
}

/// Writes the value of a column in one row.
pub type Cell<'a> = Box<dyn Fn(&mut Vec<u8>, usize) + 'a>;

/// Returns what writes the column with this name.
///
/// # Errors
/// `Usage` for a type that no column of this library has.
pub fn cell<'a>(name: &str, array: &'a ArrayRef, form: Form) -> Result<Cell<'a>> {
    let cell = match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(array, |out, number| text::integer(out, number.into())),
        DataType::Int16 => numbers::<Int16Type>(array, |out, number| text::integer(out, number.into())),
        // 0, 1 or -1, written as Kafka's name.
        DataType::Int32 if name == "timestampType" => numbers::<Int32Type>(array, timestamp_type),
        DataType::Int32 => numbers::<Int32Type>(array, |out, number| text::integer(out, number.into())),
        DataType::Int64 if form.has_iso_times && MILLIS.contains(&name) => numbers::<Int64Type>(array, iso_millis),
        DataType::Int64 => numbers::<Int64Type>(array, text::integer),
        DataType::UInt64 => numbers::<UInt64Type>(array, text::unsigned),
        DataType::Boolean => values(array.as_boolean_opt(), boolean),
        DataType::Utf8 => values(array.as_string_opt::<i32>(), text::string),
        DataType::Timestamp(TimeUnit::Microsecond, _) if name == "timestamp" && form.has_iso_times => {
            numbers::<TimestampMicrosecondType>(array, |out, us| text::iso_time(out, us.div_euclid(1000)))
        }
        // Written as whole milliseconds, which Kafka's timestamps are.
        DataType::Timestamp(TimeUnit::Microsecond, _) if name == "timestamp" => {
            numbers::<TimestampMicrosecondType>(array, |out, us| text::integer(out, us.div_euclid(1000)))
        }
        DataType::Struct(_) if name == "internal" => internal(array),
        DataType::List(_) if HEADERS.contains(&name) => return list(name, array, form),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => BytesCell::of(array).map(|array| -> Cell<'a> {
            Box::new(move |out, row| or_null(out, array.at(row), |out, bytes| text::bytes(out, bytes, form.bytes)))
        }),
        _ => nested(array, form)?,
    };
    cell.ok_or_else(|| unwritable(name, array.data_type()))
}

fn values<'a, A: ArrayAccessor + 'a>(array: Option<A>, write: impl Fn(&mut Vec<u8>, A::Item) + 'a) -> Option<Cell<'a>> {
    let array = array?;
    Some(Box::new(move |out, row| or_null(out, at(&array, row, |row| array.value(row)), &write)))
}

pub(super) fn numbers<'a, T: ArrowPrimitiveType>(array: &'a ArrayRef, write: impl Fn(&mut Vec<u8>, T::Native) + 'a) -> Option<Cell<'a>> {
    values(array.as_primitive_opt::<T>(), write)
}

/// The column `internal`, a struct with the fields `type`, `version`, `key` and `value`: the text of keys and values is JSON.
fn internal(array: &ArrayRef) -> Option<Cell<'_>> {
    let rows = array.as_struct_opt()?;
    let text = |name| rows.column_by_name(name)?.as_string_opt::<i32>();
    let versions = rows.column_by_name("version")?.as_primitive_opt::<Int16Type>()?;
    let texts = [text("type")?, text("key")?, text("value")?];
    Some(Box::new(move |out, row| or_null(out, at(rows, row, |row| row), |out, row| put_internal(out, &texts, versions, row))))
}

/// A list of structs; written as an array of objects.
fn list<'a>(name: &str, array: &'a ArrayRef, form: Form) -> Result<Cell<'a>> {
    let list = array.as_list_opt::<i32>();
    let both = list.and_then(|list| Some((list, list.values().as_any().downcast_ref::<StructArray>()?)));
    let Some((list, rows)) = both else { return Err(unwritable(name, array.data_type())) };
    let named = rows.fields().iter().zip(rows.columns());
    let fields = named.map(|(field, column)| Ok((label(field.name()), cell(field.name(), column, form)?)));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let offset = |index: usize| list.value_offsets().get(index).and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
    Ok(Box::new(move |out, row| or_null(out, at(list, row, |row| offset(row)..offset(row + 1)), |out, rows| objects(out, &fields, rows))))
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
    text::string(&mut label, name);
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

fn timestamp_type(out: &mut Vec<u8>, id: i32) {
    let known = [TimestampType::CreateTime, TimestampType::LogAppendTime, TimestampType::NoTimestampType];
    match known.into_iter().find(|known| known.id() == id) {
        Some(known) => text::string(out, known.name()),
        None => text::integer(out, id.into()),
    }
}

fn put_internal(out: &mut Vec<u8>, [kinds, keys, values]: &[&StringArray; 3], versions: &Int16Array, row: usize) {
    out.extend_from_slice(b"{\"type\":");
    or_null(out, at(*kinds, row, |row| kinds.value(row)), text::string);
    out.extend_from_slice(b",\"version\":");
    or_null(out, at(versions, row, |row| versions.value(row).into()), text::integer);
    for (label, texts) in [(&b",\"key\":"[..], keys), (b",\"value\":", values)] {
        out.extend_from_slice(label);
        or_null(out, at(*texts, row, |row| texts.value(row)), |out, text| out.extend_from_slice(text.as_bytes()));
    }
    out.push(b'}');
}

fn objects(out: &mut Vec<u8>, fields: &[(Vec<u8>, Cell<'_>)], rows: std::ops::Range<usize>) {
    out.push(b'[');
    for (index, row) in rows.enumerate() {
        out.extend_from_slice(if index == 0 { b"{" } else { b",{" });
        for (field, (label, cell)) in fields.iter().enumerate() {
            if field > 0 {
                out.push(b',');
            }
            out.extend_from_slice(label);
            cell(out, row);
        }
        out.push(b'}');
    }
    out.push(b']');
}

fn unwritable(name: &str, data_type: &DataType) -> crate::error::Error {
    ErrorKind::Usage { argument: "fields", problem: format!("column {name:?} of type {data_type} cannot be written as JSON") }.into()
}

/// No timestamp is null.
fn iso_millis(out: &mut Vec<u8>, millis: i64) {
    or_null(out, Some(millis).filter(|millis| *millis != NO_TIMESTAMP), text::iso_time);
}
