//! JSON as the bytes that a writer would write: the default of a field, and the text of a column of recursive values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::put;
use super::schema::{AvroField, AvroKind, AvroSchema, Logical, NodeId};
use crate::values::misfit::{Misfit, WriteResult, misfit};
use crate::values::payload::MOST_DEPTH;

/// Encodes a default.
///
/// # Errors
/// What does not fit its type.
pub fn encoded(schema: &AvroSchema, id: NodeId, value: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let encoder = DefaultEncoder { schema, form: DefaultForm::Default };
    encoder.encode(id, value, &mut out, 0).map_err(|misfit| misfit.to_string())?;
    Ok(out)
}

/// Encodes the JSON text that a column has for a value: the way back of `json::write`.
///
/// # Errors
/// What does not fit its type.
pub fn encode_text(schema: &AvroSchema, id: NodeId, text: &[u8], out: &mut Vec<u8>) -> WriteResult {
    let value = serde_json::from_slice(text).map_err(|error| misfit(format!("not JSON: {error}")))?;
    DefaultEncoder { schema, form: DefaultForm::Column }.encode(id, &value, out, 0)
}

/// How bytes are text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DefaultForm {
    /// Each character is one byte.
    Default,
    /// Base64, decimal numbers, UUIDs.
    Column,
}

struct DefaultEncoder<'s> {
    schema: &'s AvroSchema,
    form: DefaultForm,
}

impl DefaultEncoder<'_> {
    fn encode(&self, id: NodeId, value: &Value, out: &mut Vec<u8>, depth: usize) -> WriteResult {
        if depth > MOST_DEPTH {
            return Err(misfit(format!("deeper than {MOST_DEPTH} levels")));
        }
        let node = self.schema.node(id);
        let unfit = || misfit(format!("{value} is not a {}", node.type_name()));
        match (&node.kind, value) {
            (AvroKind::Null, Value::Null) => {}
            (AvroKind::Boolean, Value::Bool(is_true)) => out.push(u8::from(*is_true)),
            (AvroKind::Int, Value::Number(number)) => {
                put::long(out, number.as_i64().filter(|n| i32::try_from(*n).is_ok()).ok_or_else(unfit)?);
            }
            (AvroKind::Long, Value::Number(number)) => put::long(out, number.as_i64().ok_or_else(unfit)?),
            (AvroKind::Float, _) => out.extend_from_slice(&to_float(float(value).ok_or_else(unfit)?).to_le_bytes()),
            (AvroKind::Double, _) => out.extend_from_slice(&float(value).ok_or_else(unfit)?.to_le_bytes()),
            (AvroKind::String, Value::String(text)) => put::run(out, text.as_bytes())?,
            (AvroKind::Bytes | AvroKind::Fixed(_), Value::String(text)) => self.bytes(id, text, out)?,
            (AvroKind::Enum(symbols), Value::String(text)) => {
                put::count(out, symbols.names.iter().position(|symbol| **symbol == **text).ok_or_else(unfit)?)?;
            }
            (AvroKind::Array(items), Value::Array(values)) => {
                put::block(out, values.len(), |out| values.iter().try_for_each(|value| self.encode(*items, value, out, depth + 1)))?
            }
            (AvroKind::Map(items), Value::Object(values)) => put::block(out, values.len(), |out| {
                values.iter().try_for_each(|(key, value)| {
                    put::run(out, key.as_bytes())?;
                    self.encode(*items, value, out, depth + 1)
                })
            })?,
            (AvroKind::Record(fields), Value::Object(values)) => {
                for field in fields {
                    let value = member(field, values.get(&*field.name)).ok_or_else(unfit)?;
                    self.encode(field.node, value, out, depth + 1).map_err(|misfit| misfit.inside(&field.name))?;
                }
            }
            (AvroKind::Union(branches), _) => self.union(branches, value, out, depth)?,
            _ => return Err(unfit()),
        }
        Ok(())
    }

    /// The first branch that the value fits: the first of all, as long as the specification had it so.
    fn union(&self, branches: &[NodeId], value: &Value, out: &mut Vec<u8>, depth: usize) -> WriteResult {
        let start = out.len();
        for (number, branch) in branches.iter().enumerate() {
            put::count(out, number)?;
            if self.encode(*branch, value, out, depth + 1).is_ok() {
                return Ok(());
            }
            out.truncate(start);
        }
        Err(misfit(format!("{value} does not fit a branch of the union")))
    }

    fn bytes(&self, id: NodeId, text: &str, out: &mut Vec<u8>) -> WriteResult {
        let node = self.schema.node(id);
        let unfit = || -> Box<Misfit> { misfit(format!("{text:?} is not a {}", node.type_name())) };
        let size = if let AvroKind::Fixed(size) = node.kind { Some(size) } else { None };
        let bytes = match (self.form, node.logical) {
            (DefaultForm::Default, _) => text.chars().map(|char| u8::try_from(u32::from(char)).ok()).collect::<Option<Vec<u8>>>(),
            (DefaultForm::Column, Some(Logical::Decimal { precision, scale })) => {
                return put::decimal(out, &put::decimal_of(text, precision, scale).ok_or_else(unfit)?, size);
            }
            (DefaultForm::Column, Some(Logical::Uuid)) => put::uuid(text).map(|bytes| bytes.to_vec()),
            (DefaultForm::Column, _) => STANDARD.decode(text).ok(),
        };
        let bytes = bytes.filter(|bytes| size.is_none_or(|size| bytes.len() == size)).ok_or_else(unfit)?;
        if size.is_none() {
            return put::run(out, &bytes);
        }
        out.extend_from_slice(&bytes);
        Ok(())
    }
}

fn member<'v>(field: &'v AvroField, value: Option<&'v Value>) -> Option<&'v Value> {
    value.or(field.default.as_ref())
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
