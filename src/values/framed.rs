//! A value taken apart: the name of its schema, and the payload.

use super::body::Body;
use super::schema_name::SchemaName;

/// A value taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed<'a> {
    /// The name of its schema.
    pub name: SchemaName,
    /// How it names its message, of Protobuf.
    pub message: MessageName<'a>,
    /// What follows the name in the value.
    pub payload: &'a [u8],
    /// How the payload is compressed.
    pub body: Body,
    /// The value is framed as Confluent's serializers do.
    pub is_confluent: bool,
}

/// Where a value of Protobuf names its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageName<'a> {
    /// Before the message, if at all.
    InPayload,
    /// Nowhere: the first message of the schema.
    First,
    /// Before the message: its number among all messages in the order of their full names.
    Ordinal,
    /// In the header that names the schema: message indexes.
    Indexes(&'a [u8]),
    /// In a header of its own: the name of the type.
    Type(&'a [u8]),
}

pub(super) fn framed(name: SchemaName, payload: &[u8]) -> Framed<'_> {
    Framed { name, message: MessageName::InPayload, payload, body: Body::Plain, is_confluent: false }
}
