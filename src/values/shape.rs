//! The shape of decoded values: which Arrow column holds them, whatever they were written in.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

/// The column of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// What it holds.
    pub kind: ShapeKind,
    /// A value may be null.
    pub is_nullable: bool,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeKind {
    /// Values of an Arrow type without children.
    Leaf(DataType),
    /// JSON text, of a type that contains itself or that Arrow cannot hold.
    Json,
    /// Lists.
    List(Box<Shape>),
    /// Maps of keys to values.
    Map(Box<Shape>, Box<Shape>),
    /// Structs.
    Struct(Vec<Member>),
    /// Structs of which one member has a value: a field for each branch of a union.
    Union(Vec<Member>),
}

/// A child of a struct.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: Box<str>,
    /// Its column.
    pub shape: Shape,
    /// A value without the name is not one of its JSON Schema, so that null is written; a column is the same with and without.
    pub is_required: bool,
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.shape == other.shape
    }
}

/// Most columns below one, which types that contain other types many times would pass.
pub const MOST_COLUMNS: usize = 20_000;

impl Shape {
    /// A column of an Arrow type without nulls.
    pub fn leaf(data_type: DataType) -> Self {
        Self { kind: ShapeKind::Leaf(data_type), is_nullable: false }
    }

    /// A map of text to these values.
    pub fn map_of(values: Self) -> ShapeKind {
        ShapeKind::Map(Box::new(Self::leaf(DataType::Utf8)), Box::new(values))
    }

    /// The same with nulls.
    #[must_use]
    pub fn nullable(self) -> Self {
        Self { is_nullable: true, ..self }
    }

    /// Columns without children at and below this one.
    pub fn width(&self) -> usize {
        match &self.kind {
            ShapeKind::Leaf(_) | ShapeKind::Json | ShapeKind::List(_) | ShapeKind::Map(..) => 1,
            ShapeKind::Struct(members) | ShapeKind::Union(members) => {
                members.iter().fold(1, |sum: usize, member| sum.saturating_add(member.shape.width()))
            }
        }
    }

    /// The Arrow type.
    pub fn data_type(&self) -> DataType {
        match &self.kind {
            ShapeKind::Leaf(data_type) => data_type.clone(),
            ShapeKind::Json => DataType::Utf8,
            ShapeKind::List(items) => DataType::List(items.field("element")),
            ShapeKind::Map(keys, values) => DataType::Map(entries(keys, values), false),
            ShapeKind::Struct(members) | ShapeKind::Union(members) => DataType::Struct(fields(members)),
        }
    }

    /// A field of this shape.
    pub fn field(&self, name: &str) -> FieldRef {
        // Made once: a type that is made twice on every level takes twice the time with every level.
        let data_type = self.data_type();
        let is_nullable = self.is_nullable || data_type == DataType::Null;
        Arc::new(Field::new(name, data_type, is_nullable))
    }
}

impl Member {
    /// A child.
    pub fn new(name: &str, shape: Shape) -> Self {
        Self { name: name.into(), shape, is_required: false }
    }
}

/// The fields of a struct.
pub fn fields(members: &[Member]) -> Fields {
    members.iter().map(|member| member.shape.field(&member.name)).collect()
}

/// The entries of a map.
pub fn entries(keys: &Shape, values: &Shape) -> FieldRef {
    let fields = Fields::from(vec![keys.field("key"), values.field("value")]);
    Arc::new(Field::new("entries", DataType::Struct(fields), false))
}

/// The one shape that holds the values of all of these.
pub fn common(shapes: &[Shape]) -> Option<ShapeKind> {
    let (first, rest) = shapes.split_first()?;
    let mut kind = first.kind.clone();
    for shape in rest {
        kind = match (&kind, &shape.kind) {
            (one, other) if one == other => kind,
            (ShapeKind::Leaf(one), ShapeKind::Leaf(other)) => ShapeKind::Leaf(wider(one, other)?),
            _ => return None,
        };
    }
    Some(kind)
}

fn wider(one: &DataType, other: &DataType) -> Option<DataType> {
    match (one, other) {
        (DataType::Int32, DataType::Int64) | (DataType::Int64, DataType::Int32) => Some(DataType::Int64),
        (DataType::Float32, DataType::Float64) | (DataType::Float64, DataType::Float32) => Some(DataType::Float64),
        (one, other) => (one == other).then(|| one.clone()),
    }
}
