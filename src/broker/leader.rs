//! What a leader makes of records that come without offsets (`LogValidator` in Kafka's storage module): in place where nothing but offsets and
//! times changes, else written anew.

use super::checks::{ensure_alone, ensure_batch, ensure_codec, ensure_size, source_compression};
use super::entries::EntryWithHeader;
use super::header_updates::{set_last_offset, set_leader_epoch, set_max_timestamp};
use super::options::{AppendOptions, Appended};
use super::origin::AppendOrigin;
use super::producers::ProducerState;
use super::records::{RecordSummary, RecordValidator};
use super::refusal::refused;
use crate::codec::{Compression, Compressor};
use crate::compat::error_codes::UNKNOWN_SERVER_ERROR;
use crate::decode::{CodecOptions, DecodeOptions, Decoder};
use crate::encode::{BatchBuilder, BatchSettings};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Step, step};
use crate::limits::Limits;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, Formats, NewRecord, RecordFormat, TimestampType};
use crate::quirks::Quirks;
use crate::wire::Sink;

/// Validates records, assigns offsets and timestamps, converts and compresses as the topic says.
///
/// # Errors
/// As `append`.
pub fn append(entries: &[EntryWithHeader<'_>], options: &AppendOptions, producers: &mut ProducerState) -> Result<Appended> {
    let source = source_compression(entries);
    let target = options.compression.unwrap_or(source);
    ensure_codec(target, options)?;
    ensure_alone(entries, source)?;
    let mut work = LeaderAppend::new(options, source, target);
    let appended = if target == CompressionType::None && source == CompressionType::None {
        work.append_uncompressed(entries)?
    } else {
        work.append_compressed(entries)?
    };
    settle(appended, entries, options.origin, producers)
}

/// Sequences are looked at last, as on a broker (VAL-20).
fn settle(appended: Appended, entries: &[EntryWithHeader<'_>], origin: AppendOrigin, producers: &mut ProducerState) -> Result<Appended> {
    let Some((_, header)) = entries.first() else { return Ok(appended) };
    if let Some(earlier) = producers.duplicate_of(header).filter(|_| origin == AppendOrigin::Client) {
        let (first_offset, last_offset, max_timestamp) = (earlier.first_offset, earlier.last_offset, earlier.timestamp);
        return Ok(Appended { data: Vec::new(), first_offset, last_offset, max_timestamp, is_duplicate: true });
    }
    producers.append(header, origin, (appended.first_offset, appended.last_offset), appended.max_timestamp)?;
    Ok(appended)
}

/// One append.
struct LeaderAppend<'a> {
    options: &'a AppendOptions,
    source: CompressionType,
    target: CompressionType,
    decoder: Decoder,
    next_offset: i64,
    max_timestamp: i64,
}

impl<'a> LeaderAppend<'a> {
    fn new(options: &'a AppendOptions, source: CompressionType, target: CompressionType) -> Self {
        // Checksums of the entries were compared already; those of inner messages come with the scan of a wrapper.
        let codecs = CodecOptions { plugins: options.plugins.clone(), ..CodecOptions::default() };
        let decode = DecodeOptions { is_control_wanted: true, limits: options.limits, codecs, ..DecodeOptions::default() };
        let next_offset = options.first_offset;
        Self { options, source, target, decoder: Decoder::new(decode), next_offset, max_timestamp: NO_TIMESTAMP }
    }

    /// Nothing is compressed before or after: entry by entry, in place where the format is the topic's.
    fn append_uncompressed(&mut self, entries: &[EntryWithHeader<'_>]) -> Result<Appended> {
        if entries.iter().any(|(_, header)| header.format != self.options.to) {
            return self.rebuild(entries);
        }
        let mut data = Vec::new();
        for (frame, header) in entries {
            let looked = self.look(*frame, entries.first().map_or(header, |(_, first)| first), header)?;
            self.place(frame.bytes, header, looked, &mut data);
        }
        Ok(self.appended(data))
    }

    /// Something is compressed before or after: in place when nothing but offsets and times changes (VAL-18). Control records that come
    /// uncompressed stay so (VAL-19).
    fn append_compressed(&mut self, entries: &[EntryWithHeader<'_>]) -> Result<Appended> {
        let Some((frame, header)) = entries.first() else { return Ok(Appended::default()) };
        let is_kept = self.source == self.target && header.format == self.options.to && header.format != RecordFormat::V0;
        let is_uncompressed_control = header.is_control() && self.source == CompressionType::None;
        if !is_kept && !is_uncompressed_control {
            return self.rebuild(entries);
        }
        let looked = self.look(*frame, header, header)?;
        if !looked.is_sequential {
            return self.rebuild(entries);
        }
        let mut data = Vec::new();
        self.place(frame.bytes, header, looked, &mut data);
        Ok(self.appended(data))
    }

    /// Copies an entry and gives it its offsets, epoch and times.
    fn place(&mut self, entry: &[u8], header: &BatchHeader, looked: RecordSummary, data: &mut Vec<u8>) {
        let start = data.len();
        data.extend_from_slice(entry);
        let placed = data.get_mut(start..).unwrap_or_default();
        self.next_offset = self.next_offset.wrapping_add(looked.count);
        set_last_offset(placed, header, self.next_offset.wrapping_sub(1));
        if header.format == RecordFormat::V2 {
            set_leader_epoch(placed, self.options.partition_leader_epoch);
        }
        let timestamp = match self.options.timestamp_type {
            TimestampType::LogAppendTime => self.options.now,
            _ => looked.max_timestamp,
        };
        set_max_timestamp(placed, header, self.options.timestamp_type, timestamp);
        if header.format != RecordFormat::V0 {
            self.max_timestamp = self.max_timestamp.max(timestamp);
        }
    }

    /// Validates all records, then writes them anew with consecutive offsets.
    fn rebuild(&mut self, entries: &[EntryWithHeader<'_>]) -> Result<Appended> {
        let Some((_, first)) = entries.first() else { return Ok(Appended::default()) };
        ensure_batch(first, first, self.options)?;
        let settings = self.settings(first)?;
        let (mut builder, mut data) = (BatchBuilder::new(settings).map_err(unwritable)?, Sink::default());
        for (frame, header) in entries {
            self.look(*frame, first, header)?;
            self.refill(*frame, &mut builder, &mut data)?;
        }
        let mut compressor = Compressor::default();
        compressor.set_plugins(self.options.plugins.clone());
        builder.close(&mut compressor, &mut data)?;
        let data = data.into_vec();
        self.ensure_sizes(&data)?;
        self.max_timestamp = self.rebuilt_timestamp();
        Ok(self.appended(data))
    }

    fn rebuilt_timestamp(&self) -> i64 {
        match (self.options.to, self.options.timestamp_type) {
            (RecordFormat::V0, _) => NO_TIMESTAMP,
            (_, TimestampType::LogAppendTime) => self.options.now,
            _ => self.max_timestamp,
        }
    }

    /// What the batch says that a broker builds.
    fn settings(&self, first: &BatchHeader) -> Result<BatchSettings> {
        let compression = Compression::new(self.target, self.options.level).map_err(unwritable)?;
        let is_stamped = self.options.timestamp_type == TimestampType::LogAppendTime;
        Ok(BatchSettings {
            timestamp_type: self.options.timestamp_type,
            log_append_time: is_stamped.then_some(self.options.now),
            producer: first.producer,
            is_transactional: first.is_transactional(),
            partition_leader_epoch: self.options.partition_leader_epoch,
            ..BatchSettings::new(self.options.to, compression)
        })
    }

    /// VAL-2b again: compressing again changes sizes.
    fn ensure_sizes(&self, data: &[u8]) -> Result<()> {
        let mut rest = data;
        while let Step::Entry { len, .. } = step(rest, Formats::Auto, &Limits { max_batch_bytes: u64::MAX, ..self.options.limits }) {
            ensure_size(u64::try_from(len).unwrap_or(u64::MAX), self.options)?;
            rest = rest.get(len..).unwrap_or_default();
        }
        Ok(())
    }

    fn appended(&self, data: Vec<u8>) -> Appended {
        let (first_offset, last_offset) = (self.options.first_offset, self.next_offset.wrapping_sub(1));
        Appended { data, first_offset, last_offset, max_timestamp: self.max_timestamp, is_duplicate: false }
    }

    /// Looks at the batch and all its records.
    fn look(&mut self, frame: Frame<'_>, first: &BatchHeader, header: &BatchHeader) -> Result<RecordSummary> {
        let at = |error: Error| error.in_batch(header.base_offset).at_byte(frame.position);
        ensure_batch(first, header, self.options).map_err(at)?;
        let Some(opened) = self.decoder.open(frame).map_err(|error| inner_compressed(error.readable_with(Quirks::default())))? else {
            return Ok(RecordSummary::default());
        };
        let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
        let mut look = RecordValidator::new(&opened, section, self.options);
        let walked = opened.walk.read_all(&section, &mut look);
        walked.map_err(|error| at(self.decoder.blame_plugin(header, error)))?;
        look.finish().map_err(at)
    }

    /// Writes the records of an entry that was looked at.
    fn refill(&mut self, frame: Frame<'_>, builder: &mut BatchBuilder, out: &mut Sink) -> Result<()> {
        let Some(opened) = self.decoder.open(frame)? else { return Ok(()) };
        let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
        let written = opened.rewrite::<true>(&section, |_, record| {
            builder.append(&NewRecord { offset: self.next_offset, ..record }, out)?;
            self.next_offset = self.next_offset.wrapping_add(1);
            self.max_timestamp = self.max_timestamp.max(record.timestamp);
            Ok(())
        });
        written.map_err(|error| unwritable(error).in_batch(opened.header.base_offset).at_byte(frame.position))
    }
}

/// VAL-11: Kafka has its own words for a compressed inner message.
fn inner_compressed(error: Error) -> Error {
    let (rule, position) = (error.rule(), error.position());
    if rule != "L8-21" {
        return error;
    }
    let index = position.record_index.unwrap_or(0);
    let reason = "Compressed outer record should not have an inner record with compression attribute set".to_owned();
    let rejected = ErrorKind::Rejected { rule: "VAL-11", code: 87, name: "INVALID_RECORD", reason, records: vec![index] };
    Error::from(rejected).in_record(index).at_byte(position.byte.unwrap_or(0))
}

/// What Kafka's builder refuses surfaces as an unknown server error (VAL-8a).
fn unwritable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Refused { rule, reason } => refused(rule, UNKNOWN_SERVER_ERROR, reason.clone()),
        _ => error,
    }
}
