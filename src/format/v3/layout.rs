//! The bytes of a record batch, magic 3, in wire order (S-V1 to S-V5, S-H1 to S-H6). All fixed integers are big-endian.
//!
//! ```text
//! RecordBatch =>
//!   baseOffset           int64     0   offset of the first record as produced
//!   batchLength          int32     8   bytes after this field
//!   partitionLeaderEpoch int32    12   -1 = none
//!   magic                int8     16   3
//!   crc                  uint32   17   CRC-32C of everything from attributes on
//!   attributes           int16    21   see below
//!   producerId           int64    23   -1 = none
//!   producerEpoch        int16    31   -1 = none
//!   baseSequence         int32    33   -1 = none
//!   lastOffsetDelta      uvarint  37   32 bits, two's complement
//!   baseTimestamp        varlong       zigzag, ms; the delete horizon when bit 6 is set
//!   maxTimestampDelta    uvarlong      64 bits, two's complement: maxTimestamp - baseTimestamp, wrapping
//!   recordsCount         int32
//!   records              [Record]      uncompressed, or compressed as one stream
//!
//! Record => that of magic 2, without attributes when bit 7 is set; its length counts what is there.
//!
//! With bit 12, the records are in two parts (S-H1): the metadata of all of them, then the payloads of all of them.
//! Metadata =>
//!   length          varint    bytes of the record after this field, in both parts (S-H2)
//!   attributes      int8      without bit 7 only
//!   timestampDelta  varlong
//!   offsetDelta     varint
//!   keyLength       varint    -1 = null
//!   valueLength     varint    -1 = null
//!   headersCount    varint
//! Payload =>
//!   key             bytes
//!   value           bytes
//!   headers         [keyLength varint, key UTF-8, valueLength varint (-1 = null), value]
//! ```
//!
//! The checksum covers attributes to the end, as in magic 2 (S-V3). A broker that stamps a batch with its own time may have to move the
//! records, because the header can grow (S-V20).
//!
//! ```text
//! attributes: | 15-13 unused | 12 metadata first | 11-8 plugin | 7 no record attributes | 6 delete horizon | 5 control | 4 transactional |
//!             | 3 timestamp type | 2-0 compression |
//! ```

use crate::wire::{WireField, WireKind};

/// The magic byte of the format.
pub const MAGIC: i8 = 3;
/// Where the fields of variable length begin.
pub const VARIABLE: usize = 37;
/// Bytes of the smallest header.
pub const MIN_HEADER_LEN: usize = VARIABLE + 3 + 4;
/// Bytes of the largest header: larger than that of magic 2 (S-V33).
pub const MAX_HEADER_LEN: usize = VARIABLE + 5 + 10 + 10 + 4;
/// Fewest bytes that a record without attributes can have: six fields of one byte.
pub const MIN_RECORD_LEN: usize = 6;

/// The fields of the header, for whoever shows them.
pub const BATCH_FIELDS: [WireField; 13] = [
    WireField::new("baseOffset", WireKind::Int(8)),
    WireField::new("batchLength", WireKind::Int(4)),
    WireField::new("partitionLeaderEpoch", WireKind::Int(4)),
    WireField::new("magic", WireKind::Int(1)),
    WireField::new("crc", WireKind::Unsigned(4)),
    WireField::new("attributes", WireKind::Int(2)),
    WireField::new("producerId", WireKind::Int(8)),
    WireField::new("producerEpoch", WireKind::Int(2)),
    WireField::new("baseSequence", WireKind::Int(4)),
    WireField::new("lastOffsetDelta", WireKind::UnsignedVarint),
    WireField::new("baseTimestamp", WireKind::Varlong),
    WireField::new("maxTimestampDelta", WireKind::UnsignedVarlong),
    WireField::new("recordsCount", WireKind::Int(4)),
];
