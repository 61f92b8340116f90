//! The values of records into a column, one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::ArrowError;

use super::column::Column;
use super::formats::{Reading, ValueFormat};
use super::framing::{Framed, Header, MessageName, SchemaName};
use super::json::ensure_text;
use super::payload::{Problem, Read};
use super::plan::ValuePlan;
use crate::decode::Stats;

/// A column of values with that of the ids of their schemas.
#[derive(Debug)]
pub struct ValueDecoder {
    plan: Arc<ValuePlan>,
    column: Column,
    ids: Vec<Option<i64>>,
    /// How the values of each schema are read, as far as it was met.
    known: Vec<Known>,
    /// The place of each schema there.
    places: HashMap<SchemaName, usize>,
    /// The first bytes of a value that named its schema by an id, which most values have too.
    again: Option<([u8; 5], Framed<'static>, usize)>,
    spent: u64,
    counts: Stats,
}

impl ValueDecoder {
    /// An empty column.
    pub fn new(plan: Arc<ValuePlan>) -> Self {
        Self {
            column: Column::new(plan.shape()),
            plan,
            ids: Vec::new(),
            known: Vec::new(),
            places: HashMap::new(),
            again: None,
            spent: 0,
            counts: Stats::default(),
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

    /// Appends a null.
    pub fn push_null(&mut self) {
        self.column.push_null();
        self.ids.push(None);
    }

    /// Appends the value of a record.
    ///
    /// # Errors
    /// What is wrong with it; a null with the id of the schema, as far as it is known, is there for it then.
    pub fn push(&mut self, value: &[u8], header: Option<Header<'_>>) -> Read<()> {
        let rows = self.ids.len();
        self.ids.push(None);
        let pushed = self.push_framed(value, header);
        if pushed.is_err() {
            self.column.truncate(rows);
            self.column.push_null();
        }
        pushed
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

    #[inline]
    fn push_framed(&mut self, value: &[u8], header: Option<Header<'_>>) -> Read<()> {
        let (framed, place) = match (self.again, value.split_first_chunk()) {
            (Some((prefix, framed, place)), Some((found, payload))) if header.is_none() && prefix == *found => {
                (Framed { payload, ..framed }, place)
            }
            _ => self.named(value, header)?,
        };
        let Self { plan, known, ids, column, spent, counts, .. } = self;
        let Some(Known { id, step, index, format }) = known.get(place) else { return Err(Box::new(Problem::Shape)) };
        if let Some(slot) = ids.last_mut() {
            *slot = id_in(framed.name).or(*id);
        }
        let rows = column.len();
        let read = match step {
            Ok(Some(step)) => step.read(&framed, column, spent),
            Ok(None) => {
                column.push_null();
                Ok(())
            }
            Err(problem) => Err(problem.clone()),
        };
        if read.is_err() && plan.schemas().bare() == Some(*index) && !is_json(framed.payload) {
            column.truncate(rows);
            column.push_null();
            counts.raw_values += 1;
            return Ok(());
        }
        match format {
            _ if read.is_err() => {}
            ValueFormat::Json => counts.json_values += 1,
            ValueFormat::Protobuf => counts.protobuf_values += 1,
            _ => counts.avro_values += 1,
        }
        read
    }

    /// Takes a value apart and finds its schema among those that were met.
    fn named<'v>(&mut self, value: &'v [u8], header: Option<Header<'v>>) -> Read<(Framed<'v>, usize)> {
        let schemas = self.plan.schemas();
        let framed = schemas.take_apart(value, header)?;
        if let Some(slot) = self.ids.last_mut() {
            *slot = id_in(framed.name);
        }
        let place = self.place(framed.name)?;
        if let (SchemaName::Id(_), true, None, Some(prefix)) = (framed.name, framed.is_confluent, header, value.first_chunk()) {
            self.again = Some((*prefix, Framed { payload: &[], message: MessageName::InPayload, ..framed }, place));
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
            self.known.push(Known { index, id, format, step: self.plan.step(index) });
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

fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| ensure_text(text).is_ok())
}

/// A schema that was met.
#[derive(Debug)]
struct Known {
    index: usize,
    id: Option<i64>,
    format: ValueFormat,
    step: Read<Option<Reading>>,
}

/// Most slots for which room is made before they are needed.
const MOST_RESERVED: usize = 1 << 22;
/// Most names of schemas that are kept.
const MOST_NAMES: usize = 100_000;

/// The limit of what a batch of values takes, above which it is closed.
pub const MOST_SPENT: u64 = 256 << 20;
