//! Messages into columns. A message is read once; messages inside of it and entries of maps are read when all of their parts are known.
//!
//! Source: "Encoding" in the documentation of Protocol Buffers.

use std::borrow::Cow;
use std::collections::HashMap;

use super::json;
use super::step::{FieldForm, FieldKind, MessageStep, ProtobufFieldStep};
use crate::values::column::{Slots, ValueColumn, end_row};
use crate::values::payload::{MOST_DEPTH, Payload, Problem, Read};

/// Reads what is left as a value of a column.
///
/// # Errors
/// What is wrong with it; the column may have a part of it then.
pub fn read(kind: &FieldKind, column: &mut ValueColumn, payload: &mut Payload<'_>) -> Read<()> {
    let bytes = payload.take(payload.left())?;
    message_value(kind, column, bytes, payload)
}

/// The value of a field, as far as it is read.
enum Wire<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64([u8; 8]),
    Run(&'a [u8]),
}

/// The next field of a message: its number and its value.
fn next<'a>(payload: &mut Payload<'a>) -> Read<(u32, Wire<'a>)> {
    let (number, wire) = tag(payload)?;
    let value = match wire {
        0 => Wire::Varint(payload.varint()?),
        1 => Wire::Fixed64(payload.array()?),
        2 => Wire::Run(run(payload)?),
        3 => Wire::Run(group(number, payload)?),
        5 => Wire::Fixed32(payload.array()?),
        4 => return Err(bad("the end of a group that did not begin")),
        _ => return Err(bad("a wire type that does not exist")),
    };
    Ok((number, value))
}

fn tag(payload: &mut Payload<'_>) -> Read<(u32, u64)> {
    let tag = payload.varint()?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
    Ok((number.ok_or_else(|| bad("a field number that does not exist"))?, tag & 7))
}

fn run<'a>(payload: &mut Payload<'a>) -> Read<&'a [u8]> {
    let len = payload.varint()?;
    payload.take(usize::try_from(len).unwrap_or(usize::MAX))
}

/// The fields of a group, without its end.
fn group<'a>(number: u32, payload: &mut Payload<'a>) -> Read<&'a [u8]> {
    let mut ahead = payload.clone();
    let mut open = vec![number];
    loop {
        let before = ahead.left();
        let (number, wire) = tag(&mut ahead)?;
        match wire {
            0 => drop(ahead.varint()?),
            1 => drop(ahead.take(8)?),
            2 => drop(run(&mut ahead)?),
            3 if open.len() >= MOST_DEPTH => return Err(too_deep()),
            3 => open.push(number),
            4 if open.pop() != Some(number) => return Err(bad("the end of another group")),
            4 if open.is_empty() => {
                let found = payload.take(payload.left() - before)?;
                payload.take(before - ahead.left())?;
                return Ok(found);
            }
            4 => {}
            5 => drop(ahead.take(4)?),
            _ => return Err(bad("a wire type that does not exist")),
        }
    }
}

/// A message, in one piece, as a value of a column.
fn message_value(kind: &FieldKind, column: &mut ValueColumn, bytes: &[u8], budget: &mut Payload<'_>) -> Read<()> {
    match (kind, &mut column.slots) {
        (FieldKind::Message(step), Slots::Struct(children, len)) => {
            message(step, children, *len, (bytes, budget))?;
            *len += 1;
        }
        (FieldKind::Json(descriptor), Slots::Runs(runs)) => {
            json::write(descriptor, bytes, &mut runs.data, budget)?;
            runs.end()?;
        }
        (FieldKind::Timestamp, Slots::I64(values)) => values.push(timestamp(bytes)?),
        (FieldKind::Wrapper(kind), _) => {
            let mut payload = Payload::new(bytes);
            let rows = column.len();
            while payload.left() > 0 {
                if let (1, value) = next(&mut payload)? {
                    column.truncate(rows);
                    scalar(kind, column, &value)?;
                }
            }
            if column.len() == rows {
                zero(kind, column, budget)?;
            }
            return Ok(());
        }
        _ => return Err(Box::new(Problem::Shape)),
    }
    column.note_valid();
    Ok(())
}

/// Messages inside of a message and entries of its maps, by the numbers of their fields.
type MessageFields<'a> = HashMap<u32, Vec<&'a [u8]>>;

fn message(step: &MessageStep, children: &mut [ValueColumn], rows: usize, (bytes, budget): (&[u8], &mut Payload<'_>)) -> Read<()> {
    budget.spend(step.width)?;
    let mut payload = Payload::new(bytes);
    let mut parts = MessageFields::new();
    while payload.left() > 0 {
        let (number, value) = next(&mut payload)?;
        let Some(field) = step.fields.get(&number) else { continue };
        for rival in &*field.rivals {
            if let Some(rival) = children.get_mut(*rival) {
                rival.truncate(rows);
            }
            parts.retain(|other, _| step.fields.get(other).is_none_or(|other| other.place != *rival));
        }
        let child = children.get_mut(field.place).ok_or(Problem::Shape)?;
        match (&field.form, &mut child.slots, value) {
            (FieldForm::Map(..), _, Wire::Run(part)) => parts.entry(number).or_default().push(part),
            (FieldForm::Optional | FieldForm::Plain, _, Wire::Run(part)) if field.kind.is_message() => {
                parts.entry(number).or_default().push(part)
            }
            (FieldForm::Repeated, Slots::List(_, items), Wire::Run(part)) if field.kind.is_message() => {
                message_value(&field.kind, items, part, budget)?;
            }
            (FieldForm::Repeated, Slots::List(_, items), value) => repeated(&field.kind, items, &value)?,
            (FieldForm::Optional | FieldForm::Plain, _, value) => {
                let was = child.len();
                if scalar(&field.kind, child, &value)? && was > rows {
                    replace_last(&field.kind, child, rows, &value)?;
                }
            }
            _ => {}
        }
    }
    for (number, field) in &step.fields {
        let child = children.get_mut(field.place).ok_or(Problem::Shape)?;
        close(field, child, rows, (parts.get(number).map_or(&[], Vec::as_slice), budget))?;
    }
    Ok(())
}

/// The last value of a field counts.
fn replace_last(kind: &FieldKind, child: &mut ValueColumn, rows: usize, value: &Wire<'_>) -> Read<()> {
    child.truncate(rows);
    scalar(kind, child, value)?;
    Ok(())
}

/// Ends the row of a child.
fn close(field: &ProtobufFieldStep, child: &mut ValueColumn, rows: usize, (parts, budget): (&[&[u8]], &mut Payload<'_>)) -> Read<()> {
    match (&field.form, &mut child.slots) {
        (FieldForm::Repeated, Slots::List(offsets, items)) => {
            end_row(offsets, items)?;
            child.note_valid();
        }
        (FieldForm::Map(key_kind, value_kind), Slots::Map(offsets, keys, values)) => {
            let mut places = HashMap::new();
            let mut entries: Vec<&[u8]> = Vec::new();
            for part in parts {
                // The last entry of a key counts.
                let place = *places.entry(key_of(part)?).or_insert(entries.len());
                match entries.get_mut(place) {
                    Some(entry) => *entry = part,
                    None => entries.push(part),
                }
            }
            for part in entries {
                entry((key_kind, keys), (value_kind, values), part, budget)?;
            }
            end_row(offsets, values)?;
            child.note_valid();
        }
        _ => {
            match parts {
                [] => {}
                [part] => message_value(&field.kind, child, part, budget)?,
                // The parts of a message that is there several times are one message.
                parts => message_value(&field.kind, child, &parts.concat(), budget)?,
            }
            if child.len() == rows {
                match field.form {
                    FieldForm::Plain => zero(&field.kind, child, budget)?,
                    _ => {
                        budget.spend(child.width())?;
                        child.push_null();
                    }
                }
            }
        }
    }
    Ok(())
}

/// The bytes of the key of an entry.
fn key_of(entry: &[u8]) -> Read<Cow<'_, [u8]>> {
    let mut payload = Payload::new(entry);
    let mut key = Cow::Borrowed(&[][..]);
    while payload.left() > 0 {
        if let (1, value) = next(&mut payload)? {
            key = match value {
                Wire::Run(run) => Cow::Borrowed(run),
                Wire::Varint(0) => Cow::Borrowed(&[][..]),
                Wire::Varint(number) => Cow::Owned(number.to_le_bytes().to_vec()),
                Wire::Fixed32(bytes) => Cow::Owned(bytes.to_vec()),
                Wire::Fixed64(bytes) => Cow::Owned(bytes.to_vec()),
            };
        }
    }
    Ok(key)
}

type MapSide<'s> = (&'s FieldKind, &'s mut ValueColumn);

fn entry((key_kind, keys): MapSide<'_>, (value_kind, values): MapSide<'_>, bytes: &[u8], budget: &mut Payload<'_>) -> Read<()> {
    let rows = values.len();
    let mut payload = Payload::new(bytes);
    let mut part: Option<&[u8]> = None;
    while payload.left() > 0 {
        match next(&mut payload)? {
            (1, value) => {
                keys.truncate(rows);
                scalar(key_kind, keys, &value)?;
            }
            (2, Wire::Run(run)) if value_kind.is_message() => part = Some(run),
            (2, value) => {
                values.truncate(rows);
                scalar(value_kind, values, &value)?;
            }
            _ => {}
        }
    }
    if keys.len() == rows {
        zero(key_kind, keys, budget)?;
    }
    if value_kind.is_message() {
        message_value(value_kind, values, part.unwrap_or_default(), budget)?;
    } else if values.len() == rows {
        zero(value_kind, values, budget)?;
    }
    Ok(())
}

/// Values of a repeated field, one or many.
fn repeated(kind: &FieldKind, items: &mut ValueColumn, value: &Wire<'_>) -> Read<()> {
    let Wire::Run(run) = value else { return scalar(kind, items, value).map(drop) };
    if matches!(kind, FieldKind::Text | FieldKind::Bytes) {
        return scalar(kind, items, value).map(drop);
    }
    let mut payload = Payload::new(run);
    while payload.left() > 0 {
        let value = match kind {
            FieldKind::Double | FieldKind::Fixed64 | FieldKind::SFixed64 => Wire::Fixed64(payload.array()?),
            FieldKind::Float | FieldKind::Fixed32 | FieldKind::SFixed32 => Wire::Fixed32(payload.array()?),
            _ => Wire::Varint(payload.varint()?),
        };
        scalar(kind, items, &value)?;
    }
    Ok(())
}

/// Appends a value; false for one of another wire type, which counts as an unknown field.
fn scalar(kind: &FieldKind, column: &mut ValueColumn, value: &Wire<'_>) -> Read<bool> {
    match (kind, value, &mut column.slots) {
        (FieldKind::Int, Wire::Varint(number), Slots::I32(values)) => values.push(low(*number).cast_signed()),
        (FieldKind::Long, Wire::Varint(number), Slots::I64(values)) => values.push(number.cast_signed()),
        (FieldKind::UInt, Wire::Varint(number), Slots::U32(values)) => values.push(low(*number)),
        (FieldKind::ULong, Wire::Varint(number), Slots::U64(values)) => values.push(*number),
        (FieldKind::SInt, Wire::Varint(number), Slots::I32(values)) => {
            let number = low(*number);
            values.push((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
        }
        (FieldKind::SLong, Wire::Varint(number), Slots::I64(values)) => {
            values.push((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
        }
        (FieldKind::Bool, Wire::Varint(number), Slots::Boolean(bits)) => bits.append(*number != 0),
        (FieldKind::Fixed32, Wire::Fixed32(bytes), Slots::U32(values)) => values.push(u32::from_le_bytes(*bytes)),
        (FieldKind::SFixed32, Wire::Fixed32(bytes), Slots::I32(values)) => values.push(i32::from_le_bytes(*bytes)),
        (FieldKind::Float, Wire::Fixed32(bytes), Slots::F32(values)) => values.push(f32::from_le_bytes(*bytes)),
        (FieldKind::Fixed64, Wire::Fixed64(bytes), Slots::U64(values)) => values.push(u64::from_le_bytes(*bytes)),
        (FieldKind::SFixed64, Wire::Fixed64(bytes), Slots::I64(values)) => values.push(i64::from_le_bytes(*bytes)),
        (FieldKind::Double, Wire::Fixed64(bytes), Slots::F64(values)) => values.push(f64::from_le_bytes(*bytes)),
        (FieldKind::Text, Wire::Run(run), Slots::Runs(runs)) => {
            std::str::from_utf8(run).map_err(|_| Problem::Utf8)?;
            runs.push(run)?;
        }
        (FieldKind::Bytes, Wire::Run(run), Slots::Runs(runs)) => runs.push(run)?,
        (FieldKind::Enum(names, is_closed), Wire::Varint(number), Slots::Runs(runs)) => {
            let number = low(*number).cast_signed();
            match names.get(&number) {
                Some(name) => runs.push(name.as_bytes())?,
                None if *is_closed => return Ok(false),
                None => runs.push(number.to_string().as_bytes())?,
            }
        }
        _ => return Ok(false),
    }
    column.note_valid();
    Ok(true)
}

/// Appends the value of a field that is not there.
fn zero(kind: &FieldKind, column: &mut ValueColumn, budget: &mut Payload<'_>) -> Read<()> {
    let value = match kind {
        FieldKind::Double | FieldKind::Fixed64 | FieldKind::SFixed64 => Wire::Fixed64([0; 8]),
        FieldKind::Float | FieldKind::Fixed32 | FieldKind::SFixed32 => Wire::Fixed32([0; 4]),
        FieldKind::Text | FieldKind::Bytes => Wire::Run(&[]),
        FieldKind::Message(_) | FieldKind::Timestamp | FieldKind::Wrapper(_) | FieldKind::Json(_) => {
            return message_value(kind, column, &[], budget);
        }
        _ => Wire::Varint(0),
    };
    if scalar(kind, column, &value)? { Ok(()) } else { Err(bad("an enum without a value for 0")) }
}

fn timestamp(bytes: &[u8]) -> Read<i64> {
    let mut payload = Payload::new(bytes);
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    while payload.left() > 0 {
        match next(&mut payload)? {
            (1, Wire::Varint(number)) => seconds = number.cast_signed(),
            (2, Wire::Varint(number)) => nanos = low(number).cast_signed(),
            _ => {}
        }
    }
    let total = seconds.checked_mul(1_000_000_000).and_then(|total| total.checked_add(nanos.into()));
    total.ok_or_else(|| bad("a time that nanoseconds of 64 bits do not hold"))
}

/// The lower half of a number, which is all that counts of 32-bit fields.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the upper half does not count")]
fn low(number: u64) -> u32 {
    number as u32
}

fn bad(what: &str) -> Box<Problem> {
    Box::new(Problem::Text(what.to_owned()))
}

fn too_deep() -> Box<Problem> {
    Box::new(Problem::Limit { limit: "max_value_depth", allowed: 100 })
}
