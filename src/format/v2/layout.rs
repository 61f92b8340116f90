//! The bytes of a record batch, magic 2, in wire order. All integers are big-endian.
//!
//! ```text
//! RecordBatch =>
//!   baseOffset           int64     0   offset of the first record as produced
//!   batchLength          int32     8   bytes after this field, at least 49
//!   partitionLeaderEpoch int32    12   -1 = none
//!   magic                int8     16   2
//!   crc                  uint32   17   CRC-32C of everything from attributes on
//!   attributes           int16    21   see below
//!   lastOffsetDelta      int32    23
//!   baseTimestamp        int64    27   ms; the delete horizon when bit 6 is set
//!   maxTimestamp         int64    35   ms; the append time when bit 3 is set
//!   producerId           int64    43   -1 = none
//!   producerEpoch        int16    51   -1 = none
//!   baseSequence         int32    53   -1 = none
//!   recordsCount         int32    57
//!   records              [Record] 61   uncompressed, or compressed as one stream
//!
//! Record =>
//!   length          varint    bytes after this field
//!   attributes      int8      unused, written 0
//!   timestampDelta  varlong   to baseTimestamp, ms, may be negative
//!   offsetDelta     varint    to baseOffset
//!   keyLength       varint    -1 = null
//!   key             bytes
//!   valueLength     varint    -1 = null
//!   value           bytes
//!   headersCount    varint    zigzag, not unsigned
//!   headers         [keyLength varint, key UTF-8, valueLength varint (-1 = null), value]
//! ```
//!
//! The checksum covers attributes to the end. It does not cover baseOffset, batchLength, partitionLeaderEpoch and magic, so that
//! a broker assigns offsets and the epoch without touching it (V2-4): damage in these fields shows only where neighbours contradict it.
//!
//! Compaction keeps baseOffset, lastOffsetDelta and the producer fields; the count may be smaller than lastOffsetDelta + 1,
//! and a batch may be empty (V2-7, V2-9).
//!
//! ```text
//! attributes: | 15-12 unused | 11-8 plugin | 7 unused | 6 delete horizon | 5 control | 4 transactional | 3 timestamp type | 2-0 compression |
//! ```

use crate::wire::{WireField, WireKind};

/// The magic byte of the format.
pub const MAGIC: i8 = 2;
/// Where the length field ends; it counts the bytes from here on.
pub const LENGTH_END: usize = 12;
/// Where the checksum is.
pub const CRC: usize = 17;
/// Where the checksummed bytes start: right after the checksum.
pub const CHECKSUMMED: usize = CRC + 4;
/// Where the distance from the first to the last offset is.
pub const LAST_OFFSET_DELTA: usize = 23;
/// Bytes of the header; the records start here.
pub const HEADER_LEN: usize = 61;
/// Fewest bytes that a record can have: seven fields of one byte (V2-22).
pub const MIN_RECORD_LEN: usize = 7;
/// Bytes of a record without key, value, headers and their lengths, at most: length 5, attributes 1, deltas 10 and 5 (V2-22).
pub const MAX_RECORD_OVERHEAD: usize = 21;

/// The fields of the header, for whoever shows them.
pub const BATCH_FIELDS: [WireField; 13] = [
    WireField::new("baseOffset", WireKind::Int(8)),
    WireField::new("batchLength", WireKind::Int(4)),
    WireField::new("partitionLeaderEpoch", WireKind::Int(4)),
    WireField::new("magic", WireKind::Int(1)),
    WireField::new("crc", WireKind::Unsigned(4)),
    WireField::new("attributes", WireKind::Int(2)),
    WireField::new("lastOffsetDelta", WireKind::Int(4)),
    WireField::new("baseTimestamp", WireKind::Int(8)),
    WireField::new("maxTimestamp", WireKind::Int(8)),
    WireField::new("producerId", WireKind::Int(8)),
    WireField::new("producerEpoch", WireKind::Int(2)),
    WireField::new("baseSequence", WireKind::Int(4)),
    WireField::new("recordsCount", WireKind::Int(4)),
];
/// The fields of a record up to its headers.
pub const RECORD_FIELDS: [WireField; 9] = [
    WireField::new("length", WireKind::Varint),
    WireField::new("attributes", WireKind::Int(1)),
    WireField::new("timestampDelta", WireKind::Varlong),
    WireField::new("offsetDelta", WireKind::Varint),
    WireField::new("keyLength", WireKind::Varint),
    WireField::new("key", WireKind::Bytes),
    WireField::new("valueLength", WireKind::Varint),
    WireField::new("value", WireKind::Bytes),
    WireField::new("headersCount", WireKind::Varint),
];
/// The fields of one header of a record.
pub const HEADER_FIELDS: [WireField; 4] = [
    WireField::new("headerKeyLength", WireKind::Varint),
    WireField::new("headerKey", WireKind::Bytes),
    WireField::new("headerValueLength", WireKind::Varint),
    WireField::new("headerValue", WireKind::Bytes),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_the_fields() {
        let at = |name| WireField::at(&BATCH_FIELDS, name);
        assert_eq!(at("partitionLeaderEpoch"), Some(LENGTH_END));
        assert_eq!((at("crc"), at("attributes")), (Some(CRC), Some(CHECKSUMMED)));
        assert_eq!(at("lastOffsetDelta"), Some(LAST_OFFSET_DELTA));
        assert_eq!(at("recordsCount").map(|at| at + 4), Some(HEADER_LEN));
    }
}
