//! Which of the messages of its schema a value is: message indexes, the `Ref` of Apicurio, the name of a type.
//!
//! Source: `MessageIndexes` in Confluent's schema registry; `ProtobufSerializer`, `ProtobufKafkaSerializer` and `ref.proto` in Apicurio Registry.

use super::schema::{MOST_OPEN, ProtoSchema};
use crate::values::framed::{Framed, MessageName};
use crate::values::framing::Framing;
use crate::values::payload::{Payload, Problem, Read};

/// The path of the message that a value is, and its bytes.
///
/// # Errors
/// `Text` for a name that cannot be.
pub fn message_of<'a>(framed: &Framed<'a>, framing: Framing, schema: &ProtoSchema) -> Read<(Vec<i32>, &'a [u8])> {
    let bytes = framed.payload;
    match framed.message {
        MessageName::Indexes([]) => Ok((vec![0], bytes)),
        MessageName::Indexes(indexes) => {
            let mut indexes = Payload::new(indexes);
            let path = index_path(&mut indexes)?;
            indexes.finish()?;
            Ok((path, bytes))
        }
        MessageName::Type(name) => {
            let name = str::from_utf8(name).map_err(|_| Problem::Utf8)?;
            let path = schema.path_of_short(name).ok_or_else(|| Problem::Text(format!("the schema has no message {name:?}")))?;
            // Apicurio's serializers have the name in both places from 3.0 on.
            let message = ref_of(bytes).filter(|(inner, _)| *inner == name).map_or(bytes, |(_, message)| message);
            Ok((path.to_vec(), message))
        }
        MessageName::First => Ok((vec![0], bytes)),
        MessageName::Ordinal => {
            let mut payload = Payload::new(bytes);
            let number = payload.varint()?;
            let path = schema.path_of_ordinal(number).ok_or_else(|| Problem::Text(format!("the schema has no message number {number}")))?;
            Ok((path.to_vec(), payload.take(payload.left())?))
        }
        MessageName::InPayload if framed.is_confluent => {
            let indexed = indexed(bytes);
            let is_message = |path: &[i32]| path == [0] || schema.message(path).is_some();
            match &indexed {
                Ok((path, _)) if framing != Framing::Auto || is_message(path) => indexed,
                _ if framing == Framing::Auto => referred(bytes, schema).map_or(indexed, Ok),
                _ => indexed,
            }
        }
        MessageName::InPayload => Ok(referred(bytes, schema).unwrap_or((vec![0], bytes))),
    }
}

/// The path and the bytes of a message after its message indexes.
fn indexed(bytes: &[u8]) -> Read<(Vec<i32>, &[u8])> {
    let mut payload = Payload::new(bytes);
    let path = index_path(&mut payload)?;
    Ok((path, payload.take(payload.left())?))
}

/// The path and the bytes of a message after a `Ref` that names one of the schema.
fn referred<'a>(bytes: &'a [u8], schema: &ProtoSchema) -> Option<(Vec<i32>, &'a [u8])> {
    let (name, message) = ref_of(bytes)?;
    Some((schema.path_of_short(name)?.to_vec(), message))
}

/// The name in a `Ref`, a message with the name of a type as its field 1 and the length of the `Ref` before it, and what follows it.
fn ref_of(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let mut rest = Payload::new(bytes);
    let mut found = Payload::new(run(&mut rest)?);
    let tag = found.byte().ok()?;
    let name = run(&mut found)?;
    found.finish().ok()?;
    let message = rest.take(rest.left()).ok()?;
    (tag == REF_NAME).then_some((str::from_utf8(name).ok()?, message))
}

/// Bytes after their length.
fn run<'a>(payload: &mut Payload<'a>) -> Option<&'a [u8]> {
    let len = usize::try_from(payload.varint().ok()?).ok()?;
    payload.take(len).ok()
}

/// The tag of the field `name` of a `Ref`.
pub(super) const REF_NAME: u8 = 0x0a;

/// Reads the message indexes of Confluent's framing: their number, then each; 0 is the first message.
///
/// # Errors
/// `Text` for numbers that cannot be.
fn index_path(payload: &mut Payload<'_>) -> Read<Vec<i32>> {
    let count = payload.long()?;
    if count == 0 {
        return Ok(vec![0]);
    }
    let bad = || Box::new(Problem::Text(format!("{count} message indexes")));
    let count = usize::try_from(count).ok().filter(|count| *count <= MOST_OPEN && *count <= payload.left()).ok_or_else(bad)?;
    (0..count).map(|_| payload.int()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::framing::{HeaderKind, SchemaHeader};

    const TEXT: &str = "syntax = \"proto3\"; message A { int32 n = 1; } message Thing { message Ab { int32 z = 1; } int32 n = 1; }";

    fn found(value: &[u8], framing: Framing, header: Option<SchemaHeader<'_>>) -> Option<(Vec<i32>, Vec<u8>)> {
        let schema = ProtoSchema::parse(TEXT, &[]).expect("a schema");
        let framed = framing.parse(value, header, |_| true).expect("a framing");
        message_of(&framed, framing, &schema).ok().map(|(path, message)| (path, message.to_vec()))
    }

    #[test]
    fn a_ref_of_apicurio_is_told_from_message_indexes() {
        let value = b"\0\0\0\0\x05\x07\n\x05Thing\x08\x05";
        for framing in [Framing::Auto, Framing::Apicurio] {
            assert_eq!(found(value, framing, None), Some((vec![1], b"\x08\x05".to_vec())));
        }
        assert_eq!(found(value, Framing::Confluent, None), None, "-4 message indexes");
        let inner = b"\0\0\0\0\x05\x04\n\x02Ab\x08\x05";
        assert_eq!(found(inner, Framing::Auto, None), Some((vec![1, 0], b"\x08\x05".to_vec())), "no message has the indexes 5 and 1");
        let indexed = b"\0\0\0\0\x05\x04\x02\0\x08\x05";
        assert_eq!(found(indexed, Framing::Auto, None), Some((vec![1, 0], b"\x08\x05".to_vec())));
    }

    #[test]
    fn a_ref_is_whole_and_names_a_message_of_the_schema() {
        for bytes in
            [&b"\x07\n\x05Thong"[..], b"\x07\n\x04Thin\0", b"\x08\n\x05Thing", b"\x07\x12\x05Thing", b"\x03\n\x02Ab", b"\x07\n\x05Thin"]
        {
            let value = [b"\0\0\0\0\x05", bytes].concat();
            assert_eq!(found(&value, Framing::Apicurio, None), Some((vec![0], bytes.to_vec())), "{bytes:?}");
        }
    }

    #[test]
    fn a_header_has_the_name_that_may_be_before_the_message_too() {
        let header = |name| Some(SchemaHeader { kind: HeaderKind::GlobalId, value: &[0, 0, 0, 0, 0, 0, 0, 5], message_type: Some(name) });
        assert_eq!(found(b"\x08\x05", Framing::Auto, header(b"Thing")), Some((vec![1], b"\x08\x05".to_vec())));
        assert_eq!(found(b"\x07\n\x05Thing\x08\x05", Framing::Auto, header(b"Thing")), Some((vec![1], b"\x08\x05".to_vec())));
        assert_eq!(found(b"\x03\n\x01A", Framing::Auto, header(b"Thing")), Some((vec![1], b"\x03\n\x01A".to_vec())), "another name");
        assert_eq!(found(b"\x08\x05", Framing::Auto, header(b"Other")), None);
    }
}
