//! Keys and values of Kafka's own serializers, which have no schema, and keys of windows of Kafka Streams.
//!
//! Source: `org.apache.kafka.common.serialization`; `TimeWindowedSerializer`, `SessionWindowedSerializer`, `WindowKeySchema` and
//! `SessionKeySchema` in Kafka Streams.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};

use super::column::{Slots, ValueColumn};
use super::payload::{Payload, Problem, Read};
use super::shape::{Member, Shape, ShapeKind};
use super::wanted::WantedFields;

/// A type of Kafka's serializers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    Text,
    Long,
    Int,
    Short,
    Float,
    Double,
    Uuid,
}

/// A value, or the key of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveKind {
    /// The value alone.
    Bare(Primitive),
    /// A key and the start of its window.
    Windowed(Primitive),
    /// A key and the start and the end of its session.
    Session(Primitive),
}

/// The type of the schemas that stand for these values.
pub const KIND: &str = "PRIMITIVE";
const NAMES: [(&str, Primitive); 7] = [
    ("string", Primitive::Text),
    ("long", Primitive::Long),
    ("int", Primitive::Int),
    ("short", Primitive::Short),
    ("float", Primitive::Float),
    ("double", Primitive::Double),
    ("uuid", Primitive::Uuid),
];
/// Bytes of a time.
const TIME_BYTES: usize = 8;

impl PrimitiveKind {
    /// The type with a name: `long`, `windowed(long)`, `session(long)`.
    pub fn named(name: &str) -> Option<Self> {
        let primitive = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map(|(_, primitive)| *primitive);
        let inside = |of: &str| primitive(name.strip_prefix(of)?.strip_prefix('(')?.strip_suffix(')')?);
        let window = || inside("windowed").map(Self::Windowed);
        primitive(name).map(Self::Bare).or_else(window).or_else(|| inside("session").map(Self::Session))
    }

    /// The column of the values, with the wanted fields alone.
    ///
    /// # Errors
    /// `Schema` for a field that the values do not have.
    pub fn shape(self, wanted: &WantedFields) -> Read<Shape> {
        let times: &[&str] = match self {
            Self::Bare(_) => &[],
            Self::Windowed(_) => &["windowStart"],
            Self::Session(_) => &["windowStart", "windowEnd"],
        };
        let fields = || std::iter::once("key").chain(times.iter().copied());
        let no_field = |name: &str| Box::new(Problem::Schema(format!("there is no field {name}")));
        if let Self::Bare(primitive) = self {
            return match wanted.missing(std::iter::empty()) {
                Some(name) => Err(no_field(name)),
                None => Ok(primitive.shape()),
            };
        }
        if let Some(name) = wanted.missing(fields()) {
            return Err(no_field(name));
        }
        let shape = |name: &str| {
            let shape = if name == "key" { self.primitive().shape() } else { time_shape() };
            Member::new(name, shape.nullable())
        };
        let members = fields().filter(|name| wanted.field(name).is_some()).map(shape).collect();
        Ok(Shape { kind: ShapeKind::Struct(members), is_nullable: false })
    }

    fn primitive(self) -> Primitive {
        match self {
            Self::Bare(primitive) | Self::Windowed(primitive) | Self::Session(primitive) => primitive,
        }
    }

    /// How many times are after the key.
    fn times(self) -> usize {
        match self {
            Self::Bare(_) => 0,
            Self::Windowed(_) => 1,
            Self::Session(_) => 2,
        }
    }
}

impl Primitive {
    fn shape(self) -> Shape {
        Shape::leaf(match self {
            Self::Text | Self::Uuid => DataType::Utf8,
            Self::Long => DataType::Int64,
            Self::Int => DataType::Int32,
            Self::Short => DataType::Int16,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
        })
    }

    /// Appends the value of these bytes.
    fn push(self, bytes: &[u8], column: &mut ValueColumn) -> Read<()> {
        match (self, &mut column.slots) {
            (Self::Text, Slots::Runs(runs)) => {
                std::str::from_utf8(bytes).map_err(|_| Problem::Utf8)?;
                runs.push(bytes)?;
            }
            (Self::Uuid, Slots::Runs(runs)) => runs.push(uuid(bytes)?.as_bytes())?,
            (Self::Long, Slots::I64(values)) => values.push(i64::from_be_bytes(exact(bytes)?)),
            (Self::Int, Slots::I32(values)) => values.push(i32::from_be_bytes(exact(bytes)?)),
            (Self::Short, Slots::I16(values)) => values.push(i16::from_be_bytes(exact(bytes)?)),
            (Self::Float, Slots::F32(values)) => values.push(f32::from_be_bytes(exact(bytes)?)),
            (Self::Double, Slots::F64(values)) => values.push(f64::from_be_bytes(exact(bytes)?)),
            _ => return Err(Box::new(Problem::Shape)),
        }
        column.note_valid();
        Ok(())
    }
}

/// Reads all that is left into a column.
///
/// # Errors
/// `Text` for another number of bytes, and for text that is not a UUID; `Utf8`.
pub fn read(kind: PrimitiveKind, names: &[Box<str>], column: &mut ValueColumn, payload: &mut Payload<'_>) -> Read<()> {
    let bytes = payload.take(payload.left())?;
    if let PrimitiveKind::Bare(primitive) = kind {
        return primitive.push(bytes, column);
    }
    let cut = bytes.len().checked_sub(kind.times() * TIME_BYTES);
    let short = || Box::new(Problem::Truncated { needed: kind.times() * TIME_BYTES, available: bytes.len() });
    let (key, times) = bytes.split_at_checked(cut.ok_or_else(short)?).ok_or_else(short)?;
    let (first, second) = times.split_at_checked(TIME_BYTES).ok_or_else(short)?;
    let Slots::Struct(children, len) = &mut column.slots else { return Err(Box::new(Problem::Shape)) };
    for (name, child) in names.iter().zip(children.iter_mut()) {
        match &**name {
            "key" => kind.primitive().push(key, child)?,
            "windowStart" => push_time(if second.is_empty() { first } else { second }, child)?,
            // A session has its end before its start.
            _ => push_time(first, child)?,
        }
    }
    // A key is held against its type also where it is not wanted.
    if !names.iter().any(|name| &**name == "key") {
        kind.primitive().push(key, &mut ValueColumn::new(&kind.primitive().shape()))?;
    }
    *len += 1;
    column.note_valid();
    Ok(())
}

fn push_time(bytes: &[u8], column: &mut ValueColumn) -> Read<()> {
    let Slots::I64(values) = &mut column.slots else { return Err(Box::new(Problem::Shape)) };
    values.push(i64::from_be_bytes(exact(bytes)?));
    column.note_valid();
    Ok(())
}

fn time_shape() -> Shape {
    Shape::leaf(DataType::Timestamp(TimeUnit::Millisecond, Some(Arc::from("UTC"))))
}

fn exact<const N: usize>(bytes: &[u8]) -> Read<[u8; N]> {
    bytes.try_into().map_err(|_| Box::new(Problem::Text(format!("{} bytes, not {N}", bytes.len()))))
}

/// The text of a UUID, in lower case.
fn uuid(bytes: &[u8]) -> Read<String> {
    let is_hyphen = |index: usize| matches!(index, 8 | 13 | 18 | 23);
    let is_good = |(index, byte): (usize, &u8)| if is_hyphen(index) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    let text =
        std::str::from_utf8(bytes).ok().filter(|text| text.len() == 36 && text.bytes().enumerate().all(|(at, byte)| is_good((at, &byte))));
    text.map(str::to_ascii_lowercase).ok_or_else(|| Box::new(Problem::Text("not the text of a UUID".to_owned())))
}
