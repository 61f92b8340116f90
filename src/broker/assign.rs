//! Offsets for entries that were written before their place in the log was known: they count from 0 in each file.

use super::append::append;
use super::header_updates::set_last_offset;
use super::options::AppendOptions;
use super::origin::AppendOrigin;
use super::producers::ProducerState;
use crate::codec::Plugins;
use crate::decode::parse_header;
use crate::error::Result;
use crate::framing::Frame;
use crate::limits::Limits;
use crate::model::batch::NO_PARTITION_LEADER_EPOCH;
use crate::model::{BatchHeader, CompressionType, Formats, RecordFormat, TimestampType};

/// Places one file after the other in a log.
///
/// Only offset fields change: that of a batch of magic 2 lies outside its checksum, a wrapper of magic 1 holds relative ones. A wrapper of
/// magic 0 holds absolute ones and is compressed anew, as brokers of its time did. Kafka 0.7 has none.
#[derive(Clone, Debug)]
pub struct Assigner {
    formats: Formats,
    options: AppendOptions,
    /// Offset of the first record of the file.
    base: i64,
    /// Offset after the last one that was placed; for Kafka 0.7 the position after it.
    next_offset: i64,
}

impl Assigner {
    /// From `base_offset` on. `level` is that of the codec of magic 0.
    pub fn new(format: RecordFormat, level: Option<i32>, base_offset: i64) -> Self {
        let options = AppendOptions {
            request: None,
            origin: AppendOrigin::Client,
            first_offset: base_offset,
            to: RecordFormat::V0,
            compression: None,
            level,
            has_zstd: true,
            timestamp_type: TimestampType::CreateTime,
            now: 0,
            before_max_ms: None,
            after_max_ms: None,
            is_compacted: false,
            max_message_bytes: u64::MAX,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
            limits: Limits { max_batch_bytes: u64::MAX, ..Limits::default() },
            plugins: Plugins::default(),
        };
        let formats = if format == RecordFormat::V07 { Formats::Only(format) } else { Formats::Auto };
        Self { formats, options, base: base_offset, next_offset: base_offset }
    }

    /// The next file begins.
    pub fn begin_file(&mut self) {
        self.base = self.next_offset;
    }

    /// Offset after the last one.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// The formats of the entries.
    pub fn formats(&self) -> Formats {
        self.formats
    }

    /// Limits of an entry; there are none for its size, since it was written here.
    pub fn limits(&self) -> Limits {
        self.options.limits
    }

    /// Adds the entry to `data` in its place, and gives its header with the offsets that it has there.
    ///
    /// # Errors
    /// What is wrong with an entry that is damaged.
    pub fn assign(&mut self, frame: Frame<'_>, data: &mut Vec<u8>) -> Result<BatchHeader> {
        let header = parse_header(frame, self.formats, self.next_offset)?;
        if header.format == RecordFormat::V07 {
            data.extend_from_slice(frame.bytes);
            self.next_offset = self.next_offset.wrapping_add(i64::try_from(header.size).unwrap_or(i64::MAX));
            return Ok(header);
        }
        let first_offset = self.next_offset;
        let last_offset = self.base.wrapping_add(header.last_offset);
        self.next_offset = last_offset.wrapping_add(1);
        if header.format == RecordFormat::V0 && header.compression() != CompressionType::None && self.base != 0 {
            let options = AppendOptions { first_offset, ..self.options.clone() };
            data.extend_from_slice(&append(frame.bytes, &options, &mut ProducerState::default())?.data);
        } else {
            let start = data.len();
            data.extend_from_slice(frame.bytes);
            set_last_offset(data.get_mut(start..).unwrap_or_default(), &header, last_offset);
        }
        Ok(BatchHeader { base_offset: first_offset, last_offset, ..header })
    }
}
