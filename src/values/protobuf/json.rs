//! Messages as JSON text: those that contain themselves, and google.protobuf.Struct.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value};
use serde_json::{Map, Value as Json, json};

use crate::values::payload::{Payload, Problem, Read};

/// Writes a message: names of the schema, enums by their names, bytes in base64, fields without presence with their zeros.
///
/// # Errors
/// What is wrong with it.
pub fn write(descriptor: &MessageDescriptor, bytes: &[u8], out: &mut Vec<u8>, budget: &mut Payload<'_>) -> Read<()> {
    // A tree takes more than the bytes do.
    budget.spend(bytes.len().saturating_mul(4))?;
    let decoded = DynamicMessage::decode(descriptor.clone(), bytes).map_err(|error| {
        let text = error.to_string();
        if text.contains("recursion") { Problem::Limit { limit: "max_value_depth", allowed: 100 } } else { Problem::Text(text) }
    })?;
    serde_json::to_writer(&mut *out, &message(&decoded, budget)?).map_err(|error| Problem::Text(error.to_string()).into())
}

fn message(found: &DynamicMessage, budget: &mut Payload<'_>) -> Read<Json> {
    let descriptor = found.descriptor();
    match descriptor.full_name() {
        "google.protobuf.Struct" | "google.protobuf.ListValue" => {
            return found.get_field_by_number(1).map_or(Ok(Json::Null), |inner| value(&inner, None, budget));
        }
        "google.protobuf.Value" => {
            let Some((field, inner)) = found.fields().next() else { return Ok(Json::Null) };
            return if field.number() == 1 { Ok(Json::Null) } else { value(inner, Some(&field), budget) };
        }
        _ => {}
    }
    let mut object = Map::new();
    for field in descriptor.fields() {
        budget.spend(field.name().len() / 8 + 2)?;
        let is_missing = field.supports_presence() && !found.has_field(&field);
        let json = if is_missing { Json::Null } else { value(&found.get_field(&field), Some(&field), budget)? };
        object.insert(field.name().to_owned(), json);
    }
    Ok(Json::Object(object))
}

fn value(found: &Value, field: Option<&FieldDescriptor>, budget: &mut Payload<'_>) -> Read<Json> {
    Ok(match found {
        Value::Bool(found) => json!(found),
        Value::I32(found) => json!(found),
        Value::I64(found) => json!(found),
        Value::U32(found) => json!(found),
        Value::U64(found) => json!(found),
        Value::F32(found) => real(f64::from(*found)),
        Value::F64(found) => real(*found),
        Value::String(found) => json!(found),
        Value::Bytes(found) => json!(STANDARD.encode(found)),
        Value::EnumNumber(number) => match field.map(FieldDescriptor::kind) {
            Some(Kind::Enum(names)) => {
                let first = names.enum_descriptor_proto().value.iter().find(|value| value.number() == *number);
                first.map_or(json!(number), |value| json!(value.name()))
            }
            _ => json!(number),
        },
        Value::Message(found) => message(found, budget)?,
        Value::List(items) => Json::Array(items.iter().map(|item| value(item, field, budget)).collect::<Read<_>>()?),
        Value::Map(entries) => {
            let values = field.map(FieldDescriptor::kind).and_then(|kind| kind.as_message().map(MessageDescriptor::map_entry_value_field));
            let pairs = entries.iter().map(|(key, found)| Ok((key_text(key), value(found, values.as_ref(), budget)?)));
            Json::Object(pairs.collect::<Read<_>>()?)
        }
    })
}

fn real(found: f64) -> Json {
    let name = if found.is_nan() {
        "NaN"
    } else if found > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    serde_json::Number::from_f64(found).map_or_else(|| json!(name), Json::Number)
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}
