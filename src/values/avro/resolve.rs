//! How values of one schema are read as values of another: the rules of schema resolution, worked out once for a pair of schemas.
//!
//! Source: "Schema Resolution" in the specification of Avro 1.12; `SchemaResolver` in Apache Avro for Java.

use std::sync::Arc;

use super::default;
use super::schema::{AvroField, AvroKind, AvroNode, AvroSchema, Logical, NodeId, Symbols};
use crate::values::shape::{Member, Shape, ShapeKind};

/// How a value of the writer's type becomes a value of a column.
#[derive(Clone, Debug)]
pub enum ResolveStep {
    /// Null.
    Null,
    /// A byte.
    Boolean,
    /// An int, also for a column of long, float or double.
    Int,
    /// A long, also for a column of float or double.
    Long,
    /// A float, also for a column of double.
    Float,
    /// A double.
    Double,
    /// Bytes or text with their length.
    Run {
        /// The writer's type is bytes.
        is_bytes: bool,
    },
    /// So many bytes.
    Fixed(usize),
    /// A symbol, as the reader's; `None` for one that it does not know.
    Enum(Arc<[Option<Box<str>>]>),
    /// A decimal of so many bytes, or of bytes with their length.
    Decimal {
        /// How many bytes, if they have no length before them.
        size: Option<usize>,
        /// Most digits.
        precision: usize,
        /// Digits after the point.
        scale: usize,
    },
    /// 16 bytes that are a UUID.
    Uuid,
    /// 12 bytes that are a duration.
    Duration,
    /// Items, each of at least so many bytes.
    Array(Box<ResolveStep>, usize),
    /// Keys with values, each of at least so many bytes.
    Map(Box<ResolveStep>, usize),
    /// Fields in the writer's order.
    Record(Vec<AvroFieldStep>),
    /// The branches of the writer's union.
    Union(Vec<ResolveStep>),
    /// A union of null, which is this branch, and one other type.
    Nullable(i64, Box<ResolveStep>),
    /// A value of one member of a struct whose others are null.
    Member(usize, Box<ResolveStep>),
    /// JSON text.
    Json(Arc<AvroSchema>, NodeId),
    /// A branch that the reader's schema does not know.
    Unresolved(Box<str>),
}

/// What becomes of a field.
#[derive(Clone, Debug)]
pub enum AvroFieldStep {
    /// It is read into this child.
    Read(usize, ResolveStep),
    /// It is skipped.
    Skip(Arc<AvroSchema>, NodeId),
    /// The reader's default for a child that the writer does not have, encoded.
    Default(usize, ResolveStep, Box<[u8]>),
}

/// Works out how to read one schema as another.
pub struct SchemaResolver<'s> {
    writer: &'s Arc<AvroSchema>,
    reader: &'s Arc<AvroSchema>,
    /// Values may be met that cannot be read: branches and symbols that the reader does not know.
    pub is_partial: bool,
}

type Resolved = Result<ResolveStep, String>;

impl<'s> SchemaResolver<'s> {
    /// A resolver for a pair of schemas.
    pub fn new(writer: &'s Arc<AvroSchema>, reader: &'s Arc<AvroSchema>) -> Self {
        Self { writer, reader, is_partial: false }
    }

    /// How whole values are read into a column of the reader's shape.
    ///
    /// # Errors
    /// Why no value can be read.
    pub fn resolve(&mut self, shape: &Shape) -> Resolved {
        self.step(self.writer.root(), self.reader.root(), shape)
    }

    fn step(&mut self, from: NodeId, to: NodeId, shape: &Shape) -> Resolved {
        let (written, read) = (self.writer.node(from), self.reader.node(to));
        match (&written.kind, &read.kind) {
            (AvroKind::Union(branches), _) => self.written_union(branches, to, shape),
            (_, AvroKind::Union(branches)) => self.read_union(from, branches, shape),
            (AvroKind::Record(_), AvroKind::Record(_)) if shape.kind == ShapeKind::Json => {
                Ok(ResolveStep::Json(Arc::clone(self.writer), from))
            }
            (AvroKind::Record(written), AvroKind::Record(read)) => self.record(written, read, shape),
            (AvroKind::Array(written), AvroKind::Array(read)) => match &shape.kind {
                ShapeKind::List(items) => {
                    Ok(ResolveStep::Array(Box::new(self.step(*written, *read, items)?), self.writer.least_len(*written)))
                }
                _ => Err(unfit(shape)),
            },
            (AvroKind::Map(written), AvroKind::Map(read)) => match &shape.kind {
                ShapeKind::Map(_, values) => {
                    let least = self.writer.least_len(*written).saturating_add(1);
                    Ok(ResolveStep::Map(Box::new(self.step(*written, *read, values)?), least))
                }
                _ => Err(unfit(shape)),
            },
            (AvroKind::Enum(symbols), AvroKind::Enum(known)) if is_named_alike(written, read) => Ok(self.symbols(symbols, known)),
            _ => scalar(written, read).ok_or_else(|| format!("{} cannot be read as {}", written.type_name(), read.type_name())),
        }
    }

    /// Each branch is read by itself; one that cannot be is an error when a value has it.
    fn written_union(&mut self, branches: &[NodeId], to: NodeId, shape: &Shape) -> Resolved {
        let mut steps = Vec::with_capacity(branches.len());
        let mut last = None;
        for branch in branches {
            steps.push(self.step(*branch, to, shape).unwrap_or_else(|problem| {
                last = Some(problem.clone());
                ResolveStep::Unresolved(problem.into())
            }));
        }
        match last {
            Some(problem) if steps.iter().all(|step| matches!(step, ResolveStep::Unresolved(_))) => return Err(problem),
            Some(_) => self.is_partial = true,
            None => {}
        }
        Ok(match <[ResolveStep; 2]>::try_from(steps) {
            Ok([ResolveStep::Null, step]) if !is_null(&step) => ResolveStep::Nullable(0, Box::new(step)),
            Ok([step, ResolveStep::Null]) if !is_null(&step) => ResolveStep::Nullable(1, Box::new(step)),
            Ok(steps) => ResolveStep::Union(steps.into()),
            Err(steps) => ResolveStep::Union(steps),
        })
    }

    /// The first branch that has the name of the type, else the first that can read it.
    fn read_union(&mut self, from: NodeId, branches: &[NodeId], shape: &Shape) -> Resolved {
        let written = self.writer.node(from);
        let rank = |branch: &NodeId| closeness(written, self.reader.node(*branch));
        let mut candidates: Vec<NodeId> = branches.to_vec();
        candidates.sort_by_key(rank);
        let is_null = |branch: &&NodeId| matches!(self.reader.node(**branch).kind, AvroKind::Null);
        let others: Vec<NodeId> = branches.iter().filter(|branch| !is_null(branch)).copied().collect();
        for branch in candidates {
            let place = others.iter().position(|other| *other == branch);
            let step = match (&shape.kind, place) {
                (ShapeKind::Union(members), Some(place)) => self.member(from, branch, members, place),
                _ => self.step(from, branch, shape),
            };
            if step.is_ok() {
                return step;
            }
        }
        Err(format!("{} does not fit a branch of the reader's union", written.type_name()))
    }

    fn member(&mut self, from: NodeId, to: NodeId, members: &[Member], place: usize) -> Resolved {
        let member = members.get(place).ok_or("a branch without a column")?;
        Ok(ResolveStep::Member(place, Box::new(self.step(from, to, &member.shape)?)))
    }

    fn symbols(&mut self, written: &Symbols, read: &Symbols) -> ResolveStep {
        let is_known = |symbol: &str| read.names.iter().any(|known| **known == *symbol);
        let known = written.names.iter().map(|symbol| if is_known(symbol) { Some(symbol.clone()) } else { read.default.clone() });
        let symbols: Arc<[Option<Box<str>>]> = known.collect();
        self.is_partial |= symbols.iter().any(Option::is_none);
        ResolveStep::Enum(symbols)
    }

    fn record(&mut self, written: &[AvroField], read: &[AvroField], shape: &Shape) -> Resolved {
        let ShapeKind::Struct(members) = &shape.kind else { return Err(unfit(shape)) };
        let place_of = |name: &str| members.iter().position(|member| *member.name == *name);
        let mut steps = Vec::with_capacity(written.len());
        let mut found: Vec<&str> = Vec::new();
        for field in written {
            let target = reader_field(field, written, read).filter(|target| !found.contains(&&*target.name));
            let place = target.and_then(|target| Some((target, place_of(&target.name)?)));
            found.extend(target.map(|target| &*target.name));
            steps.push(match place.and_then(|(target, place)| Some((target, place, members.get(place)?))) {
                Some((target, place, member)) => {
                    let step = self.step(field.node, target.node, &member.shape);
                    AvroFieldStep::Read(place, step.map_err(|problem| format!("field {:?}: {problem}", target.name))?)
                }
                None => AvroFieldStep::Skip(Arc::clone(self.writer), field.node),
            });
        }
        for field in read.iter().filter(|field| !found.contains(&&*field.name)) {
            let default = field.default.as_ref().ok_or_else(|| format!("field {:?} is missing and has no default", field.name))?;
            let Some((place, member)) = place_of(&field.name).and_then(|place| Some((place, members.get(place)?))) else { continue };
            let bytes =
                default::encoded(self.reader, field.node, default).map_err(|problem| format!("default of {:?}: {problem}", field.name))?;
            let step = SchemaResolver::new(self.reader, self.reader).step(field.node, field.node, &member.shape)?;
            steps.push(AvroFieldStep::Default(place, step, bytes.into()));
        }
        Ok(ResolveStep::Record(steps))
    }
}

fn is_null(step: &ResolveStep) -> bool {
    matches!(step, ResolveStep::Null | ResolveStep::Unresolved(_))
}

/// The reader's field for a field of the writer: by its name, else by an alias.
fn reader_field<'r>(field: &AvroField, written: &[AvroField], read: &'r [AvroField]) -> Option<&'r AvroField> {
    let is_written = |name: &str| written.iter().any(|other| *other.name == *name);
    let by_alias = |other: &&AvroField| other.aliases.contains(&field.name) && !is_written(&other.name);
    read.iter().find(|other| other.name == field.name).or_else(|| read.iter().find(by_alias))
}

/// How close a branch of the reader's union is to a type: the same name, the same kind, anything.
fn closeness(written: &AvroNode, read: &AvroNode) -> u8 {
    let is_same_kind = written.kind.name() == read.kind.name();
    match (&written.name, &read.name) {
        (Some(one), Some(other)) if is_same_kind && one.full == other.full => 0,
        (Some(_), Some(_)) if is_same_kind && is_named_alike(written, read) => 1,
        (None, None) if is_same_kind => 0,
        _ if is_same_kind => 2,
        _ => 3,
    }
}

fn is_named_alike(written: &AvroNode, read: &AvroNode) -> bool {
    let is_alias = |name: &super::schema::AvroName| name.aliases.iter().any(|alias| **alias == *written.type_name());
    written.short_name() == read.short_name() || read.name.as_ref().is_some_and(is_alias)
}

/// How a type without other types in it is read; `None` where it cannot be.
fn scalar(written: &AvroNode, read: &AvroNode) -> Option<ResolveStep> {
    Some(match (&written.kind, &read.kind) {
        (AvroKind::Null, AvroKind::Null) => ResolveStep::Null,
        (AvroKind::Boolean, AvroKind::Boolean) => ResolveStep::Boolean,
        (AvroKind::Int, AvroKind::Int | AvroKind::Long | AvroKind::Float | AvroKind::Double) => ResolveStep::Int,
        (AvroKind::Long, AvroKind::Long | AvroKind::Float | AvroKind::Double) => ResolveStep::Long,
        (AvroKind::Float, AvroKind::Float | AvroKind::Double) => ResolveStep::Float,
        (AvroKind::Double, AvroKind::Double) => ResolveStep::Double,
        (AvroKind::Bytes | AvroKind::String, AvroKind::Bytes | AvroKind::String) => match read.logical {
            Some(Logical::Decimal { precision, scale }) => ResolveStep::Decimal { size: None, precision, scale },
            _ => ResolveStep::Run { is_bytes: matches!(written.kind, AvroKind::Bytes) },
        },
        (AvroKind::Fixed(size), AvroKind::Fixed(other)) if size == other && is_named_alike(written, read) => match read.logical {
            Some(Logical::Decimal { precision, scale }) => ResolveStep::Decimal { size: Some(*size), precision, scale },
            Some(Logical::Uuid) => ResolveStep::Uuid,
            Some(Logical::Duration) => ResolveStep::Duration,
            _ => ResolveStep::Fixed(*size),
        },
        _ => return None,
    })
}

fn unfit(shape: &Shape) -> String {
    format!("the column has the type {}", shape.data_type())
}
