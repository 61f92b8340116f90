//! Which column the values of a topic get: that of one schema as which all are read, or one member for each schema.

use std::sync::Arc;

use arrow_schema::DataType;

use super::formats::{AnySchema, Reading};
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
    reader: AnySchema,
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
    pub reader: Option<ReaderSchema>,
}

/// The schema as which a caller wants values.
#[derive(Clone, Debug)]
pub struct ReaderSchema {
    /// AVRO, JSON or PROTOBUF.
    pub kind: String,
    /// Its text.
    pub text: String,
    /// Name and text of each schema that it needs.
    pub referenced: Vec<(String, String)>,
}

impl ValuePlan {
    /// Plans a read.
    ///
    /// # Errors
    /// `Schema` for a reader's schema that is bad, and for fields that are wanted and are not there.
    pub fn new(schemas: Arc<Schemas>, expected: &Expected, wanted: &Wanted) -> Read<Self> {
        if let Some(ReaderSchema { kind, text, referenced }) = &expected.reader {
            let reader = AnySchema::parse(kind, text, referenced);
            let reader = reader.map_err(|problem| Problem::Schema(format!("reader_schema: {problem}")))?;
            return Self::of_one(schemas, reader, wanted);
        }
        // A schema that is bad is told when a value has it.
        let mut parsed: Vec<(usize, AnySchema)> =
            expected.present.iter().filter_map(|index| Some((*index, schemas.parsed(*index).ok()?))).collect();
        parsed.sort_by_key(|(index, _)| *index);
        parsed.dedup_by_key(|(index, _)| *index);
        if let [(_, only)] = parsed.as_slice() {
            let only = only.clone();
            return Self::of_one(schemas, only, wanted);
        }
        let newest = expected.newest.and_then(|index| schemas.parsed(index).ok());
        match newest {
            Some(newest) if parsed.iter().all(|(_, writer)| writer.is_read_as(&newest)) => Self::of_one(schemas, newest, wanted),
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
    pub fn step(&self, index: usize) -> Read<Option<Reading>> {
        let writer = self.schemas.parsed(index)?;
        let label = || self.schemas.entry(index).map_or_else(String::new, |entry| entry.label());
        let is_its_own = |side: &&Side| side.only.is_none_or(|only| only.schema == index);
        let side = self.sides.iter().find(is_its_own);
        let side = side.ok_or_else(|| Problem::Unresolved(format!("{} was not there when the read was planned", label())))?;
        if let Some(Only { member: None, .. }) = side.only {
            return Ok(None);
        }
        let step = writer.read_as(&side.reader, &side.shape);
        let step = step.map_err(|problem| Problem::Unresolved(format!("{} cannot be read as the wanted one: {problem}", label())))?;
        let member = side.only.and_then(|only| only.member);
        Ok(Some(match member {
            Some(member) => Reading::Member(member, Box::new(step)),
            None => step,
        }))
    }

    fn of_one(schemas: Arc<Schemas>, reader: AnySchema, wanted: &Wanted) -> Read<Self> {
        let shape = reader.shape(wanted)?.nullable();
        Ok(Self { schemas, sides: vec![Side { reader, only: None, shape: shape.clone() }], shape })
    }

    fn of_each(schemas: Arc<Schemas>, parsed: Vec<(usize, AnySchema)>, wanted: &Wanted) -> Read<Self> {
        let mut sides = Vec::new();
        let mut members = Vec::new();
        for (index, reader) in parsed {
            let Some(entry) = schemas.entry(index) else { continue };
            let is_bare = schemas.bare() == Some(index);
            let name = if is_bare { "json".to_owned() } else { member_name(entry, reader.fingerprint()) };
            let Some(wanted) = wanted.field(&name) else {
                let only = Some(Only { schema: index, member: None });
                sides.push(Side { reader, only, shape: Shape::leaf(DataType::Null) });
                continue;
            };
            let shape = reader.shape(&wanted)?.nullable();
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
