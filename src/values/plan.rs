//! Which column the values of a topic get: that of one schema as which all are read, or one member for each schema.

use std::sync::Arc;

use arrow_schema::DataType;

use super::avro::{self, Resolver, Step};
use super::payload::{Problem, Read};
use super::schemas::{Schemas, member_name};
use super::shape::{Member, Shape, ShapeKind};
use super::wanted::Wanted;

/// How the values of a read become a column.
#[derive(Debug)]
pub struct ValuePlan {
    schemas: Arc<Schemas>,
    sides: Vec<Side>,
    shape: Shape,
}

/// A schema as which values are read.
#[derive(Debug)]
struct Side {
    reader: Arc<avro::Schema>,
    /// The one schema whose values these are, where each schema has a member of its own.
    only: Option<Only>,
    shape: Shape,
}

/// A schema with a member of its own.
#[derive(Clone, Copy, Debug)]
struct Only {
    /// Its number.
    schema: usize,
    /// The member; `None` where it is not wanted.
    member: Option<usize>,
}

/// What is known about the values before they are read.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The numbers of the schemas that values may have.
    pub present: Vec<usize>,
    /// The number of the newest of them, as which all are read if they can be.
    pub newest: Option<usize>,
    /// The schema as which the caller wants them, with those that it needs.
    pub reader: Option<(String, Vec<String>)>,
}

impl ValuePlan {
    /// Plans a read.
    ///
    /// # Errors
    /// `Schema` for a reader's schema that is bad, and for fields that are wanted and are not there.
    pub fn new(schemas: Arc<Schemas>, expected: &Expected, wanted: &Wanted) -> Read<Self> {
        if let Some((text, referenced)) = &expected.reader {
            let referenced: Vec<&str> = referenced.iter().map(String::as_str).collect();
            let reader = avro::Schema::parse(text, &referenced).map_err(|problem| Problem::Schema(format!("reader_schema: {problem}")))?;
            return Self::of_one(schemas, Arc::new(reader), wanted);
        }
        // A schema that is bad is told when a value has it.
        let mut parsed: Vec<(usize, Arc<avro::Schema>)> =
            expected.present.iter().filter_map(|index| Some((*index, schemas.avro(*index).ok()?))).collect();
        parsed.sort_by_key(|(index, _)| *index);
        parsed.dedup_by_key(|(index, _)| *index);
        if let [(_, only)] = parsed.as_slice() {
            let only = Arc::clone(only);
            return Self::of_one(schemas, only, wanted);
        }
        let newest = expected.newest.and_then(|index| schemas.avro(index).ok());
        match newest {
            Some(newest) if parsed.iter().all(|(_, writer)| reads_all(writer, &newest)) => Self::of_one(schemas, newest, wanted),
            _ => Self::of_each(schemas, parsed, wanted),
        }
    }

    /// The shape of the column.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The schemas that values may name.
    pub fn schemas(&self) -> &Arc<Schemas> {
        &self.schemas
    }

    /// How the values of a schema are read; `None` if no field of them is wanted.
    ///
    /// # Errors
    /// `Unresolved` for a schema that cannot be read as the wanted one, or is not among those that have a member.
    pub fn step(&self, index: usize) -> Read<Option<Step>> {
        let writer = self.schemas.avro(index)?;
        let label = || self.schemas.entry(index).map_or_else(String::new, |entry| entry.label());
        let is_its_own = |side: &&Side| side.only.is_none_or(|only| only.schema == index);
        let side = self.sides.iter().find(is_its_own);
        let side = side.ok_or_else(|| Problem::Unresolved(format!("{} was not there when the read was planned", label())))?;
        if let Some(Only { member: None, .. }) = side.only {
            return Ok(None);
        }
        let step = Resolver::new(&writer, &side.reader).resolve(&side.shape);
        let step = step.map_err(|problem| Problem::Unresolved(format!("{} cannot be read as the wanted one: {problem}", label())))?;
        let member = side.only.and_then(|only| only.member);
        Ok(Some(match member {
            Some(member) => Step::Member(member, Box::new(step)),
            None => step,
        }))
    }

    fn of_one(schemas: Arc<Schemas>, reader: Arc<avro::Schema>, wanted: &Wanted) -> Read<Self> {
        let shape = avro::shape_of(&reader, wanted)?.nullable();
        Ok(Self { schemas, sides: vec![Side { reader, only: None, shape: shape.clone() }], shape })
    }

    fn of_each(schemas: Arc<Schemas>, parsed: Vec<(usize, Arc<avro::Schema>)>, wanted: &Wanted) -> Read<Self> {
        let mut sides = Vec::new();
        let mut members = Vec::new();
        for (index, reader) in parsed {
            let Some(entry) = schemas.entry(index) else { continue };
            let name = member_name(entry, avro::fingerprint(&reader));
            let Some(wanted) = wanted.field(&name) else {
                let only = Some(Only { schema: index, member: None });
                sides.push(Side { reader, only, shape: Shape::leaf(DataType::Null) });
                continue;
            };
            let shape = avro::shape_of(&reader, &wanted)?.nullable();
            let only = Some(Only { schema: index, member: Some(members.len()) });
            members.push(Member::new(&name, shape.clone()));
            sides.push(Side { reader, only, shape });
        }
        if let Some(name) = wanted.missing(members.iter().map(|member| &*member.name)) {
            return Err(Box::new(Problem::Schema(format!("there is no field {name}: there are {} schemas", members.len()))));
        }
        let shape =
            if members.is_empty() { Shape::leaf(DataType::Null) } else { Shape { kind: ShapeKind::Union(members), is_nullable: true } };
        Ok(Self { schemas, sides, shape: shape.nullable() })
    }
}

/// True if every value of a schema can be read as another one.
fn reads_all(writer: &Arc<avro::Schema>, reader: &Arc<avro::Schema>) -> bool {
    let Ok(shape) = avro::shape_of(reader, &Wanted::all()) else { return false };
    let mut resolver = Resolver::new(writer, reader);
    resolver.resolve(&shape).is_ok() && !resolver.is_partial
}
