//! The value of one column in one row.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, Int16Array, StringArray, StructArray};
use arrow_schema::{DataType, TimeUnit};

use super::scalar::scalar;
use super::text;
use super::writer::{BytesCell, CellWriter, JsonForm, at, boolean, label, numbers, or_null, values};
use crate::error::{ErrorKind, Result};
use crate::model::TimestampType;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::wire::json_text;

/// The columns of records and batches that hold milliseconds as numbers.
const MILLIS: [&str; 4] = ["timestampMs", "baseTimestamp", "maxTimestamp", "deleteHorizonMs"];

/// The columns of records that hold lists of headers.
const HEADERS: [&str; 2] = ["headers", "headersRaw"];

/// Returns what writes the column with this name.
///
/// # Errors
/// `Usage` for a type that no column of this library has.
pub fn cell<'a>(name: &str, array: &'a ArrayRef, form: JsonForm) -> Result<CellWriter<'a>> {
    let cell = match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(array, |out, number| json_text::integer(out, number.into())),
        DataType::Int16 => numbers::<Int16Type>(array, |out, number| json_text::integer(out, number.into())),
        // 0, 1 or -1, written as Kafka's name.
        DataType::Int32 if name == "timestampType" => numbers::<Int32Type>(array, timestamp_type),
        DataType::Int32 => numbers::<Int32Type>(array, |out, number| json_text::integer(out, number.into())),
        DataType::Int64 if form.has_iso_times && MILLIS.contains(&name) => numbers::<Int64Type>(array, iso_millis),
        DataType::Int64 => numbers::<Int64Type>(array, json_text::integer),
        DataType::UInt64 => numbers::<UInt64Type>(array, json_text::unsigned),
        DataType::Boolean => values(array.as_boolean_opt(), boolean),
        DataType::Utf8 => values(array.as_string_opt::<i32>(), json_text::string),
        DataType::Timestamp(TimeUnit::Microsecond, _) if name == "timestamp" && form.has_iso_times => {
            numbers::<TimestampMicrosecondType>(array, |out, us| text::iso_time(out, us.div_euclid(1000)))
        }
        // Written as whole milliseconds, which Kafka's timestamps are.
        DataType::Timestamp(TimeUnit::Microsecond, _) if name == "timestamp" => {
            numbers::<TimestampMicrosecondType>(array, |out, us| json_text::integer(out, us.div_euclid(1000)))
        }
        DataType::Struct(_) if name == "internal" => internal(array),
        DataType::List(_) if HEADERS.contains(&name) => return header_lists(name, array, form),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => BytesCell::of(array).map(|array| -> CellWriter<'a> {
            Box::new(move |out, row| or_null(out, array.at(row), |out, bytes| text::bytes(out, bytes, form.bytes)))
        }),
        _ => nested(array, form)?,
    };
    cell.ok_or_else(|| unwritable(name, array.data_type()))
}

/// The column `internal`, a struct with the fields `type`, `version`, `key` and `value`: the text of keys and values is JSON.
fn internal(array: &ArrayRef) -> Option<CellWriter<'_>> {
    let rows = array.as_struct_opt()?;
    let text = |name| rows.column_by_name(name)?.as_string_opt::<i32>();
    let versions = rows.column_by_name("version")?.as_primitive_opt::<Int16Type>()?;
    let texts = [text("type")?, text("key")?, text("value")?];
    Some(Box::new(move |out, row| or_null(out, at(rows, row, |row| row), |out, row| put_internal(out, &texts, versions, row))))
}

/// A list of structs; written as an array of objects.
fn header_lists<'a>(name: &str, array: &'a ArrayRef, form: JsonForm) -> Result<CellWriter<'a>> {
    let list = array.as_list_opt::<i32>();
    let both = list.and_then(|list| Some((list, list.values().as_any().downcast_ref::<StructArray>()?)));
    let Some((list, rows)) = both else { return Err(unwritable(name, array.data_type())) };
    let named = rows.fields().iter().zip(rows.columns());
    let fields = named.map(|(field, column)| Ok((label(field.name()), cell(field.name(), column, form)?)));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let offset = |index: usize| list.value_offsets().get(index).and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
    Ok(Box::new(move |out, row| or_null(out, at(list, row, |row| offset(row)..offset(row + 1)), |out, rows| objects(out, &fields, rows))))
}

/// Returns what writes a column of a type that only decoded values have; `None` for another type.
///
/// # Errors
/// `Usage` for a type inside of it that cannot be written.
fn nested<'a>(array: &'a ArrayRef, form: JsonForm) -> Result<Option<CellWriter<'a>>> {
    Ok(match array.data_type() {
        DataType::Struct(_) => Some(object(array, form)?),
        DataType::List(_) => list(array, form)?,
        DataType::Map(..) => map(array, form)?,
        _ => scalar(array, form),
    })
}

fn object<'a>(array: &'a ArrayRef, form: JsonForm) -> Result<CellWriter<'a>> {
    let rows = array.as_struct();
    let named = rows.fields().iter().zip(rows.columns());
    let fields = named.map(|(field, column)| Ok((label(field.name()), inner(column, form)?))).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |out, row| {
        or_null(out, at(rows, row, |row| row), |out, row| {
            out.push(b'{');
            for (index, (label, cell)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(label);
                cell(out, row);
            }
            out.push(b'}');
        });
    }))
}

fn list<'a>(array: &'a ArrayRef, form: JsonForm) -> Result<Option<CellWriter<'a>>> {
    let Some(lists) = array.as_list_opt::<i32>() else { return Ok(None) };
    let items = inner(lists.values(), form)?;
    Ok(Some(Box::new(move |out, row| {
        or_null(out, at(lists, row, |row| ends(lists.value_offsets(), row)), |out, range| {
            out.push(b'[');
            for (index, row) in range.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                items(out, row);
            }
            out.push(b']');
        });
    })))
}

/// A key that is there twice is written twice.
fn map<'a>(array: &'a ArrayRef, form: JsonForm) -> Result<Option<CellWriter<'a>>> {
    let Some(maps) = array.as_map_opt() else { return Ok(None) };
    let (keys, values) = (inner(maps.keys(), form)?, inner(maps.values(), form)?);
    Ok(Some(Box::new(move |out, row| {
        or_null(out, at(maps, row, |row| ends(maps.value_offsets(), row)), |out, range| {
            out.push(b'{');
            for (index, row) in range.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                keys(out, row);
                out.push(b':');
                values(out, row);
            }
            out.push(b'}');
        });
    })))
}

/// The writer of a column inside another one, where no name of a column of records counts.
fn inner<'a>(array: &'a ArrayRef, form: JsonForm) -> Result<CellWriter<'a>> {
    match nested(array, form)? {
        Some(cell) => Ok(cell),
        None => cell("", array, form),
    }
}

fn ends(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let end = |row: usize| offsets.get(row).and_then(|end| usize::try_from(*end).ok()).unwrap_or_default();
    end(row)..end(row + 1)
}

fn timestamp_type(out: &mut Vec<u8>, id: i32) {
    let known = [TimestampType::CreateTime, TimestampType::LogAppendTime, TimestampType::NoTimestampType];
    match known.into_iter().find(|known| known.id() == id) {
        Some(known) => json_text::string(out, known.name()),
        None => json_text::integer(out, id.into()),
    }
}

fn put_internal(out: &mut Vec<u8>, [kinds, keys, values]: &[&StringArray; 3], versions: &Int16Array, row: usize) {
    out.extend_from_slice(b"{\"type\":");
    or_null(out, at(*kinds, row, |row| kinds.value(row)), json_text::string);
    out.extend_from_slice(b",\"version\":");
    or_null(out, at(versions, row, |row| versions.value(row).into()), json_text::integer);
    for (label, texts) in [(&b",\"key\":"[..], keys), (b",\"value\":", values)] {
        out.extend_from_slice(label);
        or_null(out, at(*texts, row, |row| texts.value(row)), |out, text| out.extend_from_slice(text.as_bytes()));
    }
    out.push(b'}');
}

fn objects(out: &mut Vec<u8>, fields: &[(Vec<u8>, CellWriter<'_>)], rows: std::ops::Range<usize>) {
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
