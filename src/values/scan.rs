//! The schemas that the values of a source name, found before the read is planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::container;
use super::decoder::ValueDecoder;
use super::formats::{AnySchema, ValueFormat};
use super::framed::Framed;
use super::framing::{Framing, SchemaHeader};
use super::json::Inferred;
use super::outputs::RecordPart;
use super::payload::Read;
use super::plan::{Expected, ValuePlan};
use super::protobuf::message_of;
use super::record_parts::RecordParts;
use super::schemas::Schemas;
use super::wanted::WantedFields;
use crate::columns::{BatchSource, BinaryKind, Column, OnError, Projection, StreamOptions, ValueNotes, stream};
use crate::decode::Unreadable;
use crate::error::Result;
use crate::framing::Source;

/// The numbers of the schemas that keys and values name.
#[derive(Clone, Debug, Default)]
pub struct SchemasSeen {
    /// Of keys.
    pub keys: BTreeSet<usize>,
    /// Of values.
    pub values: BTreeSet<usize>,
    /// Messages of Protobuf of keys and of values: the numbers of their schemas, and their paths.
    pub messages: [BTreeSet<(usize, Vec<i32>)>; 2],
    /// The texts of Avro schemas that are in keys and in values, in container files.
    pub texts: [BTreeSet<String>; 2],
    /// The names of schemas in keys and in values that are not known.
    pub unknown: [ValueNotes; 2],
    /// The schema of JSON keys and of JSON values, if it is wanted.
    pub inferred: Option<[Inferred; 2]>,
}

/// Adds the schemas that a source names. Damage is skipped: the read that follows reports it.
///
/// # Errors
/// Those of the storage.
pub fn scan(source: Source, mut options: StreamOptions, schemas: &Arc<Schemas>, met: &mut SchemasSeen) -> Result<()> {
    let mut columns = vec![Column::Key, Column::Value, Column::HeadersRaw, Column::Offset, Column::EntryPosition];
    columns.extend(options.decode.is_control_wanted.then_some(Column::IsControl));
    let projection = Projection { columns, binary: BinaryKind::BinaryView, has_null_headers: false };
    // The read itself reports what cannot be read.
    options.decode.unreadable = Unreadable::Skip;
    let mut records = stream::open(source, StreamOptions { projection, on_error: OnError::Skip, is_tail_strict: false, ..options });
    let mut taker = Taker::new(schemas);
    let mut scratch = Vec::new();
    while let Some(batch) = next(&mut records)? {
        let parts = RecordParts::of(&batch)?;
        for row in 0..batch.num_rows() {
            for part in [RecordPart::Key, RecordPart::Value] {
                let Some(bytes) = parts.bytes(part, row) else { continue };
                if add_text(schemas, bytes, part, met) {
                    continue;
                }
                let Ok(framed) = taker.take(bytes, parts.header(part, row)) else { continue };
                let Ok(payload) = framed.body.opened(framed.payload, &mut scratch) else { continue };
                add_value(schemas, &Framed { payload, ..framed }, part, met);
            }
        }
    }
    Ok(())
}

/// Takes values apart as the read that follows will.
struct Taker<'s> {
    schemas: &'s Arc<Schemas>,
    /// Where the framing of each value is tried.
    decoder: Option<ValueDecoder>,
}

impl<'s> Taker<'s> {
    fn new(schemas: &'s Arc<Schemas>) -> Self {
        let main = schemas.main().filter(|_| schemas.tries_framings());
        let plan = main.and_then(|main| {
            let messages = match schemas.parsed(main) {
                Ok(AnySchema::Protobuf(schema, _)) => schema.paths().into_iter().take(MOST_TRIED).map(|path| (main, path)).collect(),
                _ => Vec::new(),
            };
            let expected = Expected { present: vec![main], messages, ..Expected::default() };
            ValuePlan::new(Arc::clone(schemas), &expected, &WantedFields::all()).ok()
        });
        Self { schemas, decoder: plan.map(|plan| ValueDecoder::new(Arc::new(plan))) }
    }

    fn take<'v>(&mut self, bytes: &'v [u8], header: Option<SchemaHeader<'v>>) -> Read<Framed<'v>> {
        let named = self.schemas.take_apart_as(Framing::SingleObject, bytes, None);
        match &mut self.decoder {
            // Of several schemas, a fingerprint names one.
            Some(_) if self.schemas.len() > 1 && named.as_ref().is_ok_and(|named| self.schemas.find(named.name).is_ok()) => named,
            // A text that begins as texts do needs no trial.
            Some(decoder) if self.schemas.format() != ValueFormat::Json || Framing::candidates(bytes, header.is_some()).len() > 1 => {
                decoder.taken_apart(bytes, header)
            }
            Some(_) => self.schemas.take_apart_as(Framing::None, bytes, None),
            None => self.schemas.take_apart(bytes, header),
        }
    }
}

/// Adds the text of an unknown schema that is in a value; false if there is none.
fn add_text(schemas: &Schemas, bytes: &[u8], part: RecordPart, met: &mut SchemasSeen) -> bool {
    if !matches!(schemas.framing(), Framing::Auto | Framing::Container) {
        return false;
    }
    let Some(text) = container::schema_text(bytes).filter(|text| schemas.find(container::name_of(text)).is_err()) else { return false };
    let [keys, values] = &mut met.texts;
    let texts = if part == RecordPart::Key { keys } else { values };
    if texts.len() < MOST_TEXTS {
        texts.insert(text.to_owned());
    }
    true
}

/// Adds what a value names, or what its text has.
fn add_value(schemas: &Schemas, framed: &Framed<'_>, part: RecordPart, met: &mut SchemasSeen) {
    let Ok(index) = schemas.find(framed.name) else {
        let [keys, values] = &mut met.unknown;
        let unknown = if part == RecordPart::Key { keys } else { values };
        unknown.add_unknown(framed.name.to_string());
        return;
    };
    let [key_messages, value_messages] = &mut met.messages;
    let (found, messages) = match part {
        RecordPart::Key => (&mut met.keys, key_messages),
        RecordPart::Value => (&mut met.values, value_messages),
    };
    if schemas.entry(index).is_some_and(|entry| entry.kind == "PROTOBUF") {
        add_message(schemas, index, framed, messages);
    }
    let is_bare = schemas.bare() == Some(index);
    let is_inferred = schemas.format() == ValueFormat::Json || is_bare;
    // Where formats are detected, a value with a name twice is null, and must not change the type of others.
    let allows_twice = schemas.format() != ValueFormat::Auto;
    let is_json = match &mut met.inferred {
        Some([keys, _]) if part == RecordPart::Key && is_inferred => keys.add(framed.payload, allows_twice),
        Some([_, values]) if part == RecordPart::Value && is_inferred => values.add(framed.payload, allows_twice),
        _ => true,
    };
    if is_json || !is_bare {
        found.insert(index);
    }
}

/// Most messages of a schema of Protobuf that are tried.
const MOST_TRIED: usize = 200;
/// Most schemas that are in values.
const MOST_TEXTS: usize = 1_000;

/// Adds the message of a value, if its schema has it.
fn add_message(schemas: &Schemas, index: usize, framed: &Framed<'_>, found: &mut BTreeSet<(usize, Vec<i32>)>) {
    let Ok(AnySchema::Protobuf(schema, _)) = schemas.parsed(index) else { return };
    let Ok((path, _)) = message_of(framed, schemas.framing(), &schema) else { return };
    let met = (index, path);
    if !found.contains(&met) && schema.message(&met.1).is_some() {
        found.insert(met);
    }
}

/// The next batch. What is wrong with the bytes ends the scan; the read that follows raises it.
fn next(records: &mut Box<dyn BatchSource>) -> Result<Option<arrow_array::RecordBatch>> {
    match records.next_batch() {
        Err(error) if error.is_about_data() => Ok(None),
        next => next,
    }
}
