//! The formats of values: what a schema of each is, and how its values become a column.

use std::sync::Arc;

use super::avro::{self, Resolver, Step};
use super::column::{Column, Slots, push_member};
use super::framing::Framed;
use super::json::{self, JsonSchema, JsonStep};
use super::payload::{Payload, Problem, Read};
use super::shape::Shape;
use super::wanted::Wanted;

/// The format of the values that a caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFormat {
    /// Any of them, told apart value by value; values without framing are JSON, or nothing that is known.
    Auto,
    /// Avro.
    Avro,
    /// JSON text.
    Json,
}

impl ValueFormat {
    /// All of them, with the names that callers use.
    pub const NAMES: [(&'static str, Self); 3] = [("auto", Self::Auto), ("avro", Self::Avro), ("json", Self::Json)];

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
        }
    }
}

/// A schema of any format.
#[derive(Clone, Debug)]
pub enum AnySchema {
    /// Of Avro.
    Avro(Arc<avro::Schema>),
    /// A JSON Schema.
    Json(Arc<JsonSchema>),
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
                avro::Schema::parse(text, &referenced).map(|schema| Self::Avro(Arc::new(schema)))
            }
            "JSON" => JsonSchema::parse(text, referenced).map(|schema| Self::Json(Arc::new(schema))),
            other => Err(format!("of type {other}, whose values are not decoded")),
        }
    }

    /// The column of the values, with the wanted fields alone.
    ///
    /// # Errors
    /// `Schema` for a schema that is too deep or too wide, or has no field that is wanted.
    pub fn shape(&self, wanted: &Wanted) -> Read<Shape> {
        match self {
            Self::Avro(schema) => avro::shape_of(schema, wanted),
            Self::Json(schema) => json::shape_of(schema, wanted),
        }
    }

    /// How values of this schema are read as those of another one, for a column of its shape.
    ///
    /// # Errors
    /// Why they cannot be.
    pub fn read_as(&self, reader: &Self, shape: &Shape) -> Result<Reading, String> {
        match (self, reader) {
            (Self::Avro(writer), Self::Avro(reader)) => Resolver::new(writer, reader).resolve(shape).map(Reading::Avro),
            // A text has the names and types of its values in itself.
            (Self::Json(_), Self::Json(_)) => Ok(Reading::Json(JsonStep::of(shape))),
            _ => Err("it is a schema of another format".to_owned()),
        }
    }

    /// True if every value of this schema can be read as one of another schema.
    pub fn is_read_as(&self, reader: &Self) -> bool {
        let Ok(shape) = reader.shape(&Wanted::all()) else { return false };
        match (self, reader) {
            (Self::Avro(writer), Self::Avro(reader)) => {
                let mut resolver = Resolver::new(writer, reader);
                resolver.resolve(&shape).is_ok() && !resolver.is_partial
            }
            (Self::Json(_), Self::Json(_)) => self.shape(&Wanted::all()).is_ok_and(|writer| json::holds(&shape.kind, &writer.kind)),
            _ => false,
        }
    }

    /// A name of the schema by its content.
    pub fn fingerprint(&self) -> [u8; 8] {
        match self {
            Self::Avro(schema) => avro::fingerprint(schema),
            Self::Json(schema) => avro::crc(schema.text().as_bytes()).to_le_bytes(),
        }
    }
}

/// How a value becomes a value of a column.
#[derive(Clone, Debug)]
pub enum Reading {
    /// An Avro value.
    Avro(Step),
    /// A JSON text.
    Json(JsonStep),
    /// The value of one member of a struct whose others are null.
    Member(usize, Box<Reading>),
}

impl Reading {
    /// Reads a value into a column, and notes what it cost.
    ///
    /// # Errors
    /// What is wrong with it; the column may have a part of it then.
    #[inline]
    pub fn read(&self, framed: &Framed<'_>, column: &mut Column, spent: &mut u64) -> Read<()> {
        let mut payload = Payload::new(framed.payload);
        payload.is_bare_bytes = framed.is_confluent && self.is_of_bytes();
        let read = self.value(column, &mut payload).and_then(|()| payload.finish());
        *spent = spent.saturating_add(payload.spent());
        read
    }

    #[inline]
    fn value(&self, column: &mut Column, payload: &mut Payload<'_>) -> Read<()> {
        match self {
            Self::Avro(step) => avro::read(step, column, payload),
            Self::Json(step) => json::read(step, column, payload),
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
            Self::Avro(Step::Run { is_bytes }) => *is_bytes,
            Self::Avro(Step::Decimal { size: None, .. }) => true,
            Self::Member(_, reading) => reading.is_of_bytes(),
            _ => false,
        }
    }
}
