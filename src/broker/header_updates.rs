//! What a broker changes in place (VAL-17): offsets, leader epoch, timestamps and their type, then the checksum.

use crate::format::v0_v1::layout as legacy;
use crate::format::v2::layout as batch;
use crate::model::{BatchHeader, RecordFormat, TimestampType};
use crate::wire::checksum;

/// Where the leader epoch is in magic 2.
const LEADER_EPOCH: usize = 12;
/// Where maxTimestamp is in magic 2.
const MAX_TIMESTAMP: usize = 35;
/// The bit of LogAppendTime.
const LOG_APPEND_TIME: u8 = 1 << 3;
/// Attribute bits that Kafka keeps when it rewrites them (V2-2): of magic 2 the low seven, of magic 1 the codec.
const KEPT_V2: u8 = 0x77;
const KEPT_V1: u8 = 0x07;

/// Gives the entry its last offset.
pub fn set_last_offset(entry: &mut [u8], header: &BatchHeader, last_offset: i64) {
    let first = match header.format {
        RecordFormat::V2 => last_offset.wrapping_sub(header.last_offset.wrapping_sub(header.base_offset)),
        _ => last_offset,
    };
    put(entry, 0, &first.to_be_bytes());
}

/// Gives a batch of magic 2 its leader epoch, which no checksum covers.
pub fn set_leader_epoch(entry: &mut [u8], epoch: i32) {
    put(entry, LEADER_EPOCH, &epoch.to_be_bytes());
}

/// Gives the entry its timestamp type and largest timestamp, and a checksum that fits, unless it has them already.
pub fn set_max_timestamp(entry: &mut [u8], header: &BatchHeader, kind: TimestampType, timestamp: i64) {
    if header.format == RecordFormat::V0 || (header.timestamp_type() == kind && header.max_timestamp == timestamp) {
        return;
    }
    let bit = if kind == TimestampType::LogAppendTime { LOG_APPEND_TIME } else { 0 };
    // The high byte is lost here, as in Kafka (V2-2).
    let [_, low] = header.attributes.0.to_be_bytes();
    if header.format == RecordFormat::V2 {
        put(entry, batch::CHECKSUMMED, &[0, low & KEPT_V2 | bit]);
        put(entry, MAX_TIMESTAMP, &timestamp.to_be_bytes());
        let crc = checksum::crc32c(entry.get(batch::CHECKSUMMED..).unwrap_or_default());
        put(entry, batch::CRC, &crc.to_be_bytes());
    } else {
        put(entry, legacy::ATTRIBUTES, &[low & KEPT_V1 | bit]);
        put(entry, legacy::TIMESTAMP, &timestamp.to_be_bytes());
        let crc = checksum::crc32(entry.get(legacy::CHECKSUMMED..).unwrap_or_default());
        put(entry, legacy::CRC, &crc.to_be_bytes());
    }
}

fn put(entry: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(field) = entry.get_mut(at..).and_then(|tail| tail.get_mut(..bytes.len())) {
        field.copy_from_slice(bytes);
    }
}
