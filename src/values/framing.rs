//! How a value names its schema: the bytes before the payload, or a record header.
//!
//! Source: `SchemaId` and `AbstractKafkaSchemaSerDe` in Confluent's schema registry; `OptimisticFallbackIdHandler`, `DefaultHeadersHandler` and
//! `ProtobufSerdeHeaders` in Apicurio Registry; "Single object encoding" in the specification of Avro 1.12;
//! `GlueSchemaRegistryDeserializerDataParser` in AWS's Glue Schema Registry.

use super::body::Body;
use super::container;
use super::framed::{Framed, MessageName, framed};
use super::payload::{Problem, Read};
use super::schema_name::SchemaName;

/// The forms that are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Any of them, detected value by value.
    #[default]
    Auto,
    /// No framing: the value is the payload.
    None,
    /// Byte 0 and an id of 4 bytes, byte 1 and a GUID, or either in a record header.
    Confluent,
    /// The same, where Protobuf has no message indexes.
    ConfluentNoIndex,
    /// Byte 0 and an id of 4 bytes, or of 8 where the first 4 are zero, or 8 bytes in a record header.
    Apicurio,
    /// The same, where ids before a payload are global ids.
    ApicurioGlobal,
    /// C3 01 and a fingerprint.
    SingleObject,
    /// Byte 1 and a GUID, or the same in a record header.
    Guid,
    /// Byte 3, a byte that names a compression, and a GUID.
    Glue,
    /// A container file of Avro, which has its schema.
    Container,
}

/// The names of the record headers that name a schema: Confluent's, then Apicurio's.
pub const VALUE_HEADERS: [&str; 3] = ["__value_schema_id", "apicurio.value.globalId", "apicurio.value.contentId"];
/// The same for keys.
pub const KEY_HEADERS: [&str; 3] = ["__key_schema_id", "apicurio.key.globalId", "apicurio.key.contentId"];
/// What each of them has.
pub const HEADER_KINDS: [HeaderKind; 3] = [HeaderKind::Confluent, HeaderKind::GlobalId, HeaderKind::ContentId];
/// The name of the record header with the type of a value of Protobuf.
pub const VALUE_TYPE_HEADER: &str = "apicurio.protobuf.type";
/// The same for keys.
pub const KEY_TYPE_HEADER: &str = "apicurio.protobuf.type.key";

impl Framing {
    /// All of them, with the names that callers use.
    pub const NAMES: [(&'static str, Self); 10] = [
        ("auto", Self::Auto),
        ("none", Self::None),
        ("confluent", Self::Confluent),
        ("confluent-no-index", Self::ConfluentNoIndex),
        ("apicurio", Self::Apicurio),
        ("apicurio-global", Self::ApicurioGlobal),
        ("single-object", Self::SingleObject),
        ("guid", Self::Guid),
        ("glue", Self::Glue),
        ("container", Self::Container),
    ];

    /// The name that callers use.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, framing)| *framing == self).map_or("auto", |(name, _)| name)
    }

    /// True if a record header may name the schema.
    pub fn looks_at_headers(self) -> bool {
        !matches!(self, Self::None | Self::SingleObject | Self::Glue | Self::Container)
    }

    /// What is before the payload of each value of a schema. `fingerprint` is that of a schema of Avro.
    ///
    /// # Errors
    /// Why the framing cannot name the schema.
    pub fn prefix(self, id: Option<i64>, fingerprint: Option<[u8; 8]>) -> Result<Vec<u8>, String> {
        let named = || id.ok_or_else(|| "the schema has no id".to_owned());
        Ok(match self {
            Self::None => Vec::new(),
            Self::Auto | Self::Confluent | Self::ConfluentNoIndex => {
                let id = i32::try_from(named()?).map_err(|_| "the id of the schema has more than 32 bits".to_owned())?;
                [&[0], id.to_be_bytes().as_slice()].concat()
            }
            Self::Apicurio => [&[0], named()?.to_be_bytes().as_slice()].concat(),
            Self::ApicurioGlobal => return Err("values are not written with global ids; use \"apicurio\"".to_owned()),
            Self::SingleObject => {
                let fingerprint = fingerprint.ok_or("only Avro has single objects")?;
                [&[0xc3, 1], fingerprint.as_slice()].concat()
            }
            Self::Guid | Self::Glue | Self::Container => {
                return Err(format!("values are not written with the framing {:?}; use \"confluent\"", self.name()));
            }
        })
    }

    /// Takes a value apart.
    ///
    /// # Errors
    /// `Framing` for a value without the framing.
    pub fn parse<'a>(self, value: &'a [u8], header: Option<SchemaHeader<'a>>, knows: impl Fn(SchemaName) -> bool) -> Read<Framed<'a>> {
        if self == Self::None {
            return Ok(framed(SchemaName::Unnamed, value));
        }
        if let Some(header) = header.filter(|_| self.looks_at_headers()) {
            return header.parse(value);
        }
        match (self, value) {
            (_, []) => Err(Box::new(Problem::Framing("the value is empty: neither a tombstone nor a value with a schema"))),
            (Self::Auto | Self::SingleObject, [0xc3, ..]) => single_object(value),
            (Self::Auto | Self::Container, [b'O', b'b', b'j', 1, ..]) => container::parse(value),
            (Self::Auto | Self::Glue, [GLUE, GLUE_PLAIN | GLUE_ZLIB, ..]) => by_glue(value),
            (Self::Auto, [0, ..]) => by_any_id(value, |id| knows(SchemaName::Id(id))),
            (Self::Confluent, [0, ..]) => by_id(value),
            (Self::ConfluentNoIndex, [0, ..]) => by_id(value).map(without_index),
            (Self::ConfluentNoIndex, [1, ..]) => by_guid(value).map(without_index),
            (Self::Auto | Self::Confluent | Self::Guid, [1, ..]) => by_guid(value),
            (Self::Apicurio, [0, ..]) => by_apicurio_id(value, SchemaName::Id, knows),
            (Self::ApicurioGlobal, [0, ..]) => by_apicurio_id(value, SchemaName::GlobalId, knows),
            _ => Err(Box::new(Problem::Framing("the value does not begin with the framing of a schema"))),
        }
    }

    /// The forms that a value may have whose schema is known, without a name in the value, in the order in which they are tried.
    pub fn candidates(value: &[u8], has_header: bool) -> &'static [Self] {
        match value {
            _ if has_header => &[Self::Auto, Self::None],
            [0, 0, 0, 0, 0, _, _, _, _, ..] => &[Self::None, Self::Apicurio],
            [0, 0, 0, 0, 0, ..] => &[Self::None],
            [0, _, _, _, _, ..] => &[Self::Confluent, Self::ConfluentNoIndex, Self::Apicurio, Self::None],
            [1, rest @ ..] if rest.len() >= 16 => &[Self::None, Self::Guid],
            [GLUE, GLUE_PLAIN | GLUE_ZLIB, rest @ ..] if rest.len() >= 16 => &[Self::None, Self::Glue],
            [0xc3, 1, rest @ ..] if rest.len() >= 8 => &[Self::SingleObject, Self::None],
            [b'O', b'b', b'j', 1, ..] => &[Self::Container, Self::None],
            _ => &[Self::None],
        }
    }
}

/// A record header that names a schema.
#[derive(Clone, Copy, Debug)]
pub struct SchemaHeader<'a> {
    /// What it has.
    pub kind: HeaderKind,
    /// Its value.
    pub value: &'a [u8],
    /// The value of the header with the type of a message, next to one of Apicurio's.
    pub message_type: Option<&'a [u8]>,
}

/// What a header that names a schema has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderKind {
    /// An id or a GUID after a byte that says which.
    Confluent,
    /// Apicurio's id of a version.
    GlobalId,
    /// Apicurio's id of a content, which is the id of its Confluent API.
    ContentId,
}

impl<'a> SchemaHeader<'a> {
    fn parse(self, payload: &'a [u8]) -> Read<Framed<'a>> {
        if self.kind != HeaderKind::Confluent {
            let id: [u8; 8] = self.value.try_into().map_err(|_| Problem::Framing("the header of the schema's id does not have 8 bytes"))?;
            let id = i64::from_be_bytes(id);
            let name = if self.kind == HeaderKind::GlobalId { SchemaName::GlobalId(id) } else { SchemaName::Id(id) };
            let message = self.message_type.map_or(MessageName::InPayload, MessageName::Type);
            return Ok(Framed { message, ..framed(name, payload) });
        }
        let named = match self.value.first() {
            Some(0) => by_id(self.value)?,
            Some(1) => by_guid(self.value)?,
            _ => return Err(Box::new(Problem::Framing("the header of the schema's id begins with neither 0 nor 1"))),
        };
        Ok(Framed { payload, message: MessageName::Indexes(named.payload), ..named })
    }
}

fn without_index(framed: Framed<'_>) -> Framed<'_> {
    Framed { message: MessageName::First, ..framed }
}

fn by_id(value: &[u8]) -> Read<Framed<'_>> {
    let (id, payload) = rest_after::<4>(value, 1).ok_or(Problem::Framing("the value ends inside the id of its schema"))?;
    Ok(Framed { is_confluent: true, ..framed(SchemaName::Id(i32::from_be_bytes(id).into()), payload) })
}

fn by_long_id(value: &[u8]) -> Read<Framed<'_>> {
    let (id, payload) = rest_after::<8>(value, 1).ok_or(Problem::Framing("the value ends inside the id of its schema"))?;
    Ok(framed(SchemaName::Id(i64::from_be_bytes(id)), payload))
}

/// An id of 4 bytes, unless only the one of 8 bytes is known. No registry gives the id 0, with which most of those begin.
fn by_any_id(value: &[u8], knows: impl Fn(i64) -> bool) -> Read<Framed<'_>> {
    let short = by_id(value)?;
    let is_known = |framed: &Framed<'_>| matches!(framed.name, SchemaName::Id(id) if knows(id));
    match by_long_id(value) {
        Ok(long) if !is_known(&short) && is_known(&long) => Ok(long),
        _ => Ok(short),
    }
}

/// As `by_any_id`, where an id of 4 bytes that is 0 is the beginning of one of 8, known or not.
fn by_apicurio_id(value: &[u8], named: fn(i64) -> SchemaName, knows: impl Fn(SchemaName) -> bool) -> Read<Framed<'_>> {
    let found = by_any_id(value, |id| knows(named(id)))?;
    let found = if found.name == SchemaName::Id(0) { by_long_id(value).unwrap_or(found) } else { found };
    let name = if let SchemaName::Id(id) = found.name { named(id) } else { found.name };
    Ok(Framed { name, is_confluent: false, ..found })
}

fn by_guid(value: &[u8]) -> Read<Framed<'_>> {
    let (guid, payload) = rest_after::<16>(value, 1).ok_or(Problem::Framing("the value ends inside the GUID of its schema"))?;
    Ok(Framed { is_confluent: true, ..framed(SchemaName::Guid(guid), payload) })
}

/// The first byte of Glue's framing, and the second one without compression and with zlib.
const GLUE: u8 = 3;
const GLUE_PLAIN: u8 = 0;
const GLUE_ZLIB: u8 = 5;

fn by_glue(value: &[u8]) -> Read<Framed<'_>> {
    let (guid, payload) = rest_after::<16>(value, 2).ok_or(Problem::Framing("the value ends inside the GUID of its schema"))?;
    let body = if value.get(1) == Some(&GLUE_ZLIB) { Body::Zlib } else { Body::Plain };
    Ok(Framed { body, message: MessageName::Ordinal, ..framed(SchemaName::Guid(guid), payload) })
}

fn single_object(value: &[u8]) -> Read<Framed<'_>> {
    if value.get(1) != Some(&1) {
        return Err(Box::new(Problem::Framing("the value begins with C3, and is not a single object of Avro, which begins with C3 01")));
    }
    let (fingerprint, payload) =
        rest_after::<8>(value, 2).ok_or(Problem::Framing("the value ends inside the fingerprint of its schema"))?;
    Ok(framed(SchemaName::Fingerprint(fingerprint), payload))
}

fn rest_after<const N: usize>(value: &[u8], start: usize) -> Option<([u8; N], &[u8])> {
    let (name, rest) = value.get(start..)?.split_first_chunk::<N>()?;
    Some((*name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(framing: Framing, value: &[u8], known: &[SchemaName]) -> SchemaName {
        framing.parse(value, None, |name| known.contains(&name)).expect("a framing").name
    }

    #[test]
    fn ids_of_apicurio_have_4_bytes_or_8_that_begin_with_zeros() {
        let short = b"\0\0\0\0\x05payload";
        let long = b"\0\0\0\0\0\0\0\0\x05payload";
        assert_eq!(name(Framing::Apicurio, short, &[]), SchemaName::Id(5));
        assert_eq!(name(Framing::Apicurio, long, &[]), SchemaName::Id(5));
        assert_eq!(name(Framing::ApicurioGlobal, short, &[]), SchemaName::GlobalId(5));
        assert_eq!(name(Framing::ApicurioGlobal, long, &[]), SchemaName::GlobalId(5));
        let wide = b"\0\0\0\0\x01\0\0\0\x05payload";
        assert_eq!(name(Framing::Apicurio, wide, &[]), SchemaName::Id(1));
        assert_eq!(name(Framing::Apicurio, wide, &[SchemaName::Id(0x1_0000_0005)]), SchemaName::Id(0x1_0000_0005));
    }
}
