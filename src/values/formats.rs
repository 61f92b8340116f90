//! The formats of values: what a schema of each is, and how its values become a column.

use std::collections::HashMap;
use std::sync::Arc;

use prost_reflect::MessageDescriptor;

use super::avro::{self, ResolveStep, SchemaResolver};
use super::column::{Slots, ValueColumn, push_member};
use super::framed::Framed;
use super::framing::Framing;
use super::json::{self, Integers, JsonSchema, JsonStep};
use super::payload::{Payload, Problem, Read};
use super::primitive::{self, PrimitiveKind};
use super::protobuf::{self, FieldKind, ProtoSchema};
use super::shape::{Shape, ShapeKind};
use super::wanted::WantedFields;

/// The format of the values that a caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFormat {
    /// Any of them, detected value by value; values without framing are JSON, or nothing that is known.
    Auto,
    /// Avro.
    Avro,
    /// JSON text.
    Json,
    /// Protobuf.
    Protobuf,
    /// Values of Kafka's own serializers.
    Primitive,
}

impl ValueFormat {
    /// All of them, with the names that callers use.
    pub const NAMES: [(&'static str, Self); 5] =
        [("auto", Self::Auto), ("avro", Self::Avro), ("json", Self::Json), ("protobuf", Self::Protobuf), ("primitive", Self::Primitive)];

    /// True if values of a schema of this type have the format.
    pub fn takes(self, kind: &str) -> bool {
        self.kind().is_none_or(|own| own == kind)
    }

    /// The format of the values of a schema of this type; `Auto` for an unknown one.
    pub fn of_kind(kind: &str) -> Self {
        Self::NAMES.iter().map(|(_, format)| *format).find(|format| format.kind() == Some(kind)).unwrap_or(Self::Auto)
    }

    /// The type of schemas of the format; `None` for any.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Avro => Some("AVRO"),
            Self::Json => Some("JSON"),
            Self::Protobuf => Some("PROTOBUF"),
            Self::Primitive => Some(primitive::KIND),
        }
    }
}

/// A schema of any format.
#[derive(Clone, Debug)]
pub enum AnySchema {
    /// Of Avro.
    Avro(Arc<avro::AvroSchema>),
    /// A JSON Schema.
    Json(Arc<JsonSchema>),
    /// Of Protobuf, and the message that is meant; the first one, unless another was chosen.
    Protobuf(Arc<ProtoSchema>, MessageDescriptor),
    /// Of Kafka's own serializers.
    Primitive(PrimitiveKind),
}

impl AnySchema {
    /// Parses a schema. `referenced` are names and texts of the schemas that it needs, each after those that it needs itself.
    ///
    /// # Errors
    /// What is wrong with a text, and a type that is not known.
    pub fn parse(kind: &str, text: &str, referenced: &[(String, String)]) -> Result<Self, String> {
        match kind {
            "AVRO" => {
                let referenced: Vec<&str> = referenced.iter().map(|(_, text)| text.as_str()).collect();
                avro::AvroSchema::parse(text, &referenced).map(|schema| Self::Avro(Arc::new(schema)))
            }
            "JSON" => JsonSchema::parse(text, referenced).map(|schema| Self::Json(Arc::new(schema))),
            "PROTOBUF" => {
                let schema = ProtoSchema::parse(text, referenced)?;
                let first = schema.message(&[0]).ok_or("a schema without messages")?;
                Ok(Self::Protobuf(Arc::new(schema), first))
            }
            primitive::KIND => {
                PrimitiveKind::named(text).map(Self::Primitive).ok_or_else(|| format!("{text:?} is not a type of Kafka's serializers"))
            }
            other => Err(format!("of type {other}, whose values are not decoded")),
        }
    }

    /// The column of the values, with the wanted fields alone.
    ///
    /// # Errors
    /// `Schema` for a schema that is too deep or too wide, or has no field that is wanted.
    pub fn shape(&self, wanted: &WantedFields) -> Read<Shape> {
        match self {
            Self::Avro(schema) => avro::shape_of(schema, wanted),
            Self::Json(schema) => json::shape_of(schema, wanted),
            Self::Protobuf(_, message) => protobuf::plan_of(message, wanted).map(|(shape, _)| shape),
            Self::Primitive(kind) => kind.shape(wanted),
        }
    }

    /// How values of this schema are read as those of another one, for a column of its shape.
    ///
    /// # Errors
    /// Why they cannot be.
    pub fn read_as(&self, reader: &Self, shape: &Shape, wanted: &WantedFields) -> Result<ValueReading, String> {
        match (self, reader) {
            (Self::Avro(writer), Self::Avro(reader)) => SchemaResolver::new(writer, reader).resolve(shape).map(ValueReading::Avro),
            // A text has the names and types of its values in itself.
            (Self::Json(_), Self::Json(reader)) => Ok(ValueReading::Json(JsonStep::of(shape), reader.is_inferred())),
            (Self::Protobuf(_, writer), Self::Protobuf(_, reader)) if writer.full_name() == reader.full_name() => {
                let (_, kind) = protobuf::plan_of(reader, wanted).map_err(|problem| problem.to_string())?;
                Ok(ValueReading::Protobuf(kind))
            }
            (Self::Protobuf(_, writer), Self::Protobuf(_, reader)) => {
                Err(format!("message {} is not {}", writer.full_name(), reader.full_name()))
            }
            (Self::Primitive(kind), Self::Primitive(_)) => {
                let names = match &shape.kind {
                    ShapeKind::Struct(members) => members.iter().map(|member| member.name.clone()).collect(),
                    _ => Box::default(),
                };
                Ok(ValueReading::Primitive(*kind, names))
            }
            _ => Err("it is a schema of another format".to_owned()),
        }
    }

    /// True if every value of this schema can be read as one of another schema.
    pub fn is_read_as(&self, reader: &Self) -> bool {
        let Ok(shape) = reader.shape(&WantedFields::all()) else { return false };
        match (self, reader) {
            (Self::Avro(writer), Self::Avro(reader)) => {
                let mut resolver = SchemaResolver::new(writer, reader);
                resolver.resolve(&shape).is_ok() && !resolver.is_partial
            }
            (Self::Json(_), Self::Json(_)) => self.shape(&WantedFields::all()).is_ok_and(|writer| json::holds(&shape.kind, &writer.kind)),
            (Self::Protobuf(_, writer), Self::Protobuf(_, reader)) => protobuf::holds(reader, writer),
            _ => false,
        }
    }

    /// The message of a schema of Protobuf at a path; the schema as it is for another format.
    pub fn with_message(&self, path: &[i32]) -> Option<Self> {
        match self {
            Self::Protobuf(schema, _) => schema.message(path).map(|message| Self::Protobuf(Arc::clone(schema), message)),
            other => Some(other.clone()),
        }
    }

    /// The same schema; of JSON, with these columns of integers.
    #[must_use]
    pub fn with_integers(self, integers: Integers) -> Self {
        match self {
            Self::Json(schema) => Self::Json(Arc::new(Arc::unwrap_or_clone(schema).with_integers(integers))),
            other => other,
        }
    }

    /// The name of the message of a schema of Protobuf, without its package: those around it, with underscores between.
    pub fn message_name(&self) -> String {
        let Self::Protobuf(_, message) = self else { return String::new() };
        let name = message.full_name().strip_prefix(message.package_name()).unwrap_or_default();
        name.trim_start_matches('.').replace('.', "_")
    }

    /// A name of the schema by its content.
    pub fn fingerprint(&self) -> [u8; 8] {
        match self {
            Self::Avro(schema) => avro::fingerprint(schema),
            Self::Protobuf(schema, _) => avro::crc(schema.text().as_bytes()).to_le_bytes(),
            Self::Json(schema) => avro::crc(schema.text().as_bytes()).to_le_bytes(),
            Self::Primitive(_) => [0; 8],
        }
    }
}

/// How a value becomes a value of a column.
#[derive(Clone, Debug)]
pub enum ValueReading {
    /// An Avro value.
    Avro(ResolveStep),
    /// A JSON text; true if its schema was inferred.
    Json(JsonStep, bool),
    /// A message of Protobuf.
    Protobuf(FieldKind),
    /// A message of Protobuf that the value names.
    Messages(Arc<Messages>),
    /// A value of Kafka's own serializers, with the fields of the column.
    Primitive(PrimitiveKind, Box<[Box<str>]>),
    /// The value of one member of a struct whose others are null.
    Member(usize, Box<ValueReading>),
}

/// How the messages of a schema are read, by their paths.
#[derive(Debug)]
pub struct Messages {
    /// How values name them.
    pub framing: Framing,
    /// The schema.
    pub schema: Arc<ProtoSchema>,
    /// Why a message cannot be read, or `None` if no field of it is wanted.
    pub by_path: HashMap<Vec<i32>, Read<Option<ValueReading>>>,
}

impl ValueReading {
    /// Reads a value into a column, and notes what it cost.
    ///
    /// # Errors
    /// What is wrong with it; the column may have a part of it then. The value is there if the problem is partial.
    #[inline]
    pub fn read(&self, framed: &Framed<'_>, column: &mut ValueColumn, spent: &mut u64) -> Read<()> {
        if let Self::Messages(messages) = self {
            return messages.read(framed, column, spent);
        }
        let mut payload = Payload::new(framed.payload);
        payload.is_bare_bytes = framed.is_confluent && self.is_of_bytes();
        let read = self.value(column, &mut payload).and_then(|()| payload.finish());
        *spent = spent.saturating_add(payload.spent());
        read.and_then(|()| payload.misfit.take().map_or(Ok(()), Err))
    }

    #[inline]
    fn value(&self, column: &mut ValueColumn, payload: &mut Payload<'_>) -> Read<()> {
        match self {
            Self::Avro(step) => avro::read(step, column, payload),
            Self::Json(step, is_inferred) => json::read(step, *is_inferred, column, payload),
            Self::Protobuf(kind) => protobuf::read(kind, column, payload),
            Self::Messages(_) => Err(Box::new(Problem::Shape)),
            Self::Primitive(kind, names) => primitive::read(*kind, names, column, payload),
            Self::Member(place, reading) => {
                let Slots::Struct(children, len) = &mut column.slots else { return Err(Box::new(Problem::Shape)) };
                push_member(*place, children, payload, |child, payload| reading.value(child, payload))?;
                *len += 1;
                column.note_valid();
                Ok(())
            }
        }
    }

    /// True for a schema that is nothing but bytes, of which Confluent's serializers write no length.
    fn is_of_bytes(&self) -> bool {
        match self {
            Self::Avro(ResolveStep::Run { is_bytes }) => *is_bytes,
            Self::Avro(ResolveStep::Decimal { size: None, .. }) => true,
            Self::Member(_, reading) => reading.is_of_bytes(),
            _ => false,
        }
    }
}

impl Messages {
    fn read(&self, framed: &Framed<'_>, column: &mut ValueColumn, spent: &mut u64) -> Read<()> {
        let (path, payload) = protobuf::message_of(framed, self.framing, &self.schema)?;
        let found = self.by_path.get(&path).ok_or_else(|| Problem::Text(format!("message index {path:?} is not in the schema")))?;
        match found {
            Ok(Some(reading)) => reading.read(&Framed { payload, ..*framed }, column, spent),
            Ok(None) => {
                column.push_null();
                Ok(())
            }
            Err(problem) => Err(problem.clone()),
        }
    }
}
