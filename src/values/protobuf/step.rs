//! The columns of a message, and how its fields get there.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, Syntax};

use crate::values::payload::{MOST_DEPTH, Problem, Read};
use crate::values::shape::{MOST_COLUMNS, Member, Shape, ShapeKind};
use crate::values::wanted::WantedFields;

/// How a message becomes a struct.
#[derive(Clone, Debug)]
pub struct MessageStep {
    /// The fields by their numbers.
    pub fields: HashMap<u32, ProtobufFieldStep>,
    /// What becomes of the children.
    pub children: usize,
    /// Columns at and below the struct.
    pub width: usize,
}

/// How a field becomes a child.
#[derive(Clone, Debug)]
pub struct ProtobufFieldStep {
    /// The child.
    pub place: usize,
    /// What is written.
    pub kind: FieldKind,
    /// How often.
    pub form: FieldForm,
    /// The other children of the same oneof.
    pub rivals: Arc<[usize]>,
}

/// How often a field is there.
#[derive(Clone, Debug)]
pub enum FieldForm {
    /// It may be missing, which is null.
    Optional,
    /// It may be missing, which is its zero.
    Plain,
    /// Any number of times.
    Repeated,
    /// Entries of a map: the kinds of keys and values.
    Map(Box<FieldKind>, Box<FieldKind>),
}

/// What is written for a field.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the scalar types of Protobuf")]
pub enum FieldKind {
    Double,
    Float,
    /// int32.
    Int,
    /// int64.
    Long,
    /// uint32.
    UInt,
    /// uint64.
    ULong,
    /// sint32.
    SInt,
    /// sint64.
    SLong,
    /// fixed32.
    Fixed32,
    /// fixed64.
    Fixed64,
    /// sfixed32.
    SFixed32,
    /// sfixed64.
    SFixed64,
    Bool,
    Text,
    Bytes,
    /// Names by their numbers; true for one that has no other numbers.
    Enum(Arc<HashMap<i32, Box<str>>>, bool),
    /// A struct.
    Message(Arc<MessageStep>),
    /// google.protobuf.Timestamp.
    Timestamp,
    /// A wrapper of a plain value.
    Wrapper(Box<FieldKind>),
    /// JSON text: messages inside themselves, google.protobuf.Struct and its parts.
    Json(MessageDescriptor),
}

impl FieldKind {
    /// True for what is written as a message of its own.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Timestamp | Self::Wrapper(_) | Self::Json(_))
    }
}

/// The column of a message, with the wanted fields alone, and how it is filled.
///
/// # Errors
/// `Schema` for a message that is too deep or too wide, or has no field that is wanted.
pub fn plan_of(message: &MessageDescriptor, wanted: &WantedFields) -> Read<(Shape, FieldKind)> {
    let mut planner = Planner { above: Vec::new(), columns: 0 };
    let (shape, kind) = planner.message(message, wanted)?;
    Ok((shape.nullable(), kind))
}

/// True if a message has every field of another one, under its number and name and with its type.
pub fn holds(reader: &MessageDescriptor, writer: &MessageDescriptor) -> bool {
    let all = WantedFields::all();
    let (Ok((read, _)), Ok((written, _))) = (plan_of(reader, &all), plan_of(writer, &all)) else { return false };
    let has_same = |field: FieldDescriptor| reader.get_field(field.number()).is_some_and(|other| other.name() == field.name());
    reader.full_name() == writer.full_name() && writer.fields().all(has_same) && includes(&read, &written)
}

fn includes(reader: &Shape, writer: &Shape) -> bool {
    match (&reader.kind, &writer.kind) {
        (ShapeKind::Struct(read), ShapeKind::Struct(written)) => {
            written.iter().all(|member| read.iter().any(|other| other.name == member.name && includes(&other.shape, &member.shape)))
        }
        (one, other) => one == other,
    }
}

struct Planner {
    /// The messages that are being walked into.
    above: Vec<String>,
    columns: usize,
}

impl Planner {
    fn message(&mut self, message: &MessageDescriptor, wanted: &WantedFields) -> Read<(Shape, FieldKind)> {
        let leaf = |data_type, kind| Ok((Shape::leaf(data_type), kind));
        let json = || (Shape { kind: ShapeKind::Json, is_nullable: false }, FieldKind::Json(message.clone()));
        match message.full_name() {
            "google.protobuf.Timestamp" => {
                return leaf(DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), FieldKind::Timestamp);
            }
            "google.protobuf.Struct" | "google.protobuf.Value" | "google.protobuf.ListValue" => return Ok(json()),
            name if is_wrapper(name) => {
                let Some(field) = message.get_field(1) else { return Ok(json()) };
                let (shape, kind) = self.value(&field.kind(), &WantedFields::all())?;
                return Ok((shape, FieldKind::Wrapper(Box::new(kind))));
            }
            name if self.above.iter().any(|above| above == name) => return Ok(json()),
            _ if self.above.len() >= MOST_DEPTH => {
                return Err(Box::new(Problem::Schema(format!("the schema is deeper than {MOST_DEPTH} levels"))));
            }
            name => self.above.push(name.to_owned()),
        }
        let planned = self.fields(message, wanted);
        self.above.pop();
        let (members, fields) = planned?;
        let children = members.len();
        let shape = Shape { kind: ShapeKind::Struct(members), is_nullable: false };
        let step = MessageStep { fields, children, width: shape.width() };
        Ok((shape, FieldKind::Message(Arc::new(step))))
    }

    fn fields(&mut self, message: &MessageDescriptor, wanted: &WantedFields) -> Read<(Vec<Member>, HashMap<u32, ProtobufFieldStep>)> {
        // In the order of the text, not of the numbers.
        let named = message.descriptor_proto().field.iter().filter_map(|field| message.get_field_by_name(field.name()));
        let all: Vec<FieldDescriptor> = named.collect();
        if wanted.missing(all.iter().map(FieldDescriptor::name)).is_some() {
            return Err(wanted.no_field(all.iter().map(FieldDescriptor::name)));
        }
        let mut members = Vec::new();
        let mut fields = HashMap::new();
        let kept: Vec<FieldDescriptor> = all.into_iter().filter(|field| wanted.field(field.name()).is_some()).collect();
        for (place, field) in kept.iter().enumerate() {
            self.columns += 1;
            if self.columns > MOST_COLUMNS {
                return Err(Box::new(Problem::Schema(format!("the schema has more than {MOST_COLUMNS} columns"))));
            }
            let wanted = wanted.field(field.name()).unwrap_or_default();
            let (shape, kind, form) = self.field(field, &wanted)?;
            members.push(Member::new(field.name(), shape));
            let oneof = field.containing_oneof();
            let is_rival = |other: &FieldDescriptor| oneof.is_some() && other != field && other.containing_oneof() == oneof;
            let rivals = kept.iter().enumerate().filter(|(_, other)| is_rival(other)).map(|(place, _)| place).collect();
            fields.insert(field.number(), ProtobufFieldStep { place, kind, form, rivals });
        }
        Ok((members, fields))
    }

    fn field(&mut self, field: &FieldDescriptor, wanted: &WantedFields) -> Read<(Shape, FieldKind, FieldForm)> {
        if field.is_map()
            && let Kind::Message(entry) = field.kind()
        {
            let (key, key_kind) = self.value(&entry.map_entry_key_field().kind(), &WantedFields::all())?;
            let (value, value_kind) = self.value(&entry.map_entry_value_field().kind(), &WantedFields::all())?;
            let kind = value_kind.clone();
            let shape = Shape { kind: ShapeKind::Map(Box::new(key), Box::new(value)), is_nullable: false };
            return Ok((shape, kind, FieldForm::Map(Box::new(key_kind), Box::new(value_kind))));
        }
        if field.is_list() {
            let (item, kind) = self.value(&field.kind(), &WantedFields::all())?;
            return Ok((Shape { kind: ShapeKind::List(Box::new(item)), is_nullable: false }, kind, FieldForm::Repeated));
        }
        let (shape, kind) = self.value(&field.kind(), wanted)?;
        if field.supports_presence() { Ok((shape.nullable(), kind, FieldForm::Optional)) } else { Ok((shape, kind, FieldForm::Plain)) }
    }

    fn value(&mut self, kind: &Kind, wanted: &WantedFields) -> Read<(Shape, FieldKind)> {
        if !matches!(kind, Kind::Message(_)) && !wanted.is_all && !wanted.fields.is_empty() {
            return Err(Box::new(Problem::Schema("a field is wanted of a value that has none".to_owned())));
        }
        let (data_type, kind) = match kind {
            Kind::Message(message) => return self.message(message, wanted),
            Kind::Enum(names) => {
                let mut by_number = HashMap::new();
                // Of several names of one number the first counts.
                for value in &names.enum_descriptor_proto().value {
                    by_number.entry(value.number()).or_insert_with(|| value.name().into());
                }
                let is_closed = names.parent_file().syntax() == Syntax::Proto2;
                (DataType::Utf8, FieldKind::Enum(Arc::new(by_number), is_closed))
            }
            Kind::Double => (DataType::Float64, FieldKind::Double),
            Kind::Float => (DataType::Float32, FieldKind::Float),
            Kind::Int32 => (DataType::Int32, FieldKind::Int),
            Kind::Int64 => (DataType::Int64, FieldKind::Long),
            Kind::Uint32 => (DataType::UInt32, FieldKind::UInt),
            Kind::Uint64 => (DataType::UInt64, FieldKind::ULong),
            Kind::Sint32 => (DataType::Int32, FieldKind::SInt),
            Kind::Sint64 => (DataType::Int64, FieldKind::SLong),
            Kind::Fixed32 => (DataType::UInt32, FieldKind::Fixed32),
            Kind::Fixed64 => (DataType::UInt64, FieldKind::Fixed64),
            Kind::Sfixed32 => (DataType::Int32, FieldKind::SFixed32),
            Kind::Sfixed64 => (DataType::Int64, FieldKind::SFixed64),
            Kind::Bool => (DataType::Boolean, FieldKind::Bool),
            Kind::String => (DataType::Utf8, FieldKind::Text),
            Kind::Bytes => (DataType::Binary, FieldKind::Bytes),
        };
        Ok((Shape::leaf(data_type), kind))
    }
}

/// True for the name of a message that is a plain value.
pub fn is_wrapper(name: &str) -> bool {
    let named = name.strip_prefix("google.protobuf.").and_then(|rest| rest.strip_suffix("Value"));
    matches!(named, Some("Double" | "Float" | "Int64" | "UInt64" | "Int32" | "UInt32" | "Bool" | "String" | "Bytes"))
}
