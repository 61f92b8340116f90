//! The bytes of a message of Kafka 0.6 and 0.7, in wire order. All integers are big-endian.
//!
//! ```text
//! Entry =>               magic 0  magic 1
//!   length      int32      0        0      bytes after this field, at least 5 or 6
//!   magic       int8       4        4      0 or 1: other bytes than those of 0.8 and later
//!   attributes  int8       -        5      see below
//!   crc         uint32     5        6      CRC-32 of the payload alone
//!   payload     bytes      9       10      in a compressed message, entries of the same layout, compressed as one stream
//! ```
//!
//! The checksum covers neither length, magic nor attributes: a flipped codec bit is not noticed by it (L7-3).
//!
//! There is no offset in the bytes. An offset is a position in the partition's log: that after a message, or for all inner messages but
//! the last, that of their wrapper (L7-22 to L7-25). Compressed messages may hold compressed messages (L7-17).
//!
//! ```text
//! attributes: | 7-2 unused | 1-0 compression |
//! ```

use crate::wire::{WireField, WireKind};

/// Bytes of the length field.
pub const LENGTH_LEN: usize = 4;
/// Where the magic is.
pub const MAGIC: usize = 4;
/// Where the attributes of magic 1 are.
pub const ATTRIBUTES: usize = 5;
/// Where the checksum of magic 0 is.
pub const CRC_V0: usize = 5;
/// Where the checksum of magic 1 is.
pub const CRC_V1: usize = 6;
/// Where the payload of magic 0 starts, and the fewest bytes of an entry.
pub const PAYLOAD_V0: usize = 9;
/// Where the payload of magic 1 starts, and the fewest bytes of an entry.
pub const PAYLOAD_V1: usize = 10;

/// The fields of an entry of magic 0, for whoever shows them.
pub const FIELDS_V0: [WireField; 4] = [
    WireField::new("length", WireKind::Int(4)),
    WireField::new("magic", WireKind::Int(1)),
    WireField::new("crc", WireKind::Unsigned(4)),
    WireField::new("payload", WireKind::Bytes),
];
/// The same of magic 1.
pub const FIELDS_V1: [WireField; 5] = [
    WireField::new("length", WireKind::Int(4)),
    WireField::new("magic", WireKind::Int(1)),
    WireField::new("attributes", WireKind::Int(1)),
    WireField::new("crc", WireKind::Unsigned(4)),
    WireField::new("payload", WireKind::Bytes),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_the_fields() {
        assert_eq!(["magic", "crc", "payload"].map(|name| WireField::at(&FIELDS_V0, name)), [MAGIC, CRC_V0, PAYLOAD_V0].map(Some));
        let at = ["magic", "attributes", "crc", "payload"].map(|name| WireField::at(&FIELDS_V1, name));
        assert_eq!(at, [MAGIC, ATTRIBUTES, CRC_V1, PAYLOAD_V1].map(Some));
    }
}
