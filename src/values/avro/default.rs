//! The default of a field, which is JSON, as the bytes that a writer would write.

use serde_json::Value;

use super::schema::{Field, Kind, NodeId, Schema};

type Encoded = Result<(), String>;

/// Most levels of a default.
const MOST_DEPTH: usize = 64;

/// Encodes a default.
///
/// # Errors
/// What does not fit its type.
pub fn encoded(schema: &Schema, id: NodeId, value: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    encode(schema, id, value, &mut out, 0)?;
    Ok(out)
}

fn encode(schema: &Schema, id: NodeId, value: &Value, out: &mut Vec<u8>, depth: usize) -> Encoded {
    if depth > MOST_DEPTH {
        return Err(format!("deeper than {MOST_DEPTH} levels"));
    }
    let node = schema.node(id);
    let unfit = || format!("{value} is not a {}", node.type_name());
    match (&node.kind, value) {
        (Kind::Null, Value::Null) => {}
        (Kind::Boolean, Value::Bool(is_true)) => out.push(u8::from(*is_true)),
        (Kind::Int, Value::Number(number)) => long(out, number.as_i64().filter(|n| i32::try_from(*n).is_ok()).ok_or_else(unfit)?),
        (Kind::Long, Value::Number(number)) => long(out, number.as_i64().ok_or_else(unfit)?),
        (Kind::Float, _) => out.extend_from_slice(&to_float(float(value).ok_or_else(unfit)?).to_le_bytes()),
        (Kind::Double, _) => out.extend_from_slice(&float(value).ok_or_else(unfit)?.to_le_bytes()),
        (Kind::String, Value::String(text)) => run(out, text.as_bytes())?,
        (Kind::Bytes, Value::String(text)) => run(out, &bytes_of(text).ok_or_else(unfit)?)?,
        (Kind::Fixed(size), Value::String(text)) => out.extend(bytes_of(text).filter(|bytes| bytes.len() == *size).ok_or_else(unfit)?),
        (Kind::Enum(symbols), Value::String(text)) => {
            let symbol = symbols.names.iter().position(|symbol| **symbol == **text).ok_or_else(unfit)?;
            long(out, count(symbol)?);
        }
        (Kind::Array(items), Value::Array(values)) => {
            block(out, values.len(), |out| values.iter().try_for_each(|value| encode(schema, *items, value, out, depth + 1)))?;
        }
        (Kind::Map(items), Value::Object(values)) => block(out, values.len(), |out| {
            values.iter().try_for_each(|(key, value)| {
                run(out, key.as_bytes())?;
                encode(schema, *items, value, out, depth + 1)
            })
        })?,
        (Kind::Record(fields), Value::Object(values)) => {
            for field in fields {
                let value = member(field, values.get(&*field.name)).ok_or_else(unfit)?;
                encode(schema, field.node, value, out, depth + 1)?;
            }
        }
        (Kind::Union(branches), _) => union(schema, branches, value, out, depth)?,
        _ => return Err(unfit()),
    }
    Ok(())
}

/// The first branch that the value fits: the first of all, as long as the specification had it so.
fn union(schema: &Schema, branches: &[NodeId], value: &Value, out: &mut Vec<u8>, depth: usize) -> Encoded {
    let start = out.len();
    for (number, branch) in branches.iter().enumerate() {
        long(out, count(number)?);
        if encode(schema, *branch, value, out, depth + 1).is_ok() {
            return Ok(());
        }
        out.truncate(start);
    }
    Err(format!("{value} does not fit a branch of the union"))
}

fn member<'v>(field: &'v Field, value: Option<&'v Value>) -> Option<&'v Value> {
    value.or(field.default.as_ref())
}

fn block(out: &mut Vec<u8>, len: usize, items: impl FnOnce(&mut Vec<u8>) -> Encoded) -> Encoded {
    if len > 0 {
        long(out, count(len)?);
        items(out)?;
    }
    out.push(0);
    Ok(())
}

fn run(out: &mut Vec<u8>, bytes: &[u8]) -> Encoded {
    long(out, count(bytes.len())?);
    out.extend_from_slice(bytes);
    Ok(())
}

fn count(number: usize) -> Result<i64, String> {
    i64::try_from(number).map_err(|_| "too long".to_owned())
}

fn long(out: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while left >= 0x80 {
        out.push(u8::try_from(left & 0x7f).unwrap_or_default() | 0x80);
        left >>= 7;
    }
    out.push(u8::try_from(left).unwrap_or_default());
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounds to the nearest float, as every reader does")]
pub(super) fn to_float(number: f64) -> f32 {
    number as f32
}

/// Each character of a default of bytes is one byte.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|char| u8::try_from(u32::from(char)).ok()).collect()
}
