//! One entry of Kafka 0.7 as a view, and its checksum.

use super::layout::{CRC_V0, CRC_V1, LENGTH_LEN, MAGIC, PAYLOAD_V0, PAYLOAD_V1};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Attributes, BatchHeader, RecordFormat};
use crate::wire::checksum;

/// The fields of an entry. Positions count from the entry's start.
#[derive(Clone, Copy, Debug)]
pub struct V07Message {
    /// Stored checksum.
    pub crc: u32,
    /// 0 or 1.
    pub magic: i8,
    /// All attribute bits; 0 in magic 0, which has none.
    pub attributes: u8,
    /// Where the payload starts; it ends with the entry.
    pub payload_start: usize,
}

/// The bits of the attributes with the codec (L7-4).
const COMPRESSION_MASK: u8 = 0x03;

impl V07Message {
    /// Parses an entry that ends where `entry` ends, its length field included.
    ///
    /// # Errors
    /// `Length` when it is shorter than a header (L7-1), `Magic` for others than 0 and 1 (L7-7).
    #[inline]
    pub fn parse(entry: &[u8]) -> Result<Self> {
        fields(entry).ok_or_else(|| invalid(entry))
    }

    /// The payload.
    #[inline]
    pub fn payload<'a>(&self, entry: &'a [u8]) -> &'a [u8] {
        entry.get(self.payload_start..).unwrap_or_default()
    }

    /// True when the payload holds compressed messages; never in magic 0 (L7-6).
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.attributes & COMPRESSION_MASK != 0
    }

    /// Compares the stored checksum with that of the payload.
    ///
    /// # Errors
    /// `Checksum` (L7-12).
    #[inline]
    pub fn verify(&self, entry: &[u8]) -> Result<()> {
        let computed = checksum::crc32(self.payload(entry));
        if computed == self.crc { Ok(()) } else { Err(mismatch(self.crc, computed)) }
    }
}

/// The header of the entry in `bytes`, which is at `position` in the input and at `offset` in the partition (L7-22).
///
/// Its base offset is its own position, its last offset the position after it, which its last message carries (L7-23, L7-24).
///
/// # Errors
/// As `V07Message::parse`.
pub fn header(bytes: &[u8], position: u64, offset: i64) -> Result<BatchHeader> {
    let message = V07Message::parse(bytes)?;
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(BatchHeader {
        position,
        size,
        magic: message.magic,
        base_offset: offset,
        last_offset: offset.wrapping_add(i64::try_from(size).unwrap_or(i64::MAX)),
        count: (!message.is_compressed()).then_some(1),
        attributes: Attributes(i16::from(message.attributes)),
        crc: message.crc,
        ..BatchHeader::new(RecordFormat::V07)
    })
}

/// Bytes of the entry that `bytes` begin with, as its length field claims; `None` when that is cut off or negative.
#[inline]
pub fn claimed_len(bytes: &[u8]) -> Option<usize> {
    let length = i32::from_be_bytes(*bytes.first_chunk::<LENGTH_LEN>()?);
    usize::try_from(length).ok()?.checked_add(LENGTH_LEN)
}

#[inline(always)]
fn fields(entry: &[u8]) -> Option<V07Message> {
    let [magic, attributes] = *entry.get(MAGIC..)?.first_chunk::<2>()?;
    let (attributes, crc_at, payload_start) = match magic {
        0 => (0, CRC_V0, PAYLOAD_V0),
        1 => (attributes, CRC_V1, PAYLOAD_V1),
        _ => return None,
    };
    let crc = u32::from_be_bytes(*entry.get(crc_at..)?.first_chunk::<4>()?);
    Some(V07Message { crc, magic: i8::from_be_bytes([magic]), attributes, payload_start })
}

#[cold]
fn invalid(entry: &[u8]) -> Error {
    let expected = match entry.get(MAGIC) {
        Some(0) | None => PAYLOAD_V0,
        Some(1) => PAYLOAD_V1,
        Some(magic) => return Error::from(ErrorKind::Magic { rule: "L7-7", magic: i8::from_be_bytes([*magic]) }).in_field("magic"),
    };
    let number = |len: usize| i64::try_from(len.saturating_sub(LENGTH_LEN)).unwrap_or(i64::MAX);
    let kind = ErrorKind::Length { rule: "L7-1", declared: number(entry.len()), expected: number(expected) };
    Error::from(kind).in_field("length")
}

#[cold]
fn mismatch(stored: u32, computed: u32) -> Error {
    Error::from(ErrorKind::Checksum { rule: "L7-12", stored, computed }).in_field("crc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l7_8_the_examples_parse_and_their_checksums_match() -> Result<()> {
        for (entry, magic) in [(&b"\0\0\0\x0a\x00\x36\x10\xa6\x86hello"[..], 0), (b"\0\0\0\x0b\x01\x00\x36\x10\xa6\x86hello", 1)] {
            let message = V07Message::parse(entry)?;
            assert_eq!((message.magic, message.payload(entry)), (magic, &b"hello"[..]));
            assert_eq!(claimed_len(entry), Some(entry.len()));
            message.verify(entry)?;
            assert!(V07Message { crc: 1, ..message }.verify(entry).is_err());
        }
        Ok(())
    }

    #[test]
    fn l7_23_offsets_are_the_position_and_the_one_after() -> Result<()> {
        let header = header(b"\0\0\0\x0b\x01\x00\x36\x10\xa6\x86hello", 7, 507)?;
        assert_eq!((header.position, header.base_offset, header.last_offset), (7, 507, 522));
        Ok(())
    }

    #[test]
    fn l7_1_and_l7_7_short_entries_and_other_magics_are_errors() {
        let rule = |entry: &[u8]| V07Message::parse(entry).map_err(|error| error.rule()).err();
        assert_eq!(rule(b"\0\0\0\x05\x01\0\0\0\0"), Some("L7-1"));
        assert_eq!(rule(b"\0\0\0\x06\x02\0\0\0\0\0"), Some("L7-7"));
        assert_eq!(rule(b"\0\0\0\x05\x00\0\0\0\0"), None);
    }
}
