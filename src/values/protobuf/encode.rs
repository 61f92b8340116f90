//! Items of Arrow columns into messages: the way back of `decode`. prost-reflect writes the wire format.

use arrow_schema::TimeUnit;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::prost::Message;
use prost_reflect::prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor, Value};
use serde_json::Value as Json;

use super::message_name::REF_NAME;
use super::step::is_wrapper;
use crate::values::cells::{Cells, Item, Members};
use crate::values::misfit::{Misfit, WriteResult, misfit};

type Made<T> = Result<T, Box<Misfit>>;

/// Writes an item as a message.
///
/// # Errors
/// What does not fit the message.
pub fn write(descriptor: &MessageDescriptor, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    out.append(&mut message(descriptor, item)?);
    Ok(())
}

/// Writes the message indexes of Confluent's framing.
pub fn write_index(path: &[i32], out: &mut Vec<u8>) {
    if path == [0] {
        out.push(0);
        return;
    }
    let count = i32::try_from(path.len()).unwrap_or(i32::MAX);
    for number in std::iter::once(&count).chain(path) {
        // A zigzag varint, as Avro writes an int.
        let mut left = ((number << 1) ^ (number >> 31)).cast_unsigned();
        while left >= 0x80 {
            out.push(u8::try_from(left & 0x7f).unwrap_or_default() | 0x80);
            left >>= 7;
        }
        out.push(u8::try_from(left).unwrap_or_default());
    }
}

/// Writes the name of a message as Apicurio's serializers do.
pub fn write_ref(name: &str, out: &mut Vec<u8>) {
    let mut found = vec![REF_NAME];
    encode_varint(name.len().try_into().unwrap_or(u64::MAX), &mut found);
    found.extend_from_slice(name.as_bytes());
    encode_varint(found.len().try_into().unwrap_or(u64::MAX), out);
    out.extend_from_slice(&found);
}

/// A message that is being written: values of its own, then messages inside of it and entries of maps, in the order that they come in.
struct Builder {
    plain: DynamicMessage,
    nested: Vec<u8>,
}

impl Builder {
    fn new(descriptor: &MessageDescriptor) -> Self {
        Self { plain: DynamicMessage::new(descriptor.clone()), nested: Vec::new() }
    }

    fn set(&mut self, field: &FieldDescriptor, value: Value) -> WriteResult {
        // prost-reflect leaves out a negative zero as if it were the zero that a missing field means.
        match value {
            Value::F64(number) if number == 0.0 && number.is_sign_negative() && !field.supports_presence() => {
                encode_key(field.number(), WireType::SixtyFourBit, &mut self.nested);
                self.nested.extend_from_slice(&number.to_le_bytes());
                return Ok(());
            }
            Value::F32(number) if number == 0.0 && number.is_sign_negative() && !field.supports_presence() => {
                encode_key(field.number(), WireType::ThirtyTwoBit, &mut self.nested);
                self.nested.extend_from_slice(&number.to_le_bytes());
                return Ok(());
            }
            _ => {}
        }
        self.plain.try_set_field(field, value).map_err(|error| misfit(error.to_string()))
    }

    fn nest(&mut self, field: &FieldDescriptor, message: &[u8]) {
        if field.is_group() {
            encode_key(field.number(), WireType::StartGroup, &mut self.nested);
            self.nested.extend_from_slice(message);
            encode_key(field.number(), WireType::EndGroup, &mut self.nested);
        } else {
            encode_key(field.number(), WireType::LengthDelimited, &mut self.nested);
            encode_varint(u64::try_from(message.len()).unwrap_or(u64::MAX), &mut self.nested);
            self.nested.extend_from_slice(message);
        }
    }

    fn finish(mut self) -> Made<Vec<u8>> {
        let mut out = Vec::with_capacity(self.plain.encoded_len() + self.nested.len());
        self.plain.encode(&mut out).map_err(|error| misfit(error.to_string()))?;
        out.append(&mut self.nested);
        Ok(out)
    }
}

fn message(descriptor: &MessageDescriptor, item: &Item<'_>) -> Made<Vec<u8>> {
    let mut made = Builder::new(descriptor);
    match item {
        Item::Timestamp(number, unit, _) if descriptor.full_name() == "google.protobuf.Timestamp" => {
            let (seconds, nanos) = parts_of(*number, *unit);
            made.plain.set_field_by_number(1, Value::I64(seconds));
            made.plain.set_field_by_number(2, Value::I32(nanos));
        }
        Item::Struct(members) => fields(descriptor, members, &mut made)?,
        item if is_wrapper(descriptor.full_name()) => {
            if let Some(field) = descriptor.get_field(1) {
                made.set(&field, scalar(&field.kind(), item)?)?;
            }
        }
        Item::Text(text) => {
            let json = serde_json::from_slice(text).map_err(|error| misfit(format!("not JSON: {error}")))?;
            return json_message(descriptor, &json);
        }
        item => return Err(misfit(format!("{} is not the message {}", item.name(), descriptor.full_name()))),
    }
    made.finish()
}

fn parts_of(number: i64, unit: TimeUnit) -> (i64, i32) {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let nanos = number.rem_euclid(per_second) * (1_000_000_000 / per_second);
    (number.div_euclid(per_second), i32::try_from(nanos).unwrap_or_default())
}

fn fields(descriptor: &MessageDescriptor, members: &Members<'_>, made: &mut Builder) -> WriteResult {
    let mut set: Vec<OneofDescriptor> = Vec::new();
    for (name, item) in members.iter() {
        let field = descriptor.get_field_by_name(name);
        let field = field.ok_or_else(|| misfit(format!("message {} has no field {name:?}", descriptor.full_name())))?;
        if matches!(item, Item::Null) {
            continue;
        }
        if let Some(oneof) = field.containing_oneof() {
            if set.contains(&oneof) {
                return Err(misfit(format!("two fields of the oneof {:?} have a value", oneof.name())));
            }
            set.push(oneof);
        }
        put(&field, &item, made).map_err(|misfit| misfit.inside(name))?;
    }
    Ok(())
}

fn put(field: &FieldDescriptor, item: &Item<'_>, made: &mut Builder) -> WriteResult {
    match (field.kind(), item) {
        (Kind::Message(entry), Item::Map(pair, range)) if field.is_map() => {
            let [keys, values] = *pair;
            range.clone().try_for_each(|row| put_entry((field, &entry), &keys.item(row), &values.item(row), made))
        }
        (Kind::Message(entry), Item::List(pairs, range)) if field.is_map() => range.clone().try_for_each(|row| {
            let (key, value) = pair_of(pairs, row)?;
            put_entry((field, &entry), &key, &value, made)
        }),
        (Kind::Message(inner), Item::List(cells, range)) if field.is_list() => range.clone().try_for_each(|row| {
            made.nest(field, &message(&inner, &cells.item(row))?);
            Ok(())
        }),
        (kind, Item::List(cells, range)) if field.is_list() => {
            let items = range.clone().map(|row| scalar(&kind, &cells.item(row))).collect::<Made<_>>()?;
            made.set(field, Value::List(items))
        }
        _ if field.is_map() => Err(misfit(format!("{} is not a map", item.name()))),
        _ if field.is_list() => Err(misfit(format!("{} is not a list", item.name()))),
        (Kind::Message(inner), item) => {
            made.nest(field, &message(&inner, item)?);
            Ok(())
        }
        (kind, item) => made.set(field, scalar(&kind, item)?),
    }
}

fn put_entry((field, entry): (&FieldDescriptor, &MessageDescriptor), key: &Item<'_>, value: &Item<'_>, made: &mut Builder) -> WriteResult {
    let mut pair = Builder::new(entry);
    put(&entry.map_entry_key_field(), key, &mut pair)?;
    put(&entry.map_entry_value_field(), value, &mut pair)?;
    made.nest(field, &pair.finish()?);
    Ok(())
}

/// A key and its value, where a map is a list of structs.
fn pair_of<'c>(pairs: &'c Cells<'c>, row: usize) -> Made<(Item<'c>, Item<'c>)> {
    let pair = match pairs.item(row) {
        Item::Struct(pair) => pair.get("key", 0).zip(pair.get("value", 1)),
        _ => None,
    };
    pair.ok_or_else(|| misfit("a map is needed, or a list of structs with the fields key and value"))
}

fn scalar(kind: &Kind, item: &Item<'_>) -> Made<Value> {
    let text = |bytes| std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| misfit("the text is not UTF-8"));
    let made = match (kind, item) {
        (Kind::Enum(names), Item::Text(name)) => Some(Value::EnumNumber(enum_number(names, &text(name)?)?)),
        (Kind::String, Item::Text(run) | Item::Bytes(run)) => Some(Value::String(text(run)?)),
        (Kind::Bytes, Item::Bytes(run) | Item::Text(run)) => Some(Value::Bytes(run.to_vec().into())),
        (Kind::Bool, Item::Boolean(is_true)) => Some(Value::Bool(*is_true)),
        (kind, Item::Whole(number)) => whole(kind, (*number).into()),
        (kind, Item::Unsigned(number)) => whole(kind, (*number).into()),
        (kind, Item::Real(number)) => real(kind, *number),
        _ => None,
    };
    made.ok_or_else(|| misfit(format!("{} does not fit the type {kind:?}", item.name())))
}

fn whole(kind: &Kind, number: i128) -> Option<Value> {
    Some(match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number.try_into().ok()?),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number.try_into().ok()?),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(number.try_into().ok()?),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(number.try_into().ok()?),
        Kind::Enum(_) => Value::EnumNumber(number.try_into().ok()?),
        kind => return real(kind, rounded(number)),
    })
}

#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounds to the nearest float")]
fn real(kind: &Kind, number: f64) -> Option<Value> {
    match kind {
        Kind::Double => Some(Value::F64(number)),
        Kind::Float => Some(Value::F32(number as f32)),
        _ => None,
    }
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to the nearest double")]
fn rounded(number: i128) -> f64 {
    number as f64
}

fn enum_number(names: &EnumDescriptor, name: &str) -> Made<i32> {
    let named = names.get_value_by_name(name).map(|value| value.number());
    // A number without a name is its digits.
    named.or_else(|| name.parse().ok()).ok_or_else(|| misfit(format!("{name:?} is not a name of the enum {}", names.full_name())))
}

/// The message of the JSON text that a column has for messages inside themselves: the way back of `json::write`.
fn json_message(descriptor: &MessageDescriptor, json: &Json) -> Made<Vec<u8>> {
    let mut made = Builder::new(descriptor);
    match (descriptor.full_name(), json) {
        ("google.protobuf.Value", json) => {
            let number = match json {
                Json::Null => 1,
                Json::Number(_) => 2,
                Json::String(_) => 3,
                Json::Bool(_) => 4,
                Json::Object(_) => 5,
                Json::Array(_) => 6,
            };
            put_json(descriptor.get_field(number), json, &mut made)?;
        }
        ("google.protobuf.Struct", Json::Object(_)) | ("google.protobuf.ListValue", Json::Array(_)) => {
            put_json(descriptor.get_field(1), json, &mut made)?;
        }
        (name, Json::Object(members)) => {
            for (member, json) in members.iter().filter(|(_, json)| !json.is_null()) {
                let field = descriptor.get_field_by_name(member);
                let field = field.ok_or_else(|| misfit(format!("message {name} has no field {member:?}")))?;
                put_json(Some(field), json, &mut made).map_err(|misfit| misfit.inside(member))?;
            }
        }
        (name, json) => return Err(misfit(format!("{json} is not the message {name}"))),
    }
    made.finish()
}

fn put_json(field: Option<FieldDescriptor>, json: &Json, made: &mut Builder) -> WriteResult {
    let Some(field) = field else { return Ok(()) };
    let unfit = || misfit(format!("{json} is not of the type of the field {}", field.name()));
    match (field.kind(), json) {
        (Kind::Message(entry), Json::Object(members)) if field.is_map() => members.iter().try_for_each(|(key, json)| {
            let mut pair = Builder::new(&entry);
            let keys = entry.map_entry_key_field();
            pair.set(&keys, key_of(&keys.kind(), key).ok_or_else(unfit)?)?;
            put_json(Some(entry.map_entry_value_field()), json, &mut pair)?;
            made.nest(&field, &pair.finish()?);
            Ok(())
        }),
        (Kind::Message(inner), Json::Array(items)) if field.is_list() => items.iter().try_for_each(|json| {
            made.nest(&field, &json_message(&inner, json)?);
            Ok(())
        }),
        (kind, Json::Array(items)) if field.is_list() => {
            let items = items.iter().map(|json| json_scalar(&kind, json).ok_or_else(unfit)).collect::<Made<_>>()?;
            made.set(&field, Value::List(items))
        }
        _ if field.is_map() || field.is_list() => Err(unfit()),
        (Kind::Message(inner), json) => {
            made.nest(&field, &json_message(&inner, json)?);
            Ok(())
        }
        (kind, json) => made.set(&field, json_scalar(&kind, json).ok_or_else(unfit)?),
    }
}

fn json_scalar(kind: &Kind, json: &Json) -> Option<Value> {
    match (kind, json) {
        (Kind::Enum(_), Json::Null) => Some(Value::EnumNumber(0)),
        (Kind::Enum(names), Json::String(name)) => enum_number(names, name).ok().map(Value::EnumNumber),
        (Kind::String, Json::String(text)) => Some(Value::String(text.clone())),
        (Kind::Bytes, Json::String(text)) => STANDARD.decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
        (Kind::Bool, Json::Bool(is_true)) => Some(Value::Bool(*is_true)),
        (kind @ (Kind::Double | Kind::Float), Json::String(text)) => match text.as_str() {
            "NaN" => real(kind, f64::NAN),
            "Infinity" => real(kind, f64::INFINITY),
            "-Infinity" => real(kind, f64::NEG_INFINITY),
            _ => None,
        },
        (kind @ (Kind::Double | Kind::Float), Json::Number(number)) => number.as_f64().and_then(|number| real(kind, number)),
        (kind, Json::Number(number)) => number.as_i128().and_then(|number| whole(kind, number)),
        _ => None,
    }
}

fn key_of(kind: &Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::String => Some(Value::String(text.to_owned())),
        Kind::Bool => text.parse().ok().map(Value::Bool),
        kind => whole(kind, text.parse().ok()?),
    }
}
