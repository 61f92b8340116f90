use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{Attributes, CompressionType, RecordFormat, TimestampType};

/// What the header of an entry says, in the words of `kafka-dump-log`. Nothing in it is trusted yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchHeader {
    /// Position of the entry in the input, in bytes.
    pub position: u64,
    /// Bytes of the whole entry, its 12 bytes of offset and length included.
    pub size: u64,
    /// Which bytes the entry is made of.
    pub format: RecordFormat,
    /// The magic byte as stored; Kafka 0.7 has two in one format.
    pub magic: i8,
    /// Offset of the first record as produced. Before a wrapper of magic 0 or 1 is decompressed this is the wrapper's own, its last one's.
    pub base_offset: i64,
    /// Offset of the last record as produced (V2-5).
    pub last_offset: i64,
    /// Records that the header counts; `None` where only decompressing shows (L8-28).
    pub count: Option<i32>,
    /// All attribute bits.
    pub attributes: Attributes,
    /// Timestamp that the deltas count from, ms; the delete horizon when that bit is set.
    pub base_timestamp: i64,
    /// Largest timestamp, or the append time, ms.
    pub max_timestamp: i64,
    /// Stored checksum.
    pub crc: u32,
    /// Leader epoch, -1 for none; no checksum covers it.
    pub partition_leader_epoch: i32,
    /// Producer fields.
    pub producer: Producer,
}

/// Idempotence and transactions (KIP-98); all -1 when unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Producer id.
    pub id: i64,
    /// Producer epoch.
    pub epoch: i16,
    /// Sequence of the first record.
    pub base_sequence: i32,
}

/// The stored value of an absent producer id.
pub const NO_PRODUCER_ID: i64 = -1;
/// The stored value of an absent producer epoch.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// The stored value of an absent leader epoch.
pub const NO_PARTITION_LEADER_EPOCH: i32 = -1;
/// The stored value of an absent sequence.
pub const NO_SEQUENCE: i32 = -1;

impl BatchHeader {
    /// A header without records, timestamps and producer, at offset 0.
    #[inline]
    pub fn new(format: RecordFormat) -> Self {
        Self {
            position: 0,
            size: 0,
            format,
            magic: format.magic(),
            base_offset: 0,
            last_offset: 0,
            count: None,
            attributes: Attributes::default(),
            base_timestamp: NO_TIMESTAMP,
            max_timestamp: NO_TIMESTAMP,
            crc: 0,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
            producer: Producer::default(),
        }
    }

    /// Bits 0-2 of the attributes, with a plugin in magic 2 (S-P4); in Kafka 0.7 bits 0-1 (L7-4).
    pub fn compression(&self) -> CompressionType {
        match self.format {
            RecordFormat::V07 => Attributes(self.attributes.0 & 0x03).compression(),
            RecordFormat::V0 | RecordFormat::V1 => self.attributes.compression(),
            RecordFormat::V2 | RecordFormat::V3 => self.attributes.batch_compression(),
        }
    }

    /// CreateTime or LogAppendTime; before magic 1 there are no timestamps (L8-7).
    pub fn timestamp_type(&self) -> TimestampType {
        match self.format {
            RecordFormat::V07 | RecordFormat::V0 => TimestampType::NoTimestampType,
            RecordFormat::V1 | RecordFormat::V2 | RecordFormat::V3 => self.attributes.timestamp_type(),
        }
    }

    /// True for a batch of a transaction; there are none before magic 2.
    pub fn is_transactional(&self) -> bool {
        self.format.is_batch() && self.attributes.is_transactional()
    }

    /// True for a batch of control records; there are none before magic 2.
    pub fn is_control(&self) -> bool {
        self.format.is_batch() && self.attributes.is_control()
    }

    /// True if the last offset is before the base offset, there are more records than offsets, or there are bytes of records without a record.
    pub fn is_contradictory(&self) -> bool {
        /// Bytes of an entry of magic 2 that a compaction has left without records.
        const EMPTIED_LEN: u64 = 61;
        let offsets = self.last_offset.saturating_sub(self.base_offset).saturating_add(1);
        let has_uncounted = |count: i32| count < 1 && self.format == RecordFormat::V2 && self.size > EMPTIED_LEN;
        self.format.is_batch() && (offsets < 1 || self.count.is_some_and(|count| i64::from(count) > offsets || has_uncounted(count)))
    }

    /// Attribute bits that the format does not use (FND-6).
    pub fn unused_bits(&self) -> i16 {
        match self.format {
            RecordFormat::V07 if self.magic == 0 => 0,
            RecordFormat::V07 => self.attributes.0 & !0x03,
            RecordFormat::V0 => self.attributes.0 & !0x07,
            RecordFormat::V1 => self.attributes.0 & !0x0f,
            RecordFormat::V2 => self.attributes.unused(),
            RecordFormat::V3 => self.attributes.unused_in_proposed(),
        }
    }

    /// True when records have an attributes byte: in magic 3, if a bit is set (S-V2).
    pub fn has_record_attributes(&self) -> bool {
        self.format == RecordFormat::V2 || self.format == RecordFormat::V3 && !self.attributes.ignores_message_attributes()
    }

    /// True when the metadata of all records comes before their payloads (S-H1).
    pub fn is_metadata_first(&self) -> bool {
        self.format == RecordFormat::V3 && self.attributes.is_metadata_first()
    }

    /// The offset of the first record; `None` while a wrapper of magic 0 or 1 is not decompressed (L8-28).
    pub fn known_base_offset(&self) -> Option<i64> {
        let is_message = matches!(self.format, RecordFormat::V0 | RecordFormat::V1);
        (!is_message || self.count.is_some()).then_some(self.base_offset)
    }

    /// The append time that stands for the timestamps of all records of the entry, where there is one (V2-12, L8-29).
    pub fn append_time(&self) -> Option<i64> {
        (self.timestamp_type() == TimestampType::LogAppendTime).then_some(self.max_timestamp)
    }

    /// Timestamp of a record with this delta (V2-11, V2-12).
    pub fn timestamp(&self, delta: i64) -> i64 {
        self.append_time().unwrap_or_else(|| self.base_timestamp.wrapping_add(delta))
    }

    /// Sequence of a record with this delta (V2-6).
    pub fn sequence(&self, offset_delta: i64) -> i32 {
        self.producer.sequence(i32::try_from(offset_delta).unwrap_or(0))
    }

    /// Sequence of the last record as produced (V2-6).
    pub fn last_sequence(&self) -> i32 {
        let delta = self.last_offset.wrapping_sub(self.base_offset);
        self.producer.sequence(i32::try_from(delta).unwrap_or(0))
    }

    /// The delete horizon in ms, when the batch has one (V2-14).
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        (self.format.is_batch() && self.attributes.has_delete_horizon()).then_some(self.base_timestamp)
    }

    /// Offset after the last record as produced.
    pub fn next_offset(&self) -> i64 {
        self.last_offset.wrapping_add(1)
    }
}

impl Default for Producer {
    /// None.
    fn default() -> Self {
        Self { id: NO_PRODUCER_ID, epoch: NO_PRODUCER_EPOCH, base_sequence: NO_SEQUENCE }
    }
}

impl Producer {
    /// Sequences wrap from 2147483647 to 0; without a base sequence there is none.
    pub fn sequence(&self, delta: i32) -> i32 {
        if self.base_sequence < 0 {
            return NO_SEQUENCE;
        }
        self.base_sequence.wrapping_add(delta) & i32::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_6_sequences_wrap_to_zero() {
        let producer = Producer { id: 1, epoch: 0, base_sequence: i32::MAX - 1 };
        assert_eq!([0, 1, 2].map(|delta| producer.sequence(delta)), [i32::MAX - 1, i32::MAX, 0]);
        assert_eq!(Producer { base_sequence: -1, ..producer }.sequence(5), NO_SEQUENCE);
    }
}
