//! Values that no column holds: skipped, or written as JSON text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::schema::{AvroKind, AvroNode, AvroSchema, Logical, NodeId};
use crate::values::payload::{MOST_DEPTH, Payload, Problem, Read};

const TOO_DEEP: Problem = Problem::Limit { limit: "max_value_depth", allowed: 100 };

/// Skips a value.
///
/// # Errors
/// What is wrong with it.
pub fn skip(schema: &AvroSchema, id: NodeId, payload: &mut Payload<'_>, depth: usize) -> Read<()> {
    if depth > MOST_DEPTH {
        return Err(TOO_DEEP.into());
    }
    match &schema.node(id).kind {
        AvroKind::Null => {}
        AvroKind::Boolean => {
            payload.byte()?;
        }
        AvroKind::Int | AvroKind::Long | AvroKind::Enum(_) => {
            payload.long()?;
        }
        AvroKind::Float => {
            payload.take(4)?;
        }
        AvroKind::Double => {
            payload.take(8)?;
        }
        AvroKind::Bytes | AvroKind::String => {
            payload.run()?;
        }
        AvroKind::Fixed(size) => {
            payload.take(*size)?;
        }
        AvroKind::Array(items) => {
            let least = schema.least_len(*items);
            each(payload, least, |payload, _| skip(schema, *items, payload, depth + 1))?;
        }
        AvroKind::Map(values) => {
            let least = schema.least_len(*values).saturating_add(1);
            each(payload, least, |payload, _| {
                payload.run()?;
                skip(schema, *values, payload, depth + 1)
            })?;
        }
        AvroKind::Union(branches) => skip(schema, branch(branches, payload)?, payload, depth + 1)?,
        AvroKind::Record(fields) => {
            for field in fields {
                skip(schema, field.node, payload, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// Writes a value as JSON text: unions as their values, bytes in base64, decimals as text, times as the numbers that are stored.
///
/// # Errors
/// What is wrong with it.
pub fn write(schema: &AvroSchema, id: NodeId, payload: &mut Payload<'_>, out: &mut Vec<u8>, depth: usize) -> Read<()> {
    if depth > MOST_DEPTH {
        return Err(TOO_DEEP.into());
    }
    let node = schema.node(id);
    match &node.kind {
        AvroKind::Null => out.extend_from_slice(b"null"),
        AvroKind::Boolean => match payload.byte()? {
            0 => out.extend_from_slice(b"false"),
            1 => out.extend_from_slice(b"true"),
            byte => return Err(Box::new(Problem::Boolean(byte))),
        },
        AvroKind::Int => out.extend_from_slice(payload.int()?.to_string().as_bytes()),
        AvroKind::Long => out.extend_from_slice(payload.long()?.to_string().as_bytes()),
        AvroKind::Float => number(f32::from_le_bytes(payload.array()?).into(), out),
        AvroKind::Double => number(f64::from_le_bytes(payload.array()?), out),
        AvroKind::Bytes | AvroKind::String | AvroKind::Fixed(_) | AvroKind::Enum(_) => run(node, payload, out)?,
        AvroKind::Array(items) => {
            out.push(b'[');
            each(payload, schema.least_len(*items), |payload, index| {
                comma(out, index);
                write(schema, *items, payload, out, depth + 1)
            })?;
            out.push(b']');
        }
        AvroKind::Map(values) => {
            out.push(b'{');
            each(payload, schema.least_len(*values).saturating_add(1), |payload, index| {
                comma(out, index);
                string(text(payload.run()?)?, out);
                out.push(b':');
                write(schema, *values, payload, out, depth + 1)
            })?;
            out.push(b'}');
        }
        AvroKind::Union(branches) => write(schema, branch(branches, payload)?, payload, out, depth + 1)?,
        AvroKind::Record(fields) => {
            out.push(b'{');
            for (index, field) in fields.iter().enumerate() {
                comma(out, index);
                payload.spend(field.name.len() / 8 + 1)?;
                string(&field.name, out);
                out.push(b':');
                write(schema, field.node, payload, out, depth + 1)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

fn run(node: &AvroNode, payload: &mut Payload<'_>, out: &mut Vec<u8>) -> Read<()> {
    let bytes = match &node.kind {
        AvroKind::Enum(symbols) => {
            let symbol = i64::from(payload.int()?);
            let name = usize::try_from(symbol).ok().and_then(|symbol| symbols.names.get(symbol));
            let name = name.ok_or(Problem::Symbol { symbol, symbols: symbols.names.len() })?;
            payload.spend(name.len() / 8)?;
            string(name, out);
            return Ok(());
        }
        AvroKind::Fixed(size) => payload.take(*size)?,
        _ => payload.run()?,
    };
    match (node.logical, &node.kind) {
        (Some(Logical::Decimal { scale, .. }), _) => {
            payload.spend(bytes.len())?;
            string(&decimal_text(bytes, scale)?, out);
        }
        (Some(Logical::Uuid), AvroKind::Fixed(_)) => string(&uuid_text(bytes.try_into().unwrap_or_default()), out),
        (_, AvroKind::String) => string(text(bytes)?, out),
        _ => string(&STANDARD.encode(bytes), out),
    }
    Ok(())
}

fn each(payload: &mut Payload<'_>, least: usize, mut item: impl FnMut(&mut Payload<'_>, usize) -> Read<()>) -> Read<()> {
    let mut index = 0;
    loop {
        let count = payload.block(least)?;
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            item(payload, index)?;
            index += 1;
        }
    }
}

fn branch(branches: &[NodeId], payload: &mut Payload<'_>) -> Read<NodeId> {
    let branch = payload.long()?;
    let found = usize::try_from(branch).ok().and_then(|branch| branches.get(branch));
    found.copied().ok_or_else(|| Problem::Branch { branch, branches: branches.len() }.into())
}

fn text(bytes: &[u8]) -> Read<&str> {
    std::str::from_utf8(bytes).map_err(|_| Problem::Utf8.into())
}

fn comma(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    // Text can always be written to memory.
    let _ = serde_json::to_writer(out, text);
}

/// JSON has no infinity and no NaN: they are strings.
fn number(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        let _ = serde_json::to_writer(out, &number);
    } else if number.is_nan() {
        string("NaN", out);
    } else {
        string(if number > 0.0 { "Infinity" } else { "-Infinity" }, out);
    }
}

/// The text of a UUID.
pub(super) fn uuid_text(bytes: [u8; 16]) -> String {
    let number = u128::from_be_bytes(bytes);
    let part = |shift: u32, digits: u32| (number >> shift) & ((1_u128 << (4 * digits)) - 1);
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12))
}

/// A two's complement of any length as decimal text. It costs the square of its length, so that long ones are refused.
pub(super) fn decimal_text(bytes: &[u8], scale: usize) -> Read<String> {
    const MOST_BYTES: usize = 256;
    if bytes.len() > MOST_BYTES || scale > MOST_BYTES * 3 {
        return Err(Box::new(Problem::Limit { limit: "bytes of a decimal", allowed: 256 }));
    }
    let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let mut magnitude = bytes.to_vec();
    if is_negative {
        let mut carry = true;
        for byte in magnitude.iter_mut().rev() {
            let (negated, overflows) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (negated, carry && overflows);
        }
    }
    let mut digits = Vec::new();
    while magnitude.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u16;
        for byte in &mut magnitude {
            let part = rest * 256 + u16::from(*byte);
            (*byte, rest) = (u8::try_from(part / 10).unwrap_or_default(), part % 10);
        }
        digits.push(b'0' + u8::try_from(rest).unwrap_or_default());
    }
    digits.resize(digits.len().max(scale + 1), b'0');
    let mut text = String::with_capacity(digits.len() + 2);
    if is_negative {
        text.push('-');
    }
    for (index, digit) in digits.iter().enumerate().rev() {
        text.push(char::from(*digit));
        if index == scale && scale > 0 {
            text.push('.');
        }
    }
    Ok(text)
}
