//! The schemas that the values of a source name, found before the read is planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::formats::{AnySchema, ValueFormat};
use super::framing::Framed;
use super::json::Inferred;
use super::outputs::Part;
use super::protobuf::message_of;
use super::record_parts::RecordParts;
use super::schemas::Schemas;
use crate::columns::{BatchSource, BinaryKind, Column, OnError, Projection, StreamOptions, stream};
use crate::decode::Unreadable;
use crate::error::Result;
use crate::framing::Source;

/// The numbers of the schemas that keys and values name.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// Of keys.
    pub keys: BTreeSet<usize>,
    /// Of values.
    pub values: BTreeSet<usize>,
    /// Messages of Protobuf of keys and of values: the numbers of their schemas, and their paths.
    pub messages: [BTreeSet<(usize, Vec<i32>)>; 2],
    /// The schema of JSON keys and of JSON values, if it is wanted.
    pub inferred: Option<[Inferred; 2]>,
}

/// Adds the schemas that a source names. Damage is skipped: the read that follows reports it.
///
/// # Errors
/// Those of the storage.
pub fn scan(source: Source, mut options: StreamOptions, schemas: &Arc<Schemas>, met: &mut Met) -> Result<()> {
    let mut columns = vec![Column::Key, Column::Value, Column::HeadersRaw, Column::Offset, Column::EntryPosition];
    columns.extend(options.decode.is_control_wanted.then_some(Column::IsControl));
    let projection = Projection { columns, binary: BinaryKind::BinaryView, has_null_headers: false };
    // The read itself reports what cannot be read.
    options.decode.unreadable = Unreadable::Skip;
    let mut records = stream::open(source, StreamOptions { projection, on_error: OnError::Skip, is_tail_strict: false, ..options });
    while let Some(batch) = next(&mut records)? {
        let parts = RecordParts::of(&batch)?;
        for row in 0..batch.num_rows() {
            for (part, found) in [(Part::Key, &mut met.keys), (Part::Value, &mut met.values)] {
                let Some(bytes) = parts.bytes(part, row) else { continue };
                let Ok(framed) = schemas.take_apart(bytes, parts.header(part, row)) else { continue };
                let Ok(index) = schemas.find(framed.name) else { continue };
                if schemas.entry(index).is_some_and(|entry| entry.kind == "PROTOBUF") {
                    let [keys, values] = &mut met.messages;
                    add_message(schemas, index, &framed, if part == Part::Key { keys } else { values });
                }
                let is_bare = schemas.bare() == Some(index);
                let is_inferred = schemas.format() == ValueFormat::Json || is_bare;
                let is_json = match &mut met.inferred {
                    Some([keys, _]) if part == Part::Key && is_inferred => keys.add(framed.payload),
                    Some([_, values]) if is_inferred => values.add(framed.payload),
                    _ => true,
                };
                if is_json || !is_bare {
                    found.insert(index);
                }
            }
        }
    }
    Ok(())
}

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
