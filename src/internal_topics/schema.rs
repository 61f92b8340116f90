//! A schema: what a message holds, field by field, in which versions. Tables are made of these.

/// A message of one topic.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Kafka's name.
    pub name: &'static str,
    /// The versions that are known.
    pub versions: Versions,
    /// The first version whose lengths are unsigned varints and whose structs end with a tag buffer (KIP-482).
    pub flexible: i16,
    /// The fields, in wire order but for the tagged ones.
    pub fields: &'static [Field],
}

/// A type of record: its number, and the schemas of its key and value.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The number that records are distinguished by.
    pub id: i16,
    /// Kafka's name.
    pub name: &'static str,
    /// Of its key; `None` where records have none.
    pub key: Option<&'static Message>,
    /// Of its value.
    pub value: &'static Message,
}

/// A field of a message or of a struct in it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name that Kafka's JSON gives it.
    pub name: &'static str,
    /// How its bytes are read.
    pub kind: Kind,
    /// The versions that have it.
    pub versions: Versions,
    /// The versions in which it may be null.
    pub nullable: Versions,
    /// Its tag, and the versions in which it is in the tag buffer.
    pub tag: Option<(u32, Versions)>,
    /// What a tagged field is when it is not there.
    pub default: Absent,
}

/// How the bytes of a field are read.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names of Kafka's types")]
pub enum Kind {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    Text,
    Bytes,
    Array(&'static Self),
    Struct(&'static [Field]),
}

/// The default of an absent tagged field; a field with this value is omitted, as in Kafka's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Null.
    Null,
    /// This number; 0 stands for false, for what is empty, for the zero uuid and for a struct of these too.
    Number(i64),
}

/// A first and a last version, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first.
    pub first: i16,
    /// The last; below the first for no version at all.
    pub last: i16,
}

impl Versions {
    /// Every version.
    pub const ALL: Self = Self { first: 0, last: i16::MAX };
    /// No version.
    pub const NONE: Self = Self { first: i16::MAX, last: 0 };

    /// True when this version is one of them.
    pub fn has(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }
}

impl Field {
    /// The same field, in these versions only.
    pub(super) const fn since(self, first: i16, last: i16) -> Self {
        Self { versions: Versions { first, last }, ..self }
    }

    /// The same field, which may be null in these versions.
    pub(super) const fn nullable(self, first: i16, last: i16) -> Self {
        Self { nullable: Versions { first, last }, ..self }
    }

    /// The same field, in the tag buffer in these versions.
    pub(super) const fn tagged(self, tag: u32, first: i16, last: i16) -> Self {
        Self { tag: Some((tag, Versions { first, last })), ..self }
    }

    /// The same field, null when it is not there.
    pub(super) const fn else_null(self) -> Self {
        Self { default: Absent::Null, ..self }
    }

    /// The same field, this number when it is not there.
    pub(super) const fn otherwise(self, number: i64) -> Self {
        Self { default: Absent::Number(number), ..self }
    }

    /// Its tag, when it is in the tag buffer in this version.
    pub fn tag_in(&self, version: i16) -> Option<u32> {
        self.tag.filter(|(_, versions)| versions.has(version)).map(|(tag, _)| tag)
    }
}

/// A field of every version.
pub(super) const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, versions: Versions::ALL, nullable: Versions::NONE, tag: None, default: Absent::Number(0) }
}

/// Any number of values of one kind.
pub(super) const fn array(of: &'static Kind) -> Kind {
    Kind::Array(of)
}

/// Fields that belong together.
pub(super) const fn group(fields: &'static [Field]) -> Kind {
    Kind::Struct(fields)
}

/// A message of versions `first` to `last`, of which those from `flexible` on are flexible. `Message::of` says its fields.
pub(super) const fn message(name: &'static str, first: i16, last: i16, flexible: i16) -> Message {
    Message { name, versions: Versions { first, last }, flexible, fields: &[] }
}

impl Message {
    /// The same message, with these fields.
    pub(super) const fn of(self, fields: &'static [Field]) -> Self {
        Self { fields, ..self }
    }
}

/// A type of record.
pub(super) const fn record(id: i16, name: &'static str, key: Option<&'static Message>, value: &'static Message) -> Record {
    Record { id, name, key, value }
}
