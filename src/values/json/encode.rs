//! Items of Arrow columns into JSON texts: the way back of `decode`.

use arrow_schema::{DataType, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, NaiveDate, SecondsFormat, TimeDelta};
use serde_json::value::RawValue;

use crate::values::cells::{Cells, Item, Members};
use crate::values::misfit::{Misfit, WriteResult, misfit};
use crate::values::shape::{Member, Shape, ShapeKind};

/// Writes an item as a JSON text of a schema, whose column has a shape. A null field is left out unless the schema requires its name.
///
/// # Errors
/// What does not fit the schema; a part of the text may be written then.
pub fn write(shape: &Shape, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    match (&shape.kind, item) {
        (_, Item::Null) => out.extend_from_slice(b"null"),
        (ShapeKind::Struct(shapes) | ShapeKind::Union(shapes), Item::Struct(members)) => object(shapes, members, out)?,
        (ShapeKind::Map(_, shape), Item::Map(pair, range)) => {
            let [keys, values] = *pair;
            pairs(out, range.clone().map(|row| (keys.item(row), values.item(row))), |item, out| write(shape, item, out))?;
        }
        (ShapeKind::Map(_, shape), Item::Struct(members)) => {
            let named = members.iter().map(|(name, item)| (Item::Text(name.as_bytes()), item));
            pairs(out, named, |item, out| write(shape, item, out))?;
        }
        (ShapeKind::List(shape), Item::List(cells, range)) => list(shape, cells, range.clone(), out)?,
        (ShapeKind::Json, Item::Text(text)) => raw(text, out)?,
        (ShapeKind::Json, item) => any(item, out)?,
        (ShapeKind::Leaf(data_type), item) => leaf(data_type, item, out)?,
        _ => return Err(misfit(format!("{} does not fit the schema, of which the column is {}", item.name(), shape.data_type()))),
    }
    Ok(())
}

fn object(shapes: &[Member], members: &Members<'_>, out: &mut Vec<u8>) -> WriteResult {
    let mut mark = b'{';
    let mut found = 0;
    for (place, member) in shapes.iter().enumerate() {
        let item = members.get(&member.name, place);
        found += usize::from(item.is_some());
        let item = item.unwrap_or(Item::Null);
        if matches!(item, Item::Null) && !member.is_required {
            continue;
        }
        out.push(mark);
        mark = b',';
        string(&member.name, out)?;
        out.push(b':');
        write(&member.shape, &item, out).map_err(|misfit| misfit.inside(&member.name))?;
    }
    if found < members.len() {
        let unknown = members.iter().map(|(name, _)| name).find(|name| shapes.iter().all(|member| *member.name != **name));
        if let Some(name) = unknown {
            return Err(misfit(format!("the schema has no field {name:?}")));
        }
    }
    close(mark, b"{}", out);
    Ok(())
}

fn pairs<'c>(
    out: &mut Vec<u8>,
    pairs: impl Iterator<Item = (Item<'c>, Item<'c>)>,
    write: impl Fn(&Item<'_>, &mut Vec<u8>) -> WriteResult,
) -> WriteResult {
    let mut mark = b'{';
    for (key, value) in pairs {
        let Item::Text(name) = key else { return Err(misfit(format!("the key of a map is {}, not text", key.name()))) };
        out.push(mark);
        mark = b',';
        string(utf8(name)?, out)?;
        out.push(b':');
        write(&value, out)?;
    }
    close(mark, b"{}", out);
    Ok(())
}

fn list(shape: &Shape, cells: &Cells<'_>, rows: std::ops::Range<usize>, out: &mut Vec<u8>) -> WriteResult {
    let mut mark = b'[';
    for row in rows {
        out.push(mark);
        mark = b',';
        write(shape, &cells.item(row), out)?;
    }
    close(mark, b"[]", out);
    Ok(())
}

/// Ends what may have no items.
fn close(mark: u8, [open, end]: &[u8; 2], out: &mut Vec<u8>) {
    if mark == *open {
        out.push(*open);
    }
    out.push(*end);
}

/// Writes a text that is JSON already.
fn raw(text: &[u8], out: &mut Vec<u8>) -> WriteResult {
    let found: &RawValue =
        serde_json::from_slice(text).map_err(|error| misfit(format!("the schema has no type for it, and it is not JSON: {error}")))?;
    out.extend_from_slice(found.get().as_bytes());
    Ok(())
}

/// Writes an item that the schema says nothing about. Text inside of it is text.
fn any(item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    match item {
        Item::Null => out.extend_from_slice(b"null"),
        Item::List(cells, range) => {
            let mut mark = b'[';
            for row in range.clone() {
                out.push(mark);
                mark = b',';
                any(&cells.item(row), out)?;
            }
            close(mark, b"[]", out);
        }
        Item::Map(pair, range) => {
            let [keys, values] = *pair;
            pairs(out, range.clone().map(|row| (keys.item(row), values.item(row))), any)?;
        }
        Item::Struct(members) => pairs(out, members.iter().map(|(name, item)| (Item::Text(name.as_bytes()), item)), any)?,
        Item::Boolean(_) => leaf(&DataType::Boolean, item, out)?,
        Item::Real(_) => leaf(&DataType::Float64, item, out)?,
        Item::Whole(_) | Item::Unsigned(_) | Item::Decimal(..) => leaf(&DataType::Decimal128(38, 0), item, out)?,
        _ => text(item, out)?,
    }
    Ok(())
}

fn leaf(data_type: &DataType, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    let is_number = matches!(data_type, DataType::Float32 | DataType::Float64 | DataType::Decimal128(..));
    let is_whole = is_number || data_type.is_integer();
    match item {
        Item::Boolean(is_true) if *data_type == DataType::Boolean => out.extend_from_slice(if *is_true { b"true" } else { b"false" }),
        Item::Whole(number) if is_whole => out.extend_from_slice(number.to_string().as_bytes()),
        Item::Unsigned(number) if is_whole => out.extend_from_slice(number.to_string().as_bytes()),
        Item::Real(number) if !number.is_finite() => return Err(misfit(format!("JSON has no number {number}"))),
        Item::Real(number) if is_number || (is_whole && number.fract() == 0.0) => {
            serde_json::to_writer(out, number).map_err(|error| misfit(error.to_string()))?;
        }
        Item::Decimal(digits, scale) if is_number || (is_whole && *scale <= 0) => {
            out.extend_from_slice(decimal_text(&digits.to_string(), *scale).as_bytes());
        }
        item if matches!(data_type, DataType::Utf8 | DataType::Binary | DataType::Date32 | DataType::Timestamp(..)) => text(item, out)?,
        item => return Err(misfit(format!("{} does not fit the schema, of which the column is {data_type}", item.name()))),
    }
    Ok(())
}

/// Writes text, and what is text in JSON: bytes in base64, dates and times in ISO 8601.
fn text(item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    let beyond = || misfit(format!("{} is beyond the calendar", item.name()));
    match item {
        Item::Text(text) => string(utf8(text)?, out),
        Item::Bytes(bytes) => string(&STANDARD.encode(bytes), out),
        Item::Date(days) => {
            let date = NaiveDate::default().checked_add_signed(TimeDelta::days((*days).into()));
            string(&date.ok_or_else(beyond)?.format("%Y-%m-%d").to_string(), out)
        }
        Item::Timestamp(number, unit, is_utc) => {
            let time = match unit {
                TimeUnit::Second => DateTime::from_timestamp(*number, 0),
                TimeUnit::Millisecond => DateTime::from_timestamp_millis(*number),
                TimeUnit::Microsecond => DateTime::from_timestamp_micros(*number),
                TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(*number)),
            };
            let text = time.ok_or_else(beyond)?.to_rfc3339_opts(SecondsFormat::AutoSi, true);
            string(if *is_utc { &text } else { text.trim_end_matches('Z') }, out)
        }
        _ => Err(misfit(format!("{} does not fit the schema, of which the column is text", item.name()))),
    }
}

/// A decimal with a point.
fn decimal_text(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let Ok(scale) = usize::try_from(scale) else { return format!("{sign}{digits}e{}", scale.unsigned_abs()) };
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (head, tail) = digits.split_at(digits.len() - scale);
    if tail.is_empty() { format!("{sign}{head}") } else { format!("{sign}{head}.{tail}") }
}

fn string(text: &str, out: &mut Vec<u8>) -> WriteResult {
    serde_json::to_writer(out, text).map_err(|error| misfit(error.to_string()))
}

fn utf8(bytes: &[u8]) -> Result<&str, Box<Misfit>> {
    std::str::from_utf8(bytes).map_err(|_| misfit("the text is not UTF-8"))
}
