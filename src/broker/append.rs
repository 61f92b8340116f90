//! What a broker's append path makes of produced records.

use super::checks::{RecordErrors, Seen, ensure_acceptable, ensure_alone, ensure_batch, ensure_size, source_compression};
use super::patch::{set_last_offset, set_leader_epoch, set_max_timestamp};
use super::producers::ProducerState;
use super::refused;
use crate::codec::{Packer, Packing, Plugins};
use crate::compat::error_codes::UNKNOWN_SERVER_ERROR;
use crate::decode::{CodecOptions, DecodeOptions, Decoder, Opened, parse_header, verify};
use crate::encode::{BatchBuilder, BatchSettings};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Step, step};
use crate::limits::Limits;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{
    BatchHeader, CompressionType, Formats, HeaderRef, NewHeader, NewRecord, RecordFormat, RecordRef, RecordSink, Section, TimestampType,
};
use crate::wire::Sink;

/// What the topic and the log say.
#[derive(Clone, Debug)]
pub struct AppendOptions {
    /// Offset of the first record.
    pub first_offset: i64,
    /// Format of the topic.
    pub to: RecordFormat,
    /// Codec of the topic; `None` keeps the producer's.
    pub compression: Option<CompressionType>,
    /// Level of the codec; `None` for Kafka's default.
    pub level: Option<i32>,
    /// Timestamp type of the topic.
    pub timestamp_type: TimestampType,
    /// The broker's clock, ms.
    pub now: i64,
    /// How far timestamps may lie before that; `None` for any distance.
    pub before_max_ms: Option<i64>,
    /// How far timestamps may lie after that.
    pub after_max_ms: Option<i64>,
    /// The topic is compacted: records need keys.
    pub is_compacted: bool,
    /// Most bytes of a batch.
    pub max_message_bytes: u64,
    /// Epoch of the leader.
    pub partition_leader_epoch: i32,
    /// What an entry may claim.
    pub limits: Limits,
    /// Codecs that are not built in.
    pub plugins: Plugins,
}

/// What is appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The entries; empty for a duplicate.
    pub data: Vec<u8>,
    /// Offset of the first record; of the earlier batch, for a duplicate.
    pub first_offset: i64,
    /// Offset of the last record.
    pub last_offset: i64,
    /// Largest timestamp, or the append time; -1 where there is none.
    pub max_timestamp: i64,
    /// The batch was appended before, and is not again.
    pub is_duplicate: bool,
}

/// Validates produced entries, assigns offsets and timestamps, converts and packs as the topic says. A torn tail is cut off in silence
/// (VAL-2d). `producers` changes only when the append succeeds.
///
/// # Errors
/// `Rejected` with Kafka's code and the indexes of bad records; what is wrong with the bytes, as a decode says it.
pub fn append(input: &[u8], options: &AppendOptions, producers: &mut ProducerState) -> Result<Appended> {
    let (entries, headers) = entries(input, options)?;
    ensure_alone(&headers)?;
    let target = options.compression.unwrap_or(source_compression(&headers));
    let mut work = Work::new(options, target);
    let appended = if target == CompressionType::None && source_compression(&headers) == CompressionType::None {
        work.append_plain(&entries, &headers)?
    } else {
        work.append_packed(&entries, &headers)?
    };
    settle(appended, &headers, producers)
}

/// Sequences are looked at last, as on a broker (VAL-20).
fn settle(appended: Appended, headers: &[BatchHeader], producers: &mut ProducerState) -> Result<Appended> {
    let Some(header) = headers.first().filter(|header| header.format == RecordFormat::V2) else { return Ok(appended) };
    if let Some(earlier) = producers.duplicate_of(header) {
        let (first_offset, last_offset, max_timestamp) = (earlier.first_offset, earlier.last_offset, earlier.timestamp);
        return Ok(Appended { data: Vec::new(), first_offset, last_offset, max_timestamp, is_duplicate: true });
    }
    producers.append(header, (appended.first_offset, appended.last_offset), appended.max_timestamp)?;
    Ok(appended)
}

/// All whole entries with their headers, looked at in the order of a broker (VAL-2a to VAL-2c).
fn entries<'a>(input: &'a [u8], options: &AppendOptions) -> Result<(Vec<Frame<'a>>, Vec<BatchHeader>)> {
    let (mut frames, mut headers, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        let tail = input.get(at..).unwrap_or_default();
        let position = u64::try_from(at).unwrap_or(u64::MAX);
        let (len, magic) = match step(tail, Formats::Auto, &options.limits) {
            Step::Entry { len, magic } => (len, magic),
            Step::Incomplete { .. } => return Ok((frames, headers)),
            Step::Fault(error) => return Err(error.at_byte(position)),
        };
        let frame = Frame { position, magic, bytes: tail.get(..len).unwrap_or_default() };
        let header = looked_at(frame, options).map_err(|error| error.at_byte(position))?;
        frames.push(frame);
        headers.push(header);
        at += len;
    }
}

fn looked_at(frame: Frame<'_>, options: &AppendOptions) -> Result<BatchHeader> {
    let header = parse_header(frame, Formats::Auto, 0)?;
    ensure_acceptable(&header, options)?;
    verify(frame.bytes, &header)?;
    Ok(header)
}

/// One append.
struct Work<'a> {
    options: &'a AppendOptions,
    target: CompressionType,
    decoder: Decoder,
    next_offset: i64,
    max_timestamp: i64,
}

/// What the records of an entry are like.
#[derive(Clone, Copy, Debug)]
struct Looked {
    count: i64,
    max_timestamp: i64,
    /// Offsets are 0, 1, 2 and so on.
    is_sequential: bool,
}

impl<'a> Work<'a> {
    fn new(options: &'a AppendOptions, target: CompressionType) -> Self {
        // Checksums of the entries were compared already; those of inner messages come with the scan of a wrapper.
        let codecs = CodecOptions { plugins: options.plugins.clone(), ..CodecOptions::default() };
        let decode = DecodeOptions { is_control_wanted: true, limits: options.limits, codecs, ..DecodeOptions::default() };
        let next_offset = options.first_offset;
        Self { options, target, decoder: Decoder::new(decode), next_offset, max_timestamp: NO_TIMESTAMP }
    }

    /// Nothing is compressed before or after: entry by entry, in place where the format is the topic's.
    fn append_plain(&mut self, entries: &[Frame<'_>], headers: &[BatchHeader]) -> Result<Appended> {
        if headers.iter().any(|header| header.format != self.options.to) {
            return self.rebuild(entries, headers);
        }
        let mut data = Vec::new();
        for (frame, header) in entries.iter().zip(headers) {
            let looked = self.look(*frame, headers.first().unwrap_or(header), header)?;
            self.place(frame.bytes, header, looked, &mut data);
        }
        Ok(self.appended(data))
    }

    /// Something is compressed before or after: in place when nothing but offsets and times changes (VAL-18).
    fn append_packed(&mut self, entries: &[Frame<'_>], headers: &[BatchHeader]) -> Result<Appended> {
        let (Some(frame), Some(header)) = (entries.first(), headers.first()) else { return Ok(Appended::default()) };
        let is_kept = source_compression(headers) == self.target && header.format == self.options.to && header.format != RecordFormat::V0;
        if !is_kept {
            return self.rebuild(entries, headers);
        }
        let looked = self.look(*frame, header, header)?;
        if !looked.is_sequential {
            return self.rebuild(entries, headers);
        }
        let mut data = Vec::new();
        self.place(frame.bytes, header, looked, &mut data);
        Ok(self.appended(data))
    }

    /// Copies an entry and gives it its offsets, epoch and times.
    fn place(&mut self, entry: &[u8], header: &BatchHeader, looked: Looked, data: &mut Vec<u8>) {
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
    fn rebuild(&mut self, entries: &[Frame<'_>], headers: &[BatchHeader]) -> Result<Appended> {
        let Some(first) = headers.first() else { return Ok(Appended::default()) };
        ensure_batch(first, first, self.options)?;
        let settings = self.settings(first)?;
        let (mut builder, mut data) = (BatchBuilder::new(settings).map_err(unwritable)?, Sink::default());
        for (frame, header) in entries.iter().zip(headers) {
            self.look(*frame, first, header)?;
            self.refill(*frame, &mut builder, &mut data)?;
        }
        let mut packer = Packer::default();
        packer.bring(self.options.plugins.clone());
        builder.close(&mut packer, &mut data)?;
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
        let packing = Packing::new(self.target, self.options.level).map_err(unwritable)?;
        let is_stamped = self.options.timestamp_type == TimestampType::LogAppendTime;
        Ok(BatchSettings {
            timestamp_type: self.options.timestamp_type,
            log_append_time: is_stamped.then_some(self.options.now),
            producer: first.producer,
            is_transactional: first.is_transactional(),
            partition_leader_epoch: self.options.partition_leader_epoch,
            ..BatchSettings::new(self.options.to, packing)
        })
    }

    /// VAL-2b again: packing anew changes sizes.
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
    fn look(&mut self, frame: Frame<'_>, first: &BatchHeader, header: &BatchHeader) -> Result<Looked> {
        let at = |error: Error| error.in_batch(header.base_offset).at_byte(frame.position);
        ensure_batch(first, header, self.options).map_err(at)?;
        let Some(opened) = self.decoder.open(frame).map_err(inner_compressed)? else { return Ok(Looked::default()) };
        let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
        let mut look = Look { opened: &opened, section, options: self.options, looked: Looked::default(), errors: RecordErrors::default() };
        let mut walk = opened.walk;
        let walked = walk.advance(&section, walk.left(), &mut look).and_then(|()| walk.finish(&section));
        walked.map_err(|error| at(self.decoder.judged(header, error)))?;
        look.errors.ensure_none().map_err(at)?;
        Ok(look.looked)
    }

    /// Writes the records of an entry that was looked at.
    fn refill(&mut self, frame: Frame<'_>, builder: &mut BatchBuilder, out: &mut Sink) -> Result<()> {
        let Some(opened) = self.decoder.open(frame)? else { return Ok(()) };
        let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
        let mut refill = Refill {
            opened: &opened,
            section,
            builder,
            out,
            headers: Vec::new(),
            next_offset: &mut self.next_offset,
            max_timestamp: &mut self.max_timestamp,
            fault: None,
        };
        let mut walk = opened.walk;
        walk.advance(&section, walk.left(), &mut refill)?;
        refill.fault.map_or(Ok(()), |error| Err(error.in_batch(opened.header.base_offset).at_byte(frame.position)))
    }
}

impl Default for Looked {
    fn default() -> Self {
        Self { count: 0, max_timestamp: NO_TIMESTAMP, is_sequential: true }
    }
}

/// The timestamp of a record as its readers see it.
#[inline]
fn timestamp_of(opened: &Opened, record: &RecordRef) -> i64 {
    opened.append_time.unwrap_or_else(|| opened.header.base_timestamp.wrapping_add(record.timestamp_delta))
}

/// Holds records against the rules.
struct Look<'a> {
    opened: &'a Opened,
    section: Section<'a>,
    options: &'a AppendOptions,
    looked: Looked,
    errors: RecordErrors,
}

impl RecordSink for Look<'_> {
    #[inline]
    fn header(&mut self, _: HeaderRef) {}

    #[inline]
    fn record(&mut self, record: RecordRef) {
        const MAGIC: usize = 16;
        let header = &self.opened.header;
        let magic = match header.format {
            RecordFormat::V2 => header.magic,
            _ => self.section.run(record.start + MAGIC, 1).first().map_or(header.magic, |magic| i8::from_be_bytes([*magic])),
        };
        let index = u64::try_from(self.looked.count).unwrap_or(u64::MAX);
        let seen = Seen { index, magic, has_key: record.key().is_some(), timestamp: timestamp_of(self.opened, &record) };
        self.errors.look(header, &seen, self.options);
        if header.format != RecordFormat::V0 {
            self.looked.max_timestamp = self.looked.max_timestamp.max(seen.timestamp);
        }
        self.looked.is_sequential &= header.base_offset.wrapping_add(record.offset_delta) == self.looked.count;
        self.looked.count += 1;
    }
}

/// Writes records anew.
struct Refill<'a, 'b> {
    opened: &'b Opened,
    section: Section<'a>,
    builder: &'b mut BatchBuilder,
    out: &'b mut Sink,
    headers: Vec<NewHeader<'a>>,
    next_offset: &'b mut i64,
    max_timestamp: &'b mut i64,
    fault: Option<Error>,
}

impl RecordSink for Refill<'_, '_> {
    #[inline]
    fn header(&mut self, header: HeaderRef) {
        let run = |(start, len)| self.section.run(start, len);
        self.headers.push(NewHeader { key: run(header.key()), value: header.value().map(run) });
    }

    #[inline]
    fn record(&mut self, record: RecordRef) {
        let run = |(start, len)| self.section.run(start, len);
        let timestamp = timestamp_of(self.opened, &record);
        let new = NewRecord {
            offset: *self.next_offset,
            timestamp,
            key: record.key().map(run),
            value: record.value().map(run),
            headers: &self.headers,
            ..NewRecord::default()
        };
        if let Err(error) = self.builder.append(&new, self.out) {
            self.fault.get_or_insert(unwritable(error).in_record(u64::try_from(record.index).unwrap_or(u64::MAX)));
        }
        *self.next_offset = self.next_offset.wrapping_add(1);
        *self.max_timestamp = (*self.max_timestamp).max(timestamp);
        self.headers.clear();
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
