//! How a value names its schema.

/// How a value names its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemaName {
    /// By the id of a registry.
    Id(i64),
    /// By the id of a version in Apicurio, whose other ids are those of contents.
    GlobalId(i64),
    /// By a GUID.
    Guid([u8; 16]),
    /// By the fingerprint of an Avro schema.
    Fingerprint([u8; 8]),
    /// By the checksum of the text of an Avro schema that is in the value.
    Embedded([u8; 8]),
    /// Not at all.
    Unnamed,
}
