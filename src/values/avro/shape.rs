//! The column of an Avro type.

use arrow_schema::{DataType, TimeUnit};

use super::schema::{AvroField, AvroKind, AvroNode, AvroSchema, AvroTimeUnit, Logical, NodeId};
use crate::values::payload::{MOST_DEPTH, Problem, Read};
use crate::values::shape::{MOST_COLUMNS, Member, Shape, ShapeKind, common};
use crate::values::wanted::WantedFields;

/// Digits that fit 128 and 256 bits.
const MOST_DIGITS: [usize; 2] = [38, 76];

/// The column of the whole value, with the wanted fields alone.
///
/// # Errors
/// `AvroSchema` for a schema that is too deep or too wide, or has no field that is wanted.
pub fn shape_of(schema: &AvroSchema, wanted: &WantedFields) -> Read<Shape> {
    let mut shaper = AvroShaper { schema, above: Vec::new(), columns: 0 };
    shaper.shape(schema.root(), wanted)
}

struct AvroShaper<'s> {
    schema: &'s AvroSchema,
    /// The records that are being walked into.
    above: Vec<NodeId>,
    columns: usize,
}

impl AvroShaper<'_> {
    fn shape(&mut self, id: NodeId, wanted: &WantedFields) -> Read<Shape> {
        self.columns += 1;
        if self.columns > MOST_COLUMNS {
            return Err(Box::new(Problem::Schema(format!("the schema has more than {MOST_COLUMNS} columns"))));
        }
        let node = self.schema.node(id);
        let kind = match &node.kind {
            AvroKind::Record(_) | AvroKind::Array(_) | AvroKind::Map(_) | AvroKind::Union(_) if self.above.len() >= MOST_DEPTH => {
                return Err(Box::new(Problem::Schema(format!("the schema is deeper than {MOST_DEPTH} levels"))));
            }
            AvroKind::Record(_) if self.above.contains(&id) => ShapeKind::Json,
            AvroKind::Record(fields) => self.inside(id, |shaper| shaper.members(fields, wanted))?,
            AvroKind::Array(items) => ShapeKind::List(Box::new(self.inside(id, |shaper| shaper.shape(*items, &WantedFields::all()))?)),
            AvroKind::Map(values) => Shape::map_of(self.inside(id, |shaper| shaper.shape(*values, &WantedFields::all()))?),
            AvroKind::Union(branches) => return self.union(id, branches, wanted),
            _ if !wanted.is_all && !wanted.fields.is_empty() => return Err(wanted.no_field(std::iter::empty())),
            _ => leaf(node),
        };
        Ok(Shape { kind, is_nullable: matches!(node.kind, AvroKind::Null) })
    }

    fn inside<T>(&mut self, id: NodeId, walk: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.above.push(id);
        let walked = walk(self);
        self.above.pop();
        walked
    }

    fn members(&mut self, fields: &[AvroField], wanted: &WantedFields) -> Read<ShapeKind> {
        if wanted.missing(fields.iter().map(|field| &*field.name)).is_some() {
            return Err(wanted.no_field(fields.iter().map(|field| &*field.name)));
        }
        let mut members = Vec::new();
        for field in fields {
            if let Some(wanted) = wanted.field(&field.name) {
                members.push(Member::new(&field.name, self.shape(field.node, &wanted)?));
            }
        }
        Ok(ShapeKind::Struct(members))
    }

    /// The plain value where all branches fit one type, else a struct with a field for each branch.
    fn union(&mut self, id: NodeId, branches: &[NodeId], wanted: &WantedFields) -> Read<Shape> {
        let is_null = |branch: &&NodeId| matches!(self.schema.node(**branch).kind, AvroKind::Null);
        let is_nullable = branches.iter().any(|branch| is_null(&branch));
        let others: Vec<NodeId> = branches.iter().filter(|branch| !is_null(branch)).copied().collect();
        let wanted = if others.len() == 1 { wanted } else { &WantedFields::all() };
        let shapes = self.inside(id, |shaper| others.iter().map(|branch| shaper.shape(*branch, wanted)).collect::<Read<Vec<_>>>())?;
        if others.is_empty() {
            return Ok(Shape::leaf(DataType::Null).nullable());
        }
        if let Some(kind) = common(&shapes) {
            return Ok(Shape { kind, is_nullable });
        }
        let names = self.branch_names(&others);
        let members = names.iter().zip(shapes).map(|(name, shape)| Member::new(name, shape.nullable())).collect();
        Ok(Shape { kind: ShapeKind::Union(members), is_nullable })
    }

    /// The name of the type of each branch; the full name, with underscores, where two have the same.
    fn branch_names(&self, branches: &[NodeId]) -> Vec<String> {
        let nodes: Vec<&AvroNode> = branches.iter().map(|branch| self.schema.node(*branch)).collect();
        let is_alone = |name: &str| nodes.iter().filter(|node| node.short_name() == name).count() == 1;
        let named = |node: &&AvroNode| {
            let short = node.short_name();
            if is_alone(short) { short.to_owned() } else { node.type_name().replace('.', "_") }
        };
        nodes.iter().map(named).collect()
    }
}

fn leaf(node: &AvroNode) -> ShapeKind {
    let data_type = match (&node.kind, node.logical) {
        (_, Some(Logical::Duration)) => return duration(),
        (_, Some(logical)) => logical_type(logical),
        (AvroKind::Boolean, _) => DataType::Boolean,
        (AvroKind::Int, _) => DataType::Int32,
        (AvroKind::Long, _) => DataType::Int64,
        (AvroKind::Float, _) => DataType::Float32,
        (AvroKind::Double, _) => DataType::Float64,
        (AvroKind::Bytes, _) | (AvroKind::Fixed(0), _) => DataType::Binary,
        (AvroKind::Fixed(size), _) => i32::try_from(*size).map_or(DataType::Binary, DataType::FixedSizeBinary),
        (AvroKind::String | AvroKind::Enum(_), _) => DataType::Utf8,
        _ => DataType::Null,
    };
    ShapeKind::Leaf(data_type)
}

fn logical_type(logical: Logical) -> DataType {
    match logical {
        Logical::Decimal { precision, scale } => decimal_type(precision, scale),
        Logical::Date => DataType::Date32,
        Logical::TimeMillis => DataType::Time32(TimeUnit::Millisecond),
        Logical::TimeMicros => DataType::Time64(TimeUnit::Microsecond),
        Logical::Timestamp { unit, is_utc } => {
            let unit = match unit {
                AvroTimeUnit::Millis => TimeUnit::Millisecond,
                AvroTimeUnit::Micros => TimeUnit::Microsecond,
                AvroTimeUnit::Nanos => TimeUnit::Nanosecond,
            };
            DataType::Timestamp(unit, is_utc.then(|| "UTC".into()))
        }
        Logical::Uuid => DataType::Utf8,
        Logical::Duration => DataType::Null,
    }
}

/// A decimal that no Arrow type holds is text.
fn decimal_type(precision: usize, scale: usize) -> DataType {
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(digits), Ok(scale)) if precision <= MOST_DIGITS[0] => DataType::Decimal128(digits, scale),
        (Ok(digits), Ok(scale)) if precision <= MOST_DIGITS[1] => DataType::Decimal256(digits, scale),
        _ => DataType::Utf8,
    }
}

/// Three numbers, which no Arrow type of an interval holds in their whole range.
fn duration() -> ShapeKind {
    let member = |name| Member::new(name, Shape::leaf(DataType::Int64));
    ShapeKind::Struct(vec![member("months"), member("days"), member("millis")])
}
