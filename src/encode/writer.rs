//! Any number of records to batches, which end where those of Kafka's producer do.

use super::builder::Measure;
use super::errors::{not_increasing, refused};
use super::estimate::Estimate;
use super::{BatchBuilder, BatchSettings};
use crate::codec::{Compressor, Plugins};
use crate::error::Result;
use crate::format::record_batch;
use crate::format::v0_v1::encode::overhead;
use crate::format::v2::encode::record_len_bound;
use crate::format::v2::layout::HEADER_LEN;
use crate::format::v07::encode::OVERHEAD as V07_OVERHEAD;
use crate::model::batch::{NO_PRODUCER_ID, NO_SEQUENCE};
use crate::model::{ControlType, NewRecord, Producer, RecordFormat, TimestampType};
use crate::wire::Sink;

/// Writes batches of about `batch_bytes` bytes; sequences run on from batch to batch.
///
/// Batches are kept one after the other until the caller takes those that ended.
pub struct RecordWriter {
    settings: BatchSettings,
    batch_bytes: usize,
    builder: BatchBuilder,
    compressor: Compressor,
    estimate: Estimate,
    /// Bytes that the open batch is estimated to have at most.
    limit: usize,
    base_offset: i64,
    next_offset: i64,
    last_offset: Option<i64>,
    next_sequence: i32,
    output: Sink,
    /// What is open while the rest is passed on.
    open: Sink,
}

impl RecordWriter {
    /// A writer of batches with these settings, whose producer's sequence is that of the first record.
    ///
    /// # Errors
    /// `Refused` for settings that Kafka refuses, control batches among them: control records get their own.
    pub fn new(settings: BatchSettings, batch_bytes: usize, base_offset: i64) -> Result<Self> {
        let settings = checked(settings)?;
        Ok(Self {
            settings,
            batch_bytes,
            builder: BatchBuilder::new(first_settings(settings))?,
            compressor: Compressor::default(),
            estimate: Estimate::default(),
            limit: 0,
            base_offset,
            next_offset: base_offset,
            last_offset: None,
            next_sequence: settings.producer.base_sequence,
            output: Sink::default(),
            open: Sink::default(),
        })
    }

    /// Becomes a new writer, with the storage and the compression contexts of the one that it was.
    ///
    /// # Errors
    /// As `new`; the writer stays what it was, empty.
    pub fn reopen(&mut self, settings: BatchSettings, batch_bytes: usize, base_offset: i64) -> Result<()> {
        self.restart();
        self.output.clear();
        let settings = checked(settings)?;
        self.builder.open(first_settings(settings))?;
        (self.settings, self.batch_bytes, self.base_offset) = (settings, batch_bytes, base_offset);
        self.restart();
        Ok(())
    }

    /// Sets the plugins that can be called.
    pub fn set_plugins(&mut self, plugins: Plugins) {
        self.compressor.set_plugins(plugins);
    }

    /// Bytes of storage held, without those of the compression contexts.
    pub fn held_bytes(&self) -> usize {
        self.output.held_bytes().saturating_add(self.open.held_bytes()).saturating_add(self.builder.held_bytes())
    }

    /// Forgets the batch that is open and begins anew, with the first offset and sequence. What was not taken yet stays.
    pub fn restart(&mut self) {
        self.output.truncate(self.ended_len());
        self.builder.discard();
        (self.estimate, self.last_offset) = (Estimate::default(), None);
        (self.next_offset, self.next_sequence) = (self.base_offset, self.settings.producer.base_sequence);
    }

    /// Begins anew as `restart` does, and forgets what was ended after the first `len` bytes too.
    pub fn restart_at(&mut self, len: usize) {
        self.restart();
        self.output.truncate(len);
    }

    /// The offset after that of the last record.
    #[inline]
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Writes a record. A control record is alone in a batch.
    ///
    /// # Errors
    /// `Refused` with Kafka's reason for a record that no batch can hold, `Limit` for one that is too large.
    #[inline]
    pub fn write(&mut self, record: &NewRecord<'_>) -> Result<()> {
        let measure = self.measure(record)?;
        self.builder.put(record, measure, &mut self.output)?;
        self.last_offset = Some(record.offset);
        self.next_offset = record.offset.wrapping_add(1);
        if record.is_control { self.end_batch() } else { Ok(()) }
    }

    /// Ends the batch that is open.
    ///
    /// # Errors
    /// `Limit` when it is larger than its length can say, `Compression` when a plugin fails; with the base offset of the batch.
    pub fn end_batch(&mut self) -> Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.advance_sequence();
        let (uncompressed_len, base_offset) = (self.builder.uncompressed_len(), self.builder.base_offset());
        let is_compressed = self.builder.settings().compression.is_some();
        // Mostly it is the next record that ends a batch, which is not to blame.
        let len = self.builder.close(&mut self.compressor, &mut self.output).map_err(|error| error.in_batch(base_offset))?;
        if is_compressed {
            let header_len = match self.settings.format {
                format @ RecordFormat::V3 => record_batch::header_len(format, self.output.from(self.output.len() - len)),
                _ => header_len(&self.settings),
            };
            self.estimate.learn(uncompressed_len, len.saturating_sub(header_len));
        }
        Ok(())
    }

    /// Bytes of ended batches that were not taken yet.
    #[inline]
    pub fn ended_len(&self) -> usize {
        self.builder.ended_len(&self.output)
    }

    /// The ended batches that were not taken yet.
    pub fn ended(&self) -> &[u8] {
        self.output.bytes().get(..self.ended_len()).unwrap_or_default()
    }

    /// Lets `take` have the ended batches, then goes on in the storage that it leaves, over what that holds.
    ///
    /// # Errors
    /// What `take` fails with.
    pub fn pass_ended(&mut self, take: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
        let ended = self.ended_len();
        self.open.clear();
        self.open.put(self.output.from(ended));
        self.output.truncate(ended);
        let taken = take(&mut self.output);
        self.output.clear();
        self.output.put(self.open.bytes());
        self.builder.moved_to_front();
        taken
    }

    /// Measures a record for the open batch, or for another when there is no room in it.
    #[inline(always)]
    fn measure(&mut self, record: &NewRecord<'_>) -> Result<Measure> {
        if self.is_open_to(record) {
            let measure = self.builder.measure(record)?;
            if self.has_space_for(measure.len) {
                return Ok(measure);
            }
        }
        self.measure_first(record)
    }

    /// Measures the first record of a batch; the one before ends.
    #[inline(never)]
    fn measure_first(&mut self, record: &NewRecord<'_>) -> Result<Measure> {
        self.end_batch()?;
        self.begin_batch(record)?;
        self.builder.measure(record)
    }

    #[inline(always)]
    fn is_open_to(&self, record: &NewRecord<'_>) -> bool {
        let is_near = i32::try_from(record.offset.saturating_sub(self.builder.base_offset())).is_ok();
        !self.builder.is_empty() && is_near && !record.is_control
    }

    /// Counts the record uncompressed, as Kafka's producer does.
    #[inline]
    fn has_space_for(&self, len: usize) -> bool {
        let uncompressed = self.builder.uncompressed_len();
        let estimated = if self.settings.compression.is_some() { self.estimate.compressed(uncompressed) } else { uncompressed };
        header_len(&self.settings) + estimated + len <= self.limit
    }

    fn begin_batch(&mut self, record: &NewRecord<'_>) -> Result<()> {
        if let Some(last) = self.last_offset.filter(|last| record.offset <= *last && self.settings.format != RecordFormat::V07) {
            return Err(not_increasing(record.offset, last));
        }
        let settings = if record.is_control { self.marker_settings(record)? } else { self.data_settings() };
        self.builder.open(settings)?;
        self.limit = self.batch_bytes.max(first_len_bound(&self.settings, record));
        Ok(())
    }

    fn data_settings(&self) -> BatchSettings {
        let producer = Producer { base_sequence: self.next_sequence, ..self.settings.producer };
        BatchSettings { producer, ..self.settings }
    }

    /// Control batches are uncompressed and have no sequence (CTL-5, CTL-9); those of KRaft have no producer (CTL-8).
    fn marker_settings(&self, record: &NewRecord<'_>) -> Result<BatchSettings> {
        let is_marker = ControlType::parse(record.key)?.is_marker();
        let producer = if is_marker { Producer { base_sequence: NO_SEQUENCE, ..self.settings.producer } } else { Producer::default() };
        Ok(BatchSettings {
            compression: None,
            timestamp_type: TimestampType::CreateTime,
            producer,
            is_transactional: is_marker,
            is_control: true,
            ..self.settings
        })
    }

    /// The next batch goes on after the last sequence of this one (V2-6).
    fn advance_sequence(&mut self) {
        if self.builder.settings().is_control || self.next_sequence < 0 {
            return;
        }
        let delta = self.builder.last_offset().wrapping_sub(self.builder.base_offset());
        let producer = Producer { base_sequence: self.next_sequence, ..self.settings.producer };
        // The distance fits 32 bits; the sequence after 2147483647 is 0.
        self.next_sequence = producer.sequence(i32::try_from(delta).unwrap_or(0).wrapping_add(1));
    }
}

/// Refuses what a writer decides itself, and what Kafka refuses whatever the records.
fn checked(settings: BatchSettings) -> Result<BatchSettings> {
    if settings.is_control || settings.delete_horizon_ms.is_some() {
        return Err(refused("V2-64", "A writer decides itself which batches are control batches and writes no delete horizon"));
    }
    if settings.producer.id == NO_PRODUCER_ID && settings.producer != Producer::default() && !settings.is_transactional {
        return Err(refused("V2-61", "Cannot write idempotent messages without a valid producer ID"));
    }
    Ok(settings)
}

/// Markers need no sequence: whether one is missing shows when the first record that needs it comes.
fn first_settings(settings: BatchSettings) -> BatchSettings {
    let is_control = settings.format.is_batch() && settings.producer.base_sequence < 0;
    BatchSettings { is_control, ..settings }
}

/// Bytes of an entry around its records, as far as the producer's estimate counts them.
#[inline]
fn header_len(settings: &BatchSettings) -> usize {
    match settings.format {
        RecordFormat::V2 => HEADER_LEN,
        // The largest, so that batches are never larger than asked for.
        RecordFormat::V3 => record_batch::MAX_HEADER_LEN,
        _ if settings.compression.is_none() => 0,
        RecordFormat::V07 => V07_OVERHEAD,
        format => overhead(format),
    }
}

/// The most bytes of a batch with this record alone: a batch that must hold a large record may be as large as that.
fn first_len_bound(settings: &BatchSettings, record: &NewRecord<'_>) -> usize {
    let contents = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
    let len = match settings.format {
        RecordFormat::V2 | RecordFormat::V3 => record_len_bound(record),
        RecordFormat::V07 => V07_OVERHEAD + contents,
        format => overhead(format) + contents,
    };
    header_len(settings) + len
}
