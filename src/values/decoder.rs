//! The values of records into a column, one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::ArrowError;

use super::column::ValueColumn;
use super::formats::{ValueFormat, ValueReading};
use super::framed::{Framed, MessageName};
use super::framing::{Framing, SchemaHeader};
use super::json::ensure_inferable;
use super::payload::{Problem, Read};
use super::plan::ValuePlan;
use super::schema_name::SchemaName;
use crate::columns::ValueNotes;
use crate::decode::Stats;

/// A column of values with that of the ids of their schemas.
#[derive(Debug)]
pub struct ValueDecoder {
    plan: Arc<ValuePlan>,
    column: ValueColumn,
    ids: Vec<Option<i64>>,
    /// How the values of each schema are read, as far as it was met.
    known: Vec<KnownSchema>,
    /// The place of each schema there.
    places: HashMap<SchemaName, usize>,
    /// The first bytes of a value that named its schema by an id, which most values have too.
    again: Option<([u8; 5], Framed<'static>, usize)>,
    spent: u64,
    counts: Stats,
    notes: ValueNotes,
    /// Where payloads are decompressed.
    scratch: Vec<u8>,
}

/// What is wrong with a value that is null, or has a null in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// What it is.
    pub problem: Box<Problem>,
    /// False if the format was detected from the text alone: such a value does not end a read.
    pub is_error: bool,
}

impl ValueDecoder {
    /// An empty column.
    pub fn new(plan: Arc<ValuePlan>) -> Self {
        Self {
            column: ValueColumn::new(plan.shape()),
            plan,
            ids: Vec::new(),
            known: Vec::new(),
            places: HashMap::new(),
            again: None,
            spent: 0,
            counts: Stats::default(),
            notes: ValueNotes::default(),
            scratch: Vec::new(),
        }
    }

    /// Makes room for so many rows, unless they have very many columns.
    pub fn reserve(&mut self, rows: usize) {
        let rows = rows.min(MOST_RESERVED / self.column.width().max(1));
        self.column.reserve(rows);
        self.ids.reserve(rows);
    }

    /// The bytes that the values take beyond what is in their payloads, about.
    pub fn spent(&self) -> u64 {
        self.spent.saturating_mul(8)
    }

    /// How many values of each format were decoded.
    pub fn counts(&self) -> &Stats {
        &self.counts
    }

    /// What was noticed: schemas that are not known, framings that were detected.
    pub fn notes(&self) -> &ValueNotes {
        &self.notes
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        self.column.push_null();
        self.ids.push(None);
    }

    /// Appends the value of a record. Where formats are detected, a value of an unknown schema is null.
    ///
    /// # Errors
    /// What is wrong with it. It is there then as far as the problem is partial; otherwise a null, with the id of the schema if that is known.
    pub fn push(&mut self, value: &[u8], header: Option<SchemaHeader<'_>>) -> Result<(), Flaw> {
        self.ids.push(None);
        let is_tried = self.plan.schemas().tries_framings();
        let pushed = if is_tried { self.push_tried(value, header).map(|(_, flaw)| flaw) } else { self.push_framed(value, header) };
        let problem = match pushed {
            Ok(flaw) => return flaw.map_or(Ok(()), Err),
            Err(problem) => problem,
        };
        self.column.push_null();
        if self.plan.schemas().format() != ValueFormat::Auto || !problem.is_undetected() {
            return Err(Flaw { problem, is_error: true });
        }
        self.counts.raw_values += 1;
        if let Problem::UnknownSchema(name) = *problem {
            self.notes.add_unknown(name.to_string());
        }
        Ok(())
    }

    /// The value of a record taken apart, with the framing that gives a value of the only schema; nothing is kept.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn taken_apart<'v>(&mut self, value: &'v [u8], header: Option<SchemaHeader<'v>>) -> Read<Framed<'v>> {
        self.ids.push(None);
        let found = self.push_tried(value, header).map(|(framed, _)| framed);
        self.ids.clear();
        self.column.truncate(0);
        self.spent = 0;
        found
    }

    /// The column, and that of the ids; no rows are left.
    ///
    /// # Errors
    /// Never for columns that this type wrote.
    pub fn finish(&mut self) -> Result<(ArrayRef, ArrayRef), ArrowError> {
        let ids: Int64Array = std::mem::take(&mut self.ids).into_iter().collect();
        Ok((self.finish_column()?, Arc::new(ids)))
    }

    /// The column without the ids; no rows are left.
    ///
    /// # Errors
    /// Never for columns that this type wrote.
    pub fn finish_column(&mut self) -> Result<ArrayRef, ArrowError> {
        self.spent = 0;
        self.ids.clear();
        self.column.finish()
    }

    /// Appends a value of the only schema, with the first framing that gives one.
    fn push_tried<'v>(&mut self, value: &'v [u8], header: Option<SchemaHeader<'v>>) -> Read<(Framed<'v>, Option<Flaw>)> {
        let mut failed: Option<Box<Problem>> = None;
        for framing in Framing::candidates(value, header.is_some()) {
            let framed = self.plan.schemas().take_apart_as(*framing, value, header);
            let read = framed.and_then(|framed| self.place(framed.name).map(|place| (framed, place)));
            let read = read.and_then(|(framed, place)| self.push_payload(&framed, place).map(|flaw| (framed, flaw)));
            match read {
                Ok(found) => {
                    let name = if header.is_some() && *framing == Framing::Auto { "header" } else { framing.name() };
                    if *framing != Framing::None {
                        self.notes.add_framing(name);
                    }
                    return Ok(found);
                }
                Err(problem) => {
                    failed = Some(match failed {
                        Some(other) if matches!(*other, Problem::UnknownSchema(_)) => other,
                        // What is wrong without framing comes first; it is tried last, but where that is unusual.
                        Some(other) if *framing == Framing::None => {
                            Box::new(Problem::Hinted(problem, format!("with the framing that the value begins with: {other}")))
                        }
                        Some(other) => other,
                        None => problem,
                    });
                }
            }
        }
        Err(failed.unwrap_or_else(|| Box::new(Problem::Shape)))
    }

    #[inline]
    fn push_framed(&mut self, value: &[u8], header: Option<SchemaHeader<'_>>) -> Read<Option<Flaw>> {
        let (framed, place) = match (self.again, value.split_first_chunk()) {
            (Some((prefix, framed, place)), Some((found, payload))) if header.is_none() && prefix == *found => {
                (Framed { payload, ..framed }, place)
            }
            _ => self.named(value, header)?,
        };
        let pushed = self.push_payload(&framed, place);
        pushed.map_err(|problem| match self.plan.schemas().framing() {
            Framing::None => hinted(problem, value),
            _ => problem,
        })
    }

    /// Appends a payload of a schema; nothing is appended for a bad one. Returns why the value is null or has a null in it.
    #[inline]
    fn push_payload(&mut self, framed: &Framed<'_>, place: usize) -> Read<Option<Flaw>> {
        let Self { plan, known, ids, column, spent, counts, scratch, .. } = self;
        let Some(KnownSchema { id, step, index, format }) = known.get(place) else { return Err(Box::new(Problem::Shape)) };
        if let Some(slot) = ids.last_mut() {
            *slot = id_in(framed.name).or(*id);
        }
        let payload = framed.body.opened(framed.payload, scratch)?;
        // A text with a name twice is not JSON, also where other fields are wanted.
        let is_bare = plan.schemas().bare() == Some(*index);
        if is_bare && let Err(refused) = ensure_inferable(payload, false) {
            column.push_null();
            counts.raw_values += 1;
            return Ok(refused.map(|problem| Flaw { problem, is_error: false }));
        }
        let rows = column.len();
        let read = match step {
            Ok(Some(step)) => step.read(&Framed { payload, ..*framed }, column, spent),
            Ok(None) => {
                column.push_null();
                Ok(())
            }
            Err(problem) => Err(problem.clone()),
        };
        let flaw = match read {
            Ok(()) => None,
            Err(problem) if problem.is_partial() => Some(Flaw { problem, is_error: !is_bare }),
            Err(problem) => {
                column.truncate(rows);
                return Err(problem);
            }
        };
        match format {
            ValueFormat::Json => counts.json_values += 1,
            ValueFormat::Protobuf => counts.protobuf_values += 1,
            ValueFormat::Avro | ValueFormat::Auto => counts.avro_values += 1,
            ValueFormat::Primitive => {}
        }
        Ok(flaw)
    }

    /// Takes a value apart and finds its schema among those that were met.
    fn named<'v>(&mut self, value: &'v [u8], header: Option<SchemaHeader<'v>>) -> Read<(Framed<'v>, usize)> {
        let schemas = self.plan.schemas();
        let framed = schemas.take_apart(value, header)?;
        if let Some(slot) = self.ids.last_mut() {
            *slot = id_in(framed.name);
        }
        let place = self.place(framed.name)?;
        if let (SchemaName::Id(_), true, None, Some(prefix)) = (framed.name, framed.is_confluent, header, value.first_chunk()) {
            // A header is not there, so that the name of the message is no part of one.
            let message = if framed.message == MessageName::First { MessageName::First } else { MessageName::InPayload };
            self.again = Some((*prefix, Framed { payload: &[], message, ..framed }, place));
        }
        Ok((framed, place))
    }

    /// Where the schema with a name is among those that were met.
    fn place(&mut self, name: SchemaName) -> Read<usize> {
        if let Some(place) = self.places.get(&name) {
            return Ok(*place);
        }
        let index = self.plan.schemas().find(name)?;
        let place = self.known.iter().position(|known| known.index == index).unwrap_or_else(|| {
            let entry = self.plan.schemas().entry(index);
            let format = entry.map_or(ValueFormat::Auto, |entry| ValueFormat::of_kind(&entry.kind));
            let id = entry.and_then(|entry| entry.id);
            self.known.push(KnownSchema { index, id, format, step: self.plan.step(index) });
            self.known.len() - 1
        });
        // A set of one schema without a name is that of every name: those of values must not fill the memory.
        if self.places.len() < MOST_NAMES {
            self.places.insert(name, place);
        }
        Ok(place)
    }
}

/// The id in the name of a schema. A global id is not one that the schema is known by.
fn id_in(name: SchemaName) -> Option<i64> {
    if let SchemaName::Id(id) = name { Some(id) } else { None }
}

/// The problem of a value that is read without framing and begins with one, with the option that reads it.
#[cold]
fn hinted(problem: Box<Problem>, value: &[u8]) -> Box<Problem> {
    let framing = Framing::candidates(value, false).iter().find(|framing| **framing != Framing::None);
    let Some(framing) = framing else { return problem };
    let bytes = value.iter().take(5).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let hint = format!("it begins with {bytes}, as the framing {0:?} does: pass framing={0:?} (--framing {0})", framing.name());
    Box::new(Problem::Hinted(problem, hint))
}

/// A schema that was met.
#[derive(Debug)]
struct KnownSchema {
    index: usize,
    id: Option<i64>,
    format: ValueFormat,
    step: Read<Option<ValueReading>>,
}

/// Most slots for which room is made before they are needed.
const MOST_RESERVED: usize = 1 << 22;
/// Most names of schemas that are kept.
const MOST_NAMES: usize = 100_000;

/// The limit of what a batch of values takes, above which it is closed.
pub const MOST_SPENT: u64 = 256 << 20;
