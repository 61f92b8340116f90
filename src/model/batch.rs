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
    /// Offset of the first record as produced.
    pub base_offset: i64,
    /// Offset of the last record as produced (V2-5).
    pub last_offset: i64,
    /// Records that the header counts; `None` where only unpacking tells.
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
    /// Bits 0-2 of the attributes.
    pub fn compression(&self) -> CompressionType {
        self.attributes.compression()
    }

    /// CreateTime or LogAppendTime.
    pub fn timestamp_type(&self) -> TimestampType {
        self.attributes.timestamp_type()
    }

    /// Timestamp of a record with this delta (V2-11, V2-12).
    #[inline(always)]
    pub fn timestamp(&self, delta: i64) -> i64 {
        match self.timestamp_type() {
            TimestampType::LogAppendTime => self.max_timestamp,
            _ => self.base_timestamp.wrapping_add(delta),
        }
    }

    /// Sequence of a record with this delta (V2-6).
    pub fn sequence(&self, offset_delta: i32) -> i32 {
        self.producer.sequence(offset_delta)
    }

    /// Sequence of the last record as produced (V2-6).
    pub fn last_sequence(&self) -> i32 {
        let delta = self.last_offset.wrapping_sub(self.base_offset);
        self.producer.sequence(i32::try_from(delta).unwrap_or(0))
    }

    /// The delete horizon in ms, when the batch has one (V2-14).
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        self.attributes.has_delete_horizon().then_some(self.base_timestamp)
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
