//! What a broker holds produced batches and records against (VAL-2 to VAL-16).

use super::entries::EntryWithHeader;
use super::options::AppendOptions;
use super::origin::AppendOrigin;
use super::refusal::refused;
use crate::compat::KafkaError;
use crate::compat::error_codes::{
    INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE, UNSUPPORTED_COMPRESSION_TYPE, UNSUPPORTED_FOR_MESSAGE_FORMAT,
};
use crate::error::{Error, ErrorKind, Result};
use crate::model::batch::{NO_PRODUCER_ID, Producer};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, RecordFormat, TimestampType};

/// VAL-2a, and that a Raft leader's batches have its epoch.
pub fn ensure_acceptable(header: &BatchHeader, options: &AppendOptions) -> Result<()> {
    let (epoch, expected) = (header.partition_leader_epoch, options.partition_leader_epoch);
    if options.origin == AppendOrigin::RaftLeader && epoch != expected {
        let reason =
            format!("Append from Raft leader did not set the batch epoch correctly, expected {expected} but the batch has {epoch}");
        return Err(refused("VAL-2", INVALID_RECORD, reason));
    }
    if options.origin == AppendOrigin::Client && header.format == RecordFormat::V2 && header.base_offset != 0 {
        let reason = format!("The baseOffset of the record batch in the append should be 0, but it is {}", header.base_offset);
        return Err(refused("VAL-2", INVALID_RECORD, reason));
    }
    Ok(())
}

/// VAL-2b. What the leader took, a follower takes too.
pub fn ensure_size(size: u64, options: &AppendOptions) -> Result<()> {
    if size <= options.max_message_bytes || options.origin == AppendOrigin::Replication {
        return Ok(());
    }
    let reason = format!(
        "The record batch size in the append is {size} bytes which exceeds the maximum configured value of {}",
        options.max_message_bytes
    );
    Err(refused("VAL-2", MESSAGE_TOO_LARGE, reason))
}

/// VAL-9: zstd where all brokers know it; S-P22: plugins where the format can hold them.
pub fn ensure_codec(target: CompressionType, options: &AppendOptions) -> Result<()> {
    if target == CompressionType::Zstd && !options.has_zstd {
        let reason = "Produce requests to inter.broker.protocol.version < 2.1 broker are not allowed to use ZStandard compression";
        return Err(refused("VAL-9", UNSUPPORTED_COMPRESSION_TYPE, reason));
    }
    match target {
        CompressionType::Plugin(id) if options.to < RecordFormat::V2 => {
            let reason = format!("the codec plugin:{id} exists in magic 2 only: name another for a topic of magic {}", options.to.magic());
            Err(refused("S-P22", UNSUPPORTED_COMPRESSION_TYPE, reason))
        }
        _ => Ok(()),
    }
}

/// VAL-7: compressed messages and batches of magic 2 come alone.
pub fn ensure_alone(entries: &[EntryWithHeader<'_>], source: CompressionType) -> Result<()> {
    let Some((_, first)) = entries.first() else {
        return Err(refused("VAL-7", INVALID_RECORD, "Record batch has no batches at all"));
    };
    let comes_alone = first.format == RecordFormat::V2 || source != CompressionType::None;
    if comes_alone && entries.len() > 1 {
        return Err(refused("VAL-7", INVALID_RECORD, "Compressed outer record has more than one batch"));
    }
    Ok(())
}

/// The codec of the last entry that is compressed, as Kafka takes it.
pub fn source_compression(entries: &[EntryWithHeader<'_>]) -> CompressionType {
    let mut codecs = entries.iter().rev().map(|(_, header)| header.compression());
    codecs.find(|codec| *codec != CompressionType::None).unwrap_or(CompressionType::None)
}

/// VAL-3 to VAL-8.
pub fn ensure_batch(first: &BatchHeader, header: &BatchHeader, options: &AppendOptions) -> Result<()> {
    if first.format != header.format {
        let reason = format!("Batch magic {} is not the same as the first batch's magic byte {}", header.magic, first.magic);
        return Err(refused("VAL-6", INVALID_RECORD, reason));
    }
    if options.origin == AppendOrigin::Client {
        ensure_from_client(header)?;
    }
    let kind = match () {
        () if options.to >= RecordFormat::V2 => return Ok(()),
        () if header.is_transactional() => "Transactional",
        () if header.producer.id != NO_PRODUCER_ID => "Idempotent",
        () => return Ok(()),
    };
    let reason = format!("{kind} records cannot be used with magic version {}", options.to.magic());
    Err(refused("VAL-8", UNSUPPORTED_FOR_MESSAGE_FORMAT, reason))
}

/// VAL-3 to VAL-5: what brokers themselves may write, and clients may not.
fn ensure_from_client(header: &BatchHeader) -> Result<()> {
    if header.format == RecordFormat::V2 {
        ensure_complete(header)?;
    }
    if header.is_control() {
        return Err(refused("VAL-4", INVALID_RECORD, "Clients are not allowed to write control records"));
    }
    let Producer { id, base_sequence, .. } = header.producer;
    if id != NO_PRODUCER_ID && base_sequence < 0 {
        let reason = format!("Invalid sequence number {base_sequence} in record batch with producerId {id}");
        return Err(refused("VAL-5", INVALID_RECORD, reason));
    }
    Ok(())
}

/// VAL-3: a produced batch has a record for each of its offsets.
fn ensure_complete(header: &BatchHeader) -> Result<()> {
    let by_offsets = header.last_offset.wrapping_sub(header.base_offset).wrapping_add(1);
    let count = i64::from(header.count.unwrap_or(0));
    let reason = match () {
        () if by_offsets <= 0 => format!("Batch has an invalid offset range: [{}, {}]", header.base_offset, header.last_offset),
        () if count <= 0 => format!("Invalid reported count for record batch: {count}"),
        () if by_offsets != count => {
            format!("Inconsistent batch offset range [{}, {}] and count of records {count}", header.base_offset, header.last_offset)
        }
        () => return Ok(()),
    };
    Err(refused("VAL-3", INVALID_RECORD, reason))
}

/// What a broker sees of a record.
#[derive(Clone, Copy, Debug)]
pub struct RecordFacts {
    /// Index in the batch.
    pub index: u64,
    /// Magic of the record itself.
    pub magic: i8,
    /// Whether it has a key.
    pub has_key: bool,
    /// Its timestamp; the append time where the batch has one.
    pub timestamp: i64,
}

/// Records that break a rule; the batch fails as a whole (VAL-16).
#[derive(Debug, Default)]
pub struct RecordErrors {
    first: Option<(&'static str, String)>,
    indexes: Vec<u64>,
    has_timestamp_error: bool,
}

/// Largest number of reported indexes; there can be millions.
const MOST_LISTED: usize = 10_000;

impl RecordErrors {
    /// Looks at a record (VAL-10, VAL-12, VAL-14, VAL-15).
    #[inline]
    pub fn look(&mut self, header: &BatchHeader, seen: &RecordFacts, options: &AppendOptions) {
        if header.format != RecordFormat::V2 && seen.magic != header.magic {
            let reason = format!("Log record magic {} does not match outer magic {}", seen.magic, header.magic);
            return self.add("VAL-12", seen, false, reason);
        }
        if options.is_compacted && !seen.has_key {
            let reason = "Compacted topic cannot accept message without key".to_owned();
            return self.add("VAL-10", seen, false, reason);
        }
        if options.timestamp_type == TimestampType::CreateTime && seen.timestamp != NO_TIMESTAMP {
            return self.look_at_timestamp(seen, options);
        }
        if header.timestamp_type() == TimestampType::LogAppendTime {
            let reason = "Invalid timestamp type. Producers should not set timestamp type to LogAppendTime".to_owned();
            self.add("VAL-15", seen, true, reason);
        }
    }

    fn look_at_timestamp(&mut self, seen: &RecordFacts, options: &AppendOptions) {
        let now = i128::from(options.now);
        let earliest = options.before_max_ms.map(|before| now - i128::from(before));
        let latest = options.after_max_ms.map(|after| now + i128::from(after));
        let timestamp = i128::from(seen.timestamp);
        if earliest.is_none_or(|earliest| timestamp >= earliest) && latest.is_none_or(|latest| timestamp <= latest) {
            return;
        }
        let side = |limit: Option<i128>| limit.map_or_else(|| "any".to_owned(), |limit| limit.to_string());
        let reason = format!("Timestamp {} is out of range: from {} to {}", seen.timestamp, side(earliest), side(latest));
        self.add("VAL-14", seen, true, reason);
    }

    #[cold]
    fn add(&mut self, rule: &'static str, seen: &RecordFacts, is_about_timestamp: bool, reason: String) {
        // A timestamp error wins over others.
        if self.first.is_none() || (is_about_timestamp && !self.has_timestamp_error) {
            self.first = Some((rule, reason));
        }
        self.has_timestamp_error |= is_about_timestamp;
        if self.indexes.len() < MOST_LISTED {
            self.indexes.push(seen.index);
        }
    }

    /// Fails when there are any.
    pub fn ensure_none(&mut self) -> Result<()> {
        let Some((rule, reason)) = self.first.take() else { return Ok(()) };
        let KafkaError { code, name, .. } = if self.has_timestamp_error { INVALID_TIMESTAMP } else { INVALID_RECORD };
        let records = std::mem::take(&mut self.indexes);
        let index = records.first().copied().unwrap_or(0);
        Err(Error::from(ErrorKind::Rejected { rule, code, name, reason, records }).in_record(index))
    }
}
