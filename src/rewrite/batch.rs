//! A batch of magic 2 or 3 without some of its records, or with other values (`MemoryRecords.buildRetainedRecordsInto`).

use super::digest::Mask;
use super::plan::RecordAction;
use crate::codec::{Compression, Compressor};
use crate::convert::recompress;
use crate::decode::DecodedBatch;
use crate::encode::put_batch;
use crate::error::Result;
use crate::format::v2::encode::Deltas;
use crate::format::v3::encode as v3;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, NewRecord, Section, TimestampType};
use crate::wire::Sink;

/// What becomes of the records of an entry.
#[derive(Clone, Copy)]
pub struct RecordActions<'a> {
    /// One for each record.
    pub fates: &'a [RecordAction],
    /// What takes the place of values that are masked.
    pub mask: &'a Mask,
    /// How the records are compressed.
    pub compression: Option<Compression>,
    /// The delete horizon that a batch without one gets.
    pub delete_horizon_ms: Option<i64>,
}

/// Writes batches; keeps the storage between them.
#[derive(Default)]
pub struct BatchWriter {
    records: Sink,
    payloads: Sink,
    hash: Vec<u8>,
}

/// What the header says of records that were written.
#[derive(Clone, Copy)]
struct RewrittenBatch {
    count: i32,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
}

impl RecordActions<'_> {
    /// The record as it is written; `None` for one that goes.
    pub fn record<'r>(&self, index: usize, record: NewRecord<'r>, hash: &'r mut Vec<u8>) -> Option<NewRecord<'r>> {
        let value = match self.fates.get(index).copied().unwrap_or(RecordAction::Keep) {
            RecordAction::Keep => record.value,
            RecordAction::Drop => return None,
            RecordAction::Tombstone => None,
            RecordAction::Mask => self.mask.mask(record.value, hash),
        };
        Some(NewRecord { value, ..record })
    }
}

impl BatchWriter {
    /// Writes the records that stay under the header of their batch: offsets, producer, flags and append time are those of before, the base
    /// timestamp is that of the first record and the maximum that of all (CMP-3).
    ///
    /// # Errors
    /// What is wrong with a record, `Limit` for a batch that is larger than its length can say.
    pub fn write(
        &mut self,
        (opened, section): (&DecodedBatch, &Section<'_>),
        kept: RecordActions<'_>,
        (compressor, out): (&mut Compressor, &mut Sink),
    ) -> Result<()> {
        let header = opened.header;
        let horizon = header.delete_horizon_ms().or(kept.delete_horizon_ms);
        let mut written = RewrittenBatch { count: 0, base_timestamp: horizon, max_timestamp: NO_TIMESTAMP };
        self.records.clear();
        self.payloads.clear();
        opened.rewrite::<true>(section, |record, new| {
            let Self { records, payloads, hash } = self;
            let new = NewRecord { attributes: record.attributes, ..new };
            let Some(new) = kept.record(record.index, new, hash) else { return Ok(()) };
            let base = *written.base_timestamp.get_or_insert(new.timestamp);
            let offset = i32::try_from(record.offset_delta).unwrap_or(0);
            put(&header, &new, Deltas { offset, timestamp: new.timestamp.wrapping_sub(base) }, (records, payloads))?;
            written.count += 1;
            written.max_timestamp = written.max_timestamp.max(new.timestamp);
            Ok(())
        })?;
        let metadata_len = if header.is_metadata_first() { self.records.len() } else { 0 };
        self.records.put(self.payloads.bytes());
        let new = BatchHeader {
            count: Some(written.count),
            base_timestamp: written.base_timestamp.unwrap_or(NO_TIMESTAMP),
            max_timestamp: if header.timestamp_type() == TimestampType::LogAppendTime {
                header.max_timestamp
            } else {
                written.max_timestamp
            },
            attributes: header.attributes.with_delete_horizon(horizon.is_some()),
            ..header
        };
        recompress(&new, (self.records.bytes(), metadata_len), kept.compression, compressor, out)
    }
}

/// Writes a batch without records in the place of one that lost them all (V2-9).
///
/// # Errors
/// None: it is as long as its header.
pub fn put_empty(header: &BatchHeader, out: &mut Sink) -> Result<()> {
    let attributes = header.attributes.with_compression(CompressionType::None).with_delete_horizon(false);
    let empty = BatchHeader { count: Some(0), base_timestamp: NO_TIMESTAMP, attributes, ..*header };
    put_batch(&empty, out, |_| Ok(()))
}

/// Writes a record in the layout of its batch.
fn put(header: &BatchHeader, record: &NewRecord<'_>, deltas: Deltas, (records, payloads): (&mut Sink, &mut Sink)) -> Result<()> {
    let has_attributes = header.has_record_attributes();
    let body_len = v3::body_len(record, deltas, has_attributes);
    if header.is_metadata_first() {
        v3::put_parts((records, payloads), record, deltas, body_len, has_attributes)
    } else {
        v3::put_record(records, record, deltas, body_len, has_attributes)
    }
}
