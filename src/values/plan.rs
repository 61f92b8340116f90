//! Which column the values of a topic get: that of one schema as which all are read, or one member for each schema.

use std::sync::Arc;

use arrow_schema::DataType;

use super::formats::{AnySchema, Messages, ValueReading};
use super::payload::{Problem, Read};
use super::schemas::{Schemas, member_name};
use super::shape::{Member, Shape, ShapeKind};
use super::wanted::WantedFields;

/// How the values of a read become a column.
#[derive(Debug)]
pub struct ValuePlan {
    schemas: Arc<Schemas>,
    sides: Vec<PlannedReader>,
    shape: Shape,
}

/// A schema as which values are read.
#[derive(Debug)]
struct PlannedReader {
    reader: AnySchema,
    /// The one schema whose values these are, where each schema has a member of its own.
    only: Option<Only>,
    shape: Shape,
    wanted: WantedFields,
}

/// A schema with a member of its own.
#[derive(Clone, Debug)]
struct Only {
    /// Its number.
    schema: usize,
    /// The path of its message, of Protobuf.
    path: Option<Vec<i32>>,
    /// The member; `None` where it is not wanted.
    member: Option<usize>,
}

/// What is known about the values before they are read.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The numbers of the schemas that values may have.
    pub present: Vec<usize>,
    /// Messages of Protobuf that values are: the numbers of their schemas, and their paths there.
    pub messages: Vec<(usize, Vec<i32>)>,
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
    pub fn new(schemas: Arc<Schemas>, expected: &Expected, wanted: &WantedFields) -> Read<Self> {
        if let Some(ReaderSchema { kind, text, referenced }) = &expected.reader {
            let reader = AnySchema::parse(kind, text, referenced);
            let reader = reader.map_err(|problem| Problem::Schema(format!("reader_schema: {problem}")))?;
            let reader = reader.with_integers(schemas.integers());
            return Self::of_one(schemas, reader, wanted);
        }
        let mut present = expected.present.clone();
        present.sort_unstable();
        present.dedup();
        // A schema that is bad is told when a value has it.
        let parsed = present.iter().filter_map(|index| Some((*index, schemas.parsed(*index).ok()?)));
        let units: Vec<SchemaUnit> = parsed.flat_map(|(index, schema)| units_of(index, &schema, &expected.messages)).collect();
        if let [only] = units.as_slice() {
            let only = only.reader.clone();
            return Self::of_one(schemas, only, wanted);
        }
        let newest = expected.newest.and_then(|index| {
            let mut own = units.iter().filter(|unit| unit.schema == index);
            let first = own.next().map(|unit| unit.reader.clone()).or_else(|| schemas.parsed(index).ok());
            first.filter(|_| own.next().is_none())
        });
        match newest {
            Some(newest) if units.iter().all(|unit| unit.reader.is_read_as(&newest)) => Self::of_one(schemas, newest, wanted),
            _ => Self::of_each(schemas, units, wanted),
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
    pub fn step(&self, index: usize) -> Read<Option<ValueReading>> {
        match self.schemas.parsed(index)? {
            AnySchema::Protobuf(schema, message) => {
                let paths = schema.paths().into_iter();
                let read = paths.filter_map(|path| {
                    let writer = AnySchema::Protobuf(Arc::clone(&schema), message.clone()).with_message(&path)?;
                    let step = self.step_of(index, &writer, Some(&path));
                    Some((path, step))
                });
                let by_path = read.collect();
                Ok(Some(ValueReading::Messages(Arc::new(Messages { framing: self.schemas.framing(), schema, by_path }))))
            }
            writer => self.step_of(index, &writer, None),
        }
    }

    fn step_of(&self, index: usize, writer: &AnySchema, path: Option<&[i32]>) -> Read<Option<ValueReading>> {
        let label = || self.schemas.entry(index).map_or_else(String::new, |entry| entry.label());
        let is_its_own = |side: &&PlannedReader| side.only.as_ref().is_none_or(|only| only.schema == index && only.path.as_deref() == path);
        let side = self.sides.iter().find(is_its_own);
        let side = side.ok_or_else(|| Problem::Unresolved(format!("{} was not there when the read was planned", label())))?;
        if let Some(Only { member: None, .. }) = side.only {
            return Ok(None);
        }
        let step = writer.read_as(&side.reader, &side.shape, &side.wanted);
        let step = step.map_err(|problem| Problem::Unresolved(format!("{} cannot be read as the wanted one: {problem}", label())))?;
        let member = side.only.as_ref().and_then(|only| only.member);
        Ok(Some(match member {
            Some(member) => ValueReading::Member(member, Box::new(step)),
            None => step,
        }))
    }

    fn of_one(schemas: Arc<Schemas>, reader: AnySchema, wanted: &WantedFields) -> Read<Self> {
        let shape = reader.shape(wanted)?.nullable();
        Ok(Self { schemas, sides: vec![PlannedReader { reader, only: None, shape: shape.clone(), wanted: wanted.clone() }], shape })
    }

    fn of_each(schemas: Arc<Schemas>, units: Vec<SchemaUnit>, wanted: &WantedFields) -> Read<Self> {
        let mut sides = Vec::new();
        let mut members = Vec::new();
        let counted = units.iter().map(|unit| unit.schema).collect::<Vec<_>>();
        for SchemaUnit { schema, path, reader } in units {
            let Some(entry) = schemas.entry(schema) else { continue };
            let is_bare = schemas.bare() == Some(schema);
            let mut name = if is_bare { "json".to_owned() } else { member_name(entry, reader.fingerprint()) };
            if counted.iter().filter(|other| **other == schema).count() > 1 {
                name = format!("{name}_{}", reader.message_name());
            }
            let Some(wanted) = wanted.field(&name) else {
                let only = Some(Only { schema, path, member: None });
                sides.push(PlannedReader { reader, only, shape: Shape::leaf(DataType::Null), wanted: WantedFields::default() });
                continue;
            };
            let shape = reader.shape(&wanted)?.nullable();
            let only = Some(Only { schema, path, member: Some(members.len()) });
            members.push(Member::new(&name, shape.clone()));
            sides.push(PlannedReader { reader, only, shape, wanted });
        }
        if let Some(name) = wanted.missing(members.iter().map(|member| &*member.name)) {
            return Err(no_field(name, &members));
        }
        let shape =
            if members.is_empty() { Shape::leaf(DataType::Null) } else { Shape { kind: ShapeKind::Union(members), is_nullable: true } };
        Ok(Self { schemas, sides, shape: shape.nullable() })
    }
}

/// A schema that values have, or one of its messages.
struct SchemaUnit {
    schema: usize,
    path: Option<Vec<i32>>,
    reader: AnySchema,
}

/// The messages of a schema that values are; the schema alone for another format than Protobuf.
fn units_of(index: usize, schema: &AnySchema, messages: &[(usize, Vec<i32>)]) -> Vec<SchemaUnit> {
    if !matches!(schema, AnySchema::Protobuf(..)) {
        return vec![SchemaUnit { schema: index, path: None, reader: schema.clone() }];
    }
    let mut paths: Vec<Vec<i32>> = messages.iter().filter(|(number, _)| *number == index).map(|(_, path)| path.clone()).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        paths.push(vec![0]);
    }
    let unit = |path: Vec<i32>| Some(SchemaUnit { schema: index, reader: schema.with_message(&path)?, path: Some(path) });
    paths.into_iter().filter_map(unit).collect()
}

/// A field of several schemas next to each other, or of none, is missing.
fn no_field(name: &str, members: &[Member]) -> Box<Problem> {
    let names: Vec<&str> = members.iter().map(|member| &*member.name).collect();
    let known =
        if names.is_empty() { "no value names a schema that is known".to_owned() } else { format!("the fields are {}", names.join(", ")) };
    Box::new(Problem::Schema(format!("there is no field {name}: {known}")))
}
