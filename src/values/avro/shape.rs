//! The column of an Avro type.

use arrow_schema::{DataType, TimeUnit};

use super::schema::{Field, Kind, Logical, Node, NodeId, Schema, Unit};
use crate::values::payload::{MOST_DEPTH, Problem, Read};
use crate::values::shape::{MOST_COLUMNS, Member, Shape, ShapeKind, common};
use crate::values::wanted::Wanted;

/// Digits that fit 128 and 256 bits.
const MOST_DIGITS: [usize; 2] = [38, 76];

/// The column of the whole value, with the wanted fields alone.
///
/// # Errors
/// `Schema` for a schema that is too deep or too wide, or has no field that is wanted.
pub fn shape_of(schema: &Schema, wanted: &Wanted) -> Read<Shape> {
    let mut shaper = Shaper { schema, above: Vec::new(), columns: 0 };
    shaper.shape(schema.root(), wanted)
}

struct Shaper<'s> {
    schema: &'s Schema,
    /// The records that are being walked into.
    above: Vec<NodeId>,
    columns: usize,
}

impl Shaper<'_> {
    fn shape(&mut self, id: NodeId, wanted: &Wanted) -> Read<Shape> {
        self.columns += 1;
        if self.columns > MOST_COLUMNS {
            return Err(Box::new(Problem::Schema(format!("the schema has more than {MOST_COLUMNS} columns"))));
        }
        let node = self.schema.node(id);
        let kind = match &node.kind {
            Kind::Record(_) | Kind::Array(_) | Kind::Map(_) | Kind::Union(_) if self.above.len() >= MOST_DEPTH => {
                return Err(Box::new(Problem::Schema(format!("the schema is deeper than {MOST_DEPTH} levels"))));
            }
            Kind::Record(_) if self.above.contains(&id) => ShapeKind::Json,
            Kind::Record(fields) => self.inside(id, |shaper| shaper.members(fields, wanted))?,
            Kind::Array(items) => ShapeKind::List(Box::new(self.inside(id, |shaper| shaper.shape(*items, &Wanted::all()))?)),
            Kind::Map(values) => Shape::map_of(self.inside(id, |shaper| shaper.shape(*values, &Wanted::all()))?),
            Kind::Union(branches) => return self.union(id, branches, wanted),
            _ if !wanted.is_all && !wanted.fields.is_empty() => return Err(wanted.no_field(std::iter::empty())),
            _ => leaf(node),
        };
        Ok(Shape { kind, is_nullable: matches!(node.kind, Kind::Null) })
    }

    fn inside<T>(&mut self, id: NodeId, walk: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.above.push(id);
        let walked = walk(self);
        self.above.pop();
        walked
    }

    fn members(&mut self, fields: &[Field], wanted: &Wanted) -> Read<ShapeKind> {
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
    fn union(&mut self, id: NodeId, branches: &[NodeId], wanted: &Wanted) -> Read<Shape> {
        let is_null = |branch: &&NodeId| matches!(self.schema.node(**branch).kind, Kind::Null);
        let is_nullable = branches.iter().any(|branch| is_null(&branch));
        let others: Vec<NodeId> = branches.iter().filter(|branch| !is_null(branch)).copied().collect();
        let wanted = if others.len() == 1 { wanted } else { &Wanted::all() };
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
        let nodes: Vec<&Node> = branches.iter().map(|branch| self.schema.node(*branch)).collect();
        let is_alone = |name: &str| nodes.iter().filter(|node| node.short_name() == name).count() == 1;
        let named = |node: &&Node| {
            let short = node.short_name();
            if is_alone(short) { short.to_owned() } else { node.type_name().replace('.', "_") }
        };
        nodes.iter().map(named).collect()
    }
}

fn leaf(node: &Node) -> ShapeKind {
    let data_type = match (&node.kind, node.logical) {
        (_, Some(Logical::Duration)) => return duration(),
        (_, Some(logical)) => logical_type(logical),
        (Kind::Boolean, _) => DataType::Boolean,
        (Kind::Int, _) => DataType::Int32,
        (Kind::Long, _) => DataType::Int64,
        (Kind::Float, _) => DataType::Float32,
        (Kind::Double, _) => DataType::Float64,
        (Kind::Bytes, _) | (Kind::Fixed(0), _) => DataType::Binary,
        (Kind::Fixed(size), _) => i32::try_from(*size).map_or(DataType::Binary, DataType::FixedSizeBinary),
        (Kind::String | Kind::Enum(_), _) => DataType::Utf8,
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
                Unit::Millis => TimeUnit::Millisecond,
                Unit::Micros => TimeUnit::Microsecond,
                Unit::Nanos => TimeUnit::Nanosecond,
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
