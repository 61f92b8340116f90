//! One batch, or one message set, out of its records (`MemoryRecordsBuilder` in Kafka's clients).

mod fit;
mod seal;

use super::BatchSettings;
use crate::codec::Compressor;
use crate::error::Result;
use crate::format::v0_v1::encode::{self as v0_v1, MessageHeader};
use crate::format::v2::encode::{self as v2, Deltas};
use crate::format::v3::encode as v3;
use crate::format::v07::encode as v07;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{NewRecord, RecordFormat, TimestampType};
use crate::wire::Sink;

/// Builds one batch after the other, each after what the caller's output holds, which is the same from a batch's first record to its end.
///
/// Uncompressed records are written straight into it, after space for the header; records that will be compressed are collected first. Below magic 2 without compression the result is a message set: an entry for each record.
#[derive(Debug)]
pub struct BatchBuilder {
    settings: BatchSettings,
    base_offset: i64,
    last_offset: i64,
    base_timestamp: i64,
    max_timestamp: i64,
    count: i32,
    /// Where the open batch starts in the output.
    start: usize,
    uncompressed_len: usize,
    /// Records that will be compressed, or that wait for a header with a length that depends on them.
    records: Sink,
    /// The payloads, where they follow the metadata of all records.
    payloads: Sink,
}

/// What a record will take in the batch that is open.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    deltas: Deltas,
    body_len: usize,
    /// Bytes, uncompressed.
    pub len: usize,
}

impl BatchBuilder {
    /// A builder of batches with these settings.
    ///
    /// # Errors
    /// `Refused` for settings that Kafka refuses.
    pub fn new(settings: BatchSettings) -> Result<Self> {
        settings.ensure_legal()?;
        Ok(Self {
            settings,
            base_offset: 0,
            last_offset: 0,
            base_timestamp: NO_TIMESTAMP,
            max_timestamp: NO_TIMESTAMP,
            count: 0,
            start: 0,
            uncompressed_len: 0,
            records: Sink::default(),
            payloads: Sink::default(),
        })
    }

    /// Forgets the batch that is open, whose bytes in the output are the caller's to cut off, and begins one with other settings.
    ///
    /// # Errors
    /// `Refused` for settings that Kafka refuses; those before stay.
    pub fn open(&mut self, settings: BatchSettings) -> Result<()> {
        settings.ensure_legal()?;
        self.settings = settings;
        self.discard();
        Ok(())
    }

    /// As `open`, with the same settings.
    pub fn discard(&mut self) {
        self.count = 0;
    }

    /// What the batch says about its records.
    pub fn settings(&self) -> &BatchSettings {
        &self.settings
    }

    /// True when it has no records.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Records appended.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Offset of the last record; of no meaning without records.
    pub fn last_offset(&self) -> i64 {
        self.last_offset
    }

    /// The offset that deltas count from; of no meaning without records.
    #[inline]
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// Returns the bytes of the records, uncompressed.
    #[inline]
    pub fn uncompressed_len(&self) -> usize {
        if self.is_empty() { 0 } else { self.uncompressed_len }
    }

    /// Bytes of `out` before the batch that is open.
    #[inline]
    pub fn ended_len(&self, out: &Sink) -> usize {
        if self.is_empty() || self.is_collected() { out.len() } else { self.start }
    }

    /// Goes on in an output whose bytes before the open batch are gone.
    pub fn moved_to_front(&mut self) {
        self.start = 0;
    }

    /// Bytes of storage held.
    pub fn held_bytes(&self) -> usize {
        self.records.held_bytes().saturating_add(self.payloads.held_bytes())
    }

    /// Appends a record.
    ///
    /// # Errors
    /// `Refused` with Kafka's reason for a record that the batch cannot hold, `Limit` for one that is too large for any.
    pub fn append(&mut self, record: &NewRecord<'_>, out: &mut Sink) -> Result<()> {
        let measure = self.measure(record)?;
        self.put(record, measure, out)
    }

    /// Returns what a record will take.
    ///
    /// # Errors
    /// `Refused` with Kafka's reason for a record that the batch cannot hold.
    #[inline(always)]
    pub fn measure(&self, record: &NewRecord<'_>) -> Result<Measure> {
        self.ensure_fits(record)?;
        let deltas = self.deltas(record)?;
        let format = self.settings.format;
        let (body_len, len) = match format {
            RecordFormat::V07 => (0, v07::OVERHEAD + record.value.map_or(0, <[u8]>::len)),
            RecordFormat::V0 | RecordFormat::V1 => (0, v0_v1::entry_len(format, record.key, record.value)),
            RecordFormat::V3 => {
                let body_len = v3::body_len(record, deltas, false);
                (body_len, v3::record_len(body_len))
            }
            _ => {
                let body_len = v2::body_len(record, deltas);
                (body_len, v2::record_len(body_len))
            }
        };
        Ok(Measure { deltas, body_len, len })
    }

    /// Appends a record that was measured after the one before it was appended.
    ///
    /// # Errors
    /// `Limit` for a record that is too large for any batch.
    #[inline(always)]
    pub fn put(&mut self, record: &NewRecord<'_>, measure: Measure, out: &mut Sink) -> Result<()> {
        if self.is_empty() {
            self.begin(record, out);
        }
        let before = out.len();
        self.put_bytes(record, measure, out).inspect_err(|_| out.truncate(if self.is_empty() { self.start } else { before }))?;
        self.uncompressed_len += measure.len;
        self.last_offset = record.offset;
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        self.count += 1;
        Ok(())
    }

    /// Ends the batch; gives its bytes in the output, none without records (V2-63). The next record begins another with the same settings.
    ///
    /// # Errors
    /// `Limit` when it is larger than its length can say; it is forgotten then.
    pub fn close(&mut self, compressor: &mut Compressor, out: &mut Sink) -> Result<usize> {
        if self.is_empty() {
            return Ok(0);
        }
        if self.is_collected() {
            self.start = out.len();
        }
        let sealed = self.seal(compressor, out);
        self.discard();
        sealed.inspect_err(|_| out.truncate(self.start))?;
        Ok(out.len() - self.start)
    }

    #[inline(always)]
    fn put_bytes(&mut self, record: &NewRecord<'_>, measure: Measure, out: &mut Sink) -> Result<()> {
        match self.settings.format {
            RecordFormat::V2 => v2::put_record(self.records_or(out), record, measure.deltas, measure.body_len),
            RecordFormat::V3 => self.put_v3(record, measure),
            _ => self.put_message(record, measure, out),
        }
    }

    #[inline(never)]
    fn put_message(&mut self, record: &NewRecord<'_>, measure: Measure, out: &mut Sink) -> Result<()> {
        if self.settings.format == RecordFormat::V07 {
            return v07::put_message(self.records_or(out), 0, record.value.unwrap_or_default());
        }
        let header = self.message_header(record, measure.deltas);
        v0_v1::put_message(self.records_or(out), &header, record.key, record.value)
    }

    #[inline(never)]
    fn put_v3(&mut self, record: &NewRecord<'_>, measure: Measure) -> Result<()> {
        let Measure { deltas, body_len, .. } = measure;
        if self.settings.is_metadata_first {
            return v3::put_parts((&mut self.records, &mut self.payloads), record, deltas, body_len, false);
        }
        v3::put_record(&mut self.records, record, deltas, body_len, false)
    }

    /// True if records wait for the end of their batch: to be compressed, or for a header with a length that depends on them.
    #[inline]
    fn is_collected(&self) -> bool {
        self.settings.compression.is_some() || self.settings.format == RecordFormat::V3
    }

    /// Where records go.
    #[inline]
    fn records_or<'s>(&'s mut self, out: &'s mut Sink) -> &'s mut Sink {
        if self.settings.compression.is_some() { &mut self.records } else { out }
    }

    #[inline(never)]
    fn begin(&mut self, record: &NewRecord<'_>, out: &mut Sink) {
        self.base_offset = record.offset;
        self.base_timestamp = self.settings.delete_horizon_ms.unwrap_or(record.timestamp);
        self.max_timestamp = NO_TIMESTAMP;
        (self.start, self.uncompressed_len) = (out.len(), 0);
        self.records.clear();
        self.payloads.clear();
        if self.settings.compression.is_none() && self.settings.format == RecordFormat::V2 {
            v2::open(out);
        }
    }

    /// What is in a message: builders since 0.11 write the append time into every one (L8-32).
    fn message_header(&self, record: &NewRecord<'_>, deltas: Deltas) -> MessageHeader {
        let format = self.settings.format;
        let is_relative = format == RecordFormat::V1 && self.settings.compression.is_some();
        let append_time = self.settings.log_append_time.filter(|_| self.is_log_append_time());
        MessageHeader {
            format,
            offset: if is_relative { i64::from(deltas.offset) } else { record.offset },
            timestamp: append_time.unwrap_or(record.timestamp),
            attributes: self.message_attributes(0),
        }
    }

    /// The attribute bits of a message: the codec, and in magic 1 the timestamp type (L8-3).
    fn message_attributes(&self, codec: u8) -> u8 {
        const LOG_APPEND_TIME: u8 = 1 << 3;
        let is_marked = self.settings.format == RecordFormat::V1 && self.is_log_append_time();
        if is_marked { codec | LOG_APPEND_TIME } else { codec }
    }

    fn is_log_append_time(&self) -> bool {
        self.settings.timestamp_type == TimestampType::LogAppendTime
    }

    fn max_timestamp(&self) -> i64 {
        self.settings.log_append_time.filter(|_| self.is_log_append_time()).unwrap_or(self.max_timestamp)
    }
}
