//! The bytes of a message set entry, magic 0 and 1 (Kafka 0.8 and later), in wire order. All integers are big-endian.
//!
//! ```text
//! Entry =>                 v0  v1
//!   offset        int64     0   0   of the message; in a wrapper, of its last inner message
//!   size          int32     8   8   bytes after this field, at least 14 (v0) or 22 (v1)
//!   crc           uint32   12  12   CRC-32 of everything from magic on
//!   magic         int8     16  16   0 or 1
//!   attributes    int8     17  17   see below
//!   timestamp     int64     -  18   ms; -1 = none; in a wrapper, the largest of the inner ones or the append time
//!   keyLength     int32    18  26   -1 = null
//!   key           bytes    22  30
//!   valueLength   int32             -1 = null
//!   value         bytes             in a wrapper, the inner entries, compressed as one stream
//! ```
//!
//! The checksum does not cover offset and size, so that a broker assigns offsets without touching it (L8-2).
//!
//! Inner offsets are absolute in magic 0 and relative in magic 1: `absolute = wrapper - last inner + inner` (L8-24, L8-25).
//! Compaction leaves holes in them and keeps the wrapper at its last remaining message (L8-26).
//!
//! ```text
//! attributes: | 7-4 unused | 3 timestamp type (magic 1 only) | 2-0 compression |
//! ```

use crate::wire::{WireField, WireKind};

/// Where the size is; it counts the bytes after itself.
pub const SIZE: usize = 8;
/// Where the checksum is.
pub const CRC: usize = 12;
/// Where the checksummed bytes start: at the magic, right after the checksum.
pub const CHECKSUMMED: usize = CRC + 4;
/// Where the magic is.
pub const MAGIC: usize = 16;
/// Where the attributes are.
pub const ATTRIBUTES: usize = 17;
/// Where the timestamp of magic 1 is.
pub const TIMESTAMP: usize = 18;
/// Where the key length is in magic 0.
pub const KEY_V0: usize = 18;
/// Where the key length is in magic 1.
pub const KEY_V1: usize = 26;
/// Bytes of an entry of magic 0 with null key and null value.
pub const MIN_LEN_V0: usize = 26;
/// The same in magic 1.
pub const MIN_LEN_V1: usize = 34;

/// The fields of an entry of magic 0, for whoever shows them.
pub const FIELDS_V0: [WireField; 9] = [
    WireField::new("offset", WireKind::Int(8)),
    WireField::new("size", WireKind::Int(4)),
    WireField::new("crc", WireKind::Unsigned(4)),
    WireField::new("magic", WireKind::Int(1)),
    WireField::new("attributes", WireKind::Int(1)),
    WireField::new("keyLength", WireKind::Int(4)),
    WireField::new("key", WireKind::Bytes),
    WireField::new("valueLength", WireKind::Int(4)),
    WireField::new("value", WireKind::Bytes),
];
/// The same of magic 1.
pub const FIELDS_V1: [WireField; 10] = [
    WireField::new("offset", WireKind::Int(8)),
    WireField::new("size", WireKind::Int(4)),
    WireField::new("crc", WireKind::Unsigned(4)),
    WireField::new("magic", WireKind::Int(1)),
    WireField::new("attributes", WireKind::Int(1)),
    WireField::new("timestamp", WireKind::Int(8)),
    WireField::new("keyLength", WireKind::Int(4)),
    WireField::new("key", WireKind::Bytes),
    WireField::new("valueLength", WireKind::Int(4)),
    WireField::new("value", WireKind::Bytes),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_the_fields() {
        for (fields, key_at) in [(&FIELDS_V0[..], KEY_V0), (&FIELDS_V1[..], KEY_V1)] {
            let at = ["size", "crc", "magic", "attributes", "keyLength"].map(|name| WireField::at(fields, name));
            assert_eq!(at, [SIZE, CRC, MAGIC, ATTRIBUTES, key_at].map(Some));
        }
        assert_eq!(WireField::at(&FIELDS_V1, "timestamp"), Some(TIMESTAMP));
        assert_eq!((KEY_V0 + 8, KEY_V1 + 8), (MIN_LEN_V0, MIN_LEN_V1));
    }
}
