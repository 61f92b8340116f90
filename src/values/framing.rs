//! How a value names its schema: the bytes before the payload, or a record header.
//!
//! Source: `SchemaId` and `AbstractKafkaSchemaSerDe` in Confluent's schema registry; `DefaultIdHandler` and `DefaultHeadersHandler` in Apicurio
//! Registry; "Single object encoding" in the specification of Avro 1.12.

use super::payload::{Problem, Read};

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
    /// Byte 0 and an id of 8 bytes, or 8 bytes in a record header.
    Apicurio,
    /// C3 01 and a fingerprint.
    SingleObject,
}

/// How a value names its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemaName {
    /// By the id of a registry.
    Id(i64),
    /// By a GUID.
    Guid([u8; 16]),
    /// By the fingerprint of an Avro schema.
    Fingerprint([u8; 8]),
    /// Not at all.
    Unnamed,
}

/// A value taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed<'a> {
    /// The name of its schema.
    pub name: SchemaName,
    /// What follows the name in a header: Protobuf's message indexes.
    pub header_rest: Option<&'a [u8]>,
    /// What follows the name in the value.
    pub payload: &'a [u8],
    /// The value is framed as Confluent's serializers do.
    pub is_confluent: bool,
}

/// The names of the record headers that name a schema: Confluent's, then Apicurio's.
pub const VALUE_HEADERS: [&str; 3] = ["__value_schema_id", "apicurio.value.globalId", "apicurio.value.contentId"];
/// The same for keys.
pub const KEY_HEADERS: [&str; 3] = ["__key_schema_id", "apicurio.key.globalId", "apicurio.key.contentId"];

impl Framing {
    /// All of them, with the names that callers use.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("auto", Self::Auto),
        ("none", Self::None),
        ("confluent", Self::Confluent),
        ("confluent-no-index", Self::ConfluentNoIndex),
        ("apicurio", Self::Apicurio),
        ("single-object", Self::SingleObject),
    ];

    /// True if a record header may name the schema.
    pub fn looks_at_headers(self) -> bool {
        !matches!(self, Self::None | Self::SingleObject)
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
            Self::SingleObject => {
                let fingerprint = fingerprint.ok_or("only Avro has single objects")?;
                [&[0xc3, 1], fingerprint.as_slice()].concat()
            }
        })
    }

    /// Takes a value apart.
    ///
    /// # Errors
    /// `Framing` for a value without the framing.
    pub fn parse<'a>(self, value: &'a [u8], header: Option<Header<'a>>, knows: impl Fn(i64) -> bool) -> Read<Framed<'a>> {
        if self == Self::None {
            return Ok(framed(SchemaName::Unnamed, value));
        }
        if let Some(header) = header {
            return header.parse(value);
        }
        match (self, value.first()) {
            (_, None) => Err(Box::new(Problem::Framing("the value is empty: neither a tombstone nor a value with a schema"))),
            (Self::Auto | Self::SingleObject, Some(0xc3)) => single_object(value),
            (Self::Auto, Some(0)) => by_any_id(value, knows),
            (Self::Confluent | Self::ConfluentNoIndex, Some(0)) => by_id(value),
            (Self::Auto | Self::Confluent | Self::ConfluentNoIndex, Some(1)) => by_guid(value),
            (Self::Apicurio, Some(0)) => by_long_id(value),
            _ => Err(Box::new(Problem::Framing("the value does not begin with the framing of a schema"))),
        }
    }
}

/// A record header that names a schema.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// It is one of Apicurio's.
    pub is_apicurio: bool,
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Header<'a> {
    fn parse(self, payload: &'a [u8]) -> Read<Framed<'a>> {
        if self.is_apicurio {
            let id: [u8; 8] = self.value.try_into().map_err(|_| Problem::Framing("the header of the schema's id does not have 8 bytes"))?;
            return Ok(framed(SchemaName::Id(i64::from_be_bytes(id)), payload));
        }
        let named = match self.value.first() {
            Some(0) => by_id(self.value)?,
            Some(1) => by_guid(self.value)?,
            _ => return Err(Box::new(Problem::Framing("the header of the schema's id begins with neither 0 nor 1"))),
        };
        Ok(Framed { payload, header_rest: Some(named.payload), ..named })
    }
}

fn framed(name: SchemaName, payload: &[u8]) -> Framed<'_> {
    Framed { name, header_rest: None, payload, is_confluent: false }
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

fn by_guid(value: &[u8]) -> Read<Framed<'_>> {
    let (guid, payload) = rest_after::<16>(value, 1).ok_or(Problem::Framing("the value ends inside the GUID of its schema"))?;
    Ok(Framed { is_confluent: true, ..framed(SchemaName::Guid(guid), payload) })
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
