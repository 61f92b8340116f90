//! An Avro schema as a graph: named types refer to each other, and may contain themselves.
//!
//! Source: the specification of Avro 1.12.

use serde_json::Value;

/// The number of a node in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) usize);

/// A schema with the schemas that it refers to.
#[derive(Clone, Debug)]
pub struct AvroSchema {
    pub(super) nodes: Vec<AvroNode>,
    pub(super) root: NodeId,
}

/// A type.
#[derive(Clone, Debug)]
pub struct AvroNode {
    /// What is written.
    pub kind: AvroKind,
    /// What it means.
    pub logical: Option<Logical>,
    /// The name of a record, an enum or a fixed.
    pub name: Option<AvroName>,
}

/// A full name with the names that it had before.
#[derive(Clone, Debug)]
pub struct AvroName {
    /// The namespace, a dot and the name; the name alone without a namespace.
    pub full: Box<str>,
    /// Full names.
    pub aliases: Vec<Box<str>>,
}

/// What is written for a type.
#[derive(Clone, Debug)]
pub enum AvroKind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum(Symbols),
    Array(NodeId),
    Map(NodeId),
    Union(Vec<NodeId>),
    Record(Vec<AvroField>),
}

/// The symbols of an enum.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// In their order.
    pub names: Vec<Box<str>>,
    /// What a reader takes for a symbol that it does not know.
    pub default: Option<Box<str>>,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct AvroField {
    /// Its name.
    pub name: Box<str>,
    /// The names that it had before.
    pub aliases: Vec<Box<str>>,
    /// Its type.
    pub node: NodeId,
    /// What a reader takes when the writer has no such field.
    pub default: Option<Value>,
}

/// What a type means beyond its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logical {
    Decimal { precision: usize, scale: usize },
    Date,
    TimeMillis,
    TimeMicros,
    Timestamp { unit: AvroTimeUnit, is_utc: bool },
    Uuid,
    Duration,
}

/// The unit of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvroTimeUnit {
    Millis,
    Micros,
    Nanos,
}

static NULL: AvroNode = AvroNode { kind: AvroKind::Null, logical: None, name: None };

impl AvroSchema {
    /// The type of a whole value.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The type with a number.
    pub fn node(&self, id: NodeId) -> &AvroNode {
        // Numbers come from this schema alone.
        self.nodes.get(id.0).unwrap_or(&NULL)
    }

    /// The fewest bytes of a value.
    pub fn least_len(&self, id: NodeId) -> usize {
        self.least_len_within(id, 0)
    }

    fn least_len_within(&self, id: NodeId, depth: usize) -> usize {
        const DEEP: usize = 8;
        match &self.node(id).kind {
            AvroKind::Null => 0,
            AvroKind::Fixed(len) => *len,
            AvroKind::Float => 4,
            AvroKind::Double => 8,
            AvroKind::Record(fields) if depth < DEEP => {
                fields.iter().fold(0, |sum: usize, field| sum.saturating_add(self.least_len_within(field.node, depth + 1)))
            }
            AvroKind::Record(_) => 0,
            _ => 1,
        }
    }
}

impl AvroNode {
    /// The name of the type in messages: that of the specification, or the full name.
    pub fn type_name(&self) -> &str {
        self.name.as_ref().map_or_else(|| self.kind.name(), |name| &name.full)
    }

    /// The name without its namespace.
    pub fn short_name(&self) -> &str {
        self.type_name().rsplit('.').next().unwrap_or_default()
    }
}

impl AvroKind {
    /// The name of the specification.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Fixed(_) => "fixed",
            Self::Enum(_) => "enum",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
            Self::Record(_) => "record",
        }
    }
}
