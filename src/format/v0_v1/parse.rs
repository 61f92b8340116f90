//! One entry of a message set as a view, and its checksum.

use super::layout::{CHECKSUMMED, CRC, KEY_V0, KEY_V1, MAGIC, MIN_LEN_V0, MIN_LEN_V1, SIZE, TIMESTAMP};
use crate::error::{Error, ErrorKind, Result};
use crate::model::batch::NO_PARTITION_LEADER_EPOCH;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{Attributes, BatchHeader, CompressionType, Producer, RecordFormat};
use crate::wire::checksum;

/// The fields of an entry. Positions count from the entry's start; lengths below zero mean null (PRM-8).
#[derive(Clone, Copy, Debug)]
pub struct V0V1Message {
    /// As stored; what it means depends on where the message lies.
    pub offset: i64,
    /// Stored checksum.
    pub crc: u32,
    /// 0 or 1.
    pub magic: i8,
    /// All attribute bits.
    pub attributes: u8,
    /// Milliseconds; -1 for none, and always in magic 0.
    pub timestamp: i64,
    /// Where the key starts.
    pub key_start: usize,
    /// Bytes of the key as stored.
    pub key_len: i32,
    /// Where the value starts.
    pub value_start: usize,
    /// Bytes of the value as stored.
    pub value_len: i32,
}

/// The bits of the attributes with the codec (L8-3).
const COMPRESSION_MASK: u8 = 0x07;

impl V0V1Message {
    /// Parses an entry that ends where `entry` ends, its offset and size fields included.
    ///
    /// # Errors
    /// `Length` when it is shorter than its format allows (L8-18) or a key or value runs past its end (L8-8), `Magic` for others than 0 and 1.
    #[inline]
    pub fn parse(entry: &[u8]) -> Result<Self> {
        fields(entry).ok_or_else(|| invalid(entry))
    }

    /// Where the value ends; anything up to the end of the entry is left over (FND-13).
    pub fn end(&self) -> usize {
        self.value_start + non_null(self.value_len)
    }

    /// The value; `None` for null.
    pub fn value<'a>(&self, entry: &'a [u8]) -> Option<&'a [u8]> {
        let len = usize::try_from(self.value_len).ok()?;
        entry.get(self.value_start..).and_then(|tail| tail.get(..len))
    }

    /// True when the value holds compressed messages.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.attributes & COMPRESSION_MASK != 0
    }
}

/// The header of the entry in `bytes`, as far as it is known without decompression.
///
/// # Errors
/// `Length` when the entry is too short for its magic (L8-18).
pub fn header(bytes: &[u8], position: u64, format: RecordFormat) -> Result<BatchHeader> {
    let head = bytes.first_chunk::<MIN_LEN_V0>().ok_or_else(|| invalid(bytes))?;
    let offset = i64::from_be_bytes(array(head, 0).ok_or_else(|| invalid(bytes))?);
    let crc = u32::from_be_bytes(array(head, CRC).ok_or_else(|| invalid(bytes))?);
    let [magic, attributes] = array(head, MAGIC).ok_or_else(|| invalid(bytes))?;
    let timestamp = match format {
        RecordFormat::V0 => NO_TIMESTAMP,
        _ if bytes.len() < MIN_LEN_V1 => return Err(invalid(bytes)),
        _ => i64::from_be_bytes(array(bytes, TIMESTAMP).ok_or_else(|| invalid(bytes))?),
    };
    let attributes = Attributes(i16::from(attributes));
    let is_uncompressed = attributes.compression() == CompressionType::None;
    Ok(BatchHeader {
        position,
        size: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        format,
        magic: i8::from_be_bytes([magic]),
        base_offset: offset,
        last_offset: offset,
        count: is_uncompressed.then_some(1),
        attributes,
        base_timestamp: if is_uncompressed { timestamp } else { NO_TIMESTAMP },
        max_timestamp: timestamp,
        crc,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer: Producer::default(),
    })
}

/// Compares the stored checksum with that of the bytes.
///
/// # Errors
/// `Checksum` (L8-2).
#[inline]
pub fn verify(entry: &[u8], stored: u32) -> Result<()> {
    let computed = checksum::crc32(entry.get(CHECKSUMMED..).unwrap_or_default());
    if computed == stored { Ok(()) } else { Err(mismatch(stored, computed)) }
}

/// True when key and value fill an entry of `len` bytes exactly, by the bytes at its front.
pub fn adds_up(front: &[u8], len: usize) -> bool {
    let key_at = if front.get(MAGIC) == Some(&0) { KEY_V0 } else { KEY_V1 };
    let Some(key_len) = array(front, key_at).map(i32::from_be_bytes) else { return len >= key_at + 8 };
    let value_at = non_null(key_len).saturating_add(key_at + 4);
    if key_len < -1 || value_at.saturating_add(4) > len {
        return false;
    }
    let value_len = array(front, value_at).map(i32::from_be_bytes);
    value_len.is_none_or(|value_len| value_len >= -1 && non_null(value_len).saturating_add(value_at + 4) == len)
}

/// Bytes of the entry that `bytes` begin with, as its size field claims; `None` when that is cut off or negative.
#[inline]
pub fn claimed_len(bytes: &[u8]) -> Option<usize> {
    let size = i32::from_be_bytes(array(bytes, SIZE)?);
    usize::try_from(size).ok()?.checked_add(CRC)
}

#[inline(always)]
fn fields(entry: &[u8]) -> Option<V0V1Message> {
    let head = entry.first_chunk::<MIN_LEN_V0>()?;
    let [magic, attributes] = array(head, MAGIC)?;
    let (timestamp, key_at) = match magic {
        0 => (NO_TIMESTAMP, KEY_V0),
        1 => (i64::from_be_bytes(array(entry, TIMESTAMP)?), KEY_V1),
        _ => return None,
    };
    let key_len = i32::from_be_bytes(array(entry, key_at)?);
    let key_start = key_at + 4;
    let value_at = key_start + non_null(key_len);
    let value_len = i32::from_be_bytes(array(entry, value_at)?);
    let value_start = value_at + 4;
    if value_start + non_null(value_len) > entry.len() {
        return None;
    }
    Some(V0V1Message {
        offset: i64::from_be_bytes(array(head, 0)?),
        crc: u32::from_be_bytes(array(head, CRC)?),
        magic: i8::from_be_bytes([magic]),
        attributes,
        timestamp,
        key_start,
        key_len,
        value_start,
        value_len,
    })
}

/// What is wrong with an entry that `fields` refused.
#[cold]
fn invalid(entry: &[u8]) -> Error {
    let length = |rule, declared: usize, expected: usize| {
        let number = |len: usize| i64::try_from(len).unwrap_or(i64::MAX);
        Error::from(ErrorKind::Length { rule, declared: number(declared), expected: number(expected) })
    };
    let key_at = match entry.get(MAGIC) {
        Some(0) | None if entry.len() < MIN_LEN_V0 => {
            return length("L8-18", entry.len() - CRC.min(entry.len()), MIN_LEN_V0 - CRC).in_field("size");
        }
        Some(0) => KEY_V0,
        Some(1) if entry.len() < MIN_LEN_V1 => {
            return length("L8-18", entry.len() - CRC.min(entry.len()), MIN_LEN_V1 - CRC).in_field("size");
        }
        Some(1) => KEY_V1,
        other => {
            let magic = other.map_or(-1, |magic| i8::from_be_bytes([*magic]));
            return Error::from(ErrorKind::Magic { rule: "L8-33", magic }).in_field("magic");
        }
    };
    let key_len = array(entry, key_at).map_or(-1, i32::from_be_bytes);
    let value_at = key_at + 4 + non_null(key_len);
    if value_at + 4 > entry.len() {
        return length("L8-8", non_null(key_len), entry.len().saturating_sub(key_at + 8)).in_field("keyLength");
    }
    let value_len = array(entry, value_at).map_or(-1, i32::from_be_bytes);
    length("L8-8", non_null(value_len), entry.len() - value_at - 4).in_field("valueLength")
}

#[cold]
fn mismatch(stored: u32, computed: u32) -> Error {
    Error::from(ErrorKind::Checksum { rule: "L8-2", stored, computed }).in_field("crc")
}

#[inline(always)]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..).and_then(|tail| tail.first_chunk::<N>()).copied()
}

/// Bytes that follow a nullable length (PRM-8: every negative length is null).
#[inline(always)]
fn non_null(len: i32) -> usize {
    usize::try_from(len).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L8-9, magic 0: offset 5, null key, `hello`.
    const V0: &[u8] = b"\0\0\0\0\0\0\0\x05\0\0\0\x13\x87\xa7\x7a\xb2\0\0\xff\xff\xff\xff\0\0\0\x05hello";
    /// L8-9, magic 1: offset 5, key `k`, `hello`, time 1600000000000.
    const V1: &[u8] = b"\0\0\0\0\0\0\0\x05\0\0\0\x1c\xbf\x2a\x76\x73\x01\0\0\0\x01\x74\x87\x6e\x80\0\0\0\0\x01k\0\0\0\x05hello";

    #[test]
    fn l8_9_the_examples_parse_and_their_checksums_match() -> Result<()> {
        for (entry, key_len, timestamp) in [(V0, -1, -1), (V1, 1, 1_600_000_000_000)] {
            let message = V0V1Message::parse(entry)?;
            assert_eq!((message.offset, message.key_len, message.timestamp), (5, key_len, timestamp));
            assert_eq!(message.value(entry), Some(&b"hello"[..]));
            assert_eq!((message.end(), claimed_len(entry)), (entry.len(), Some(entry.len())));
            verify(entry, message.crc)?;
            assert!(verify(entry, message.crc ^ 1).is_err());
        }
        Ok(())
    }

    #[test]
    fn l8_8_lengths_that_overrun_are_errors() {
        for (at, rule) in [(26, "L8-8"), (31, "L8-8"), (16, "L8-33")] {
            let mut entry = V1.to_vec();
            entry[at] = 0x7f;
            assert_eq!(V0V1Message::parse(&entry).map_err(|error| error.rule()).err(), Some(rule), "{at}");
        }
    }

    #[test]
    fn l8_18_an_entry_below_its_minimum_is_an_error() {
        let mut short = V1[..30].to_vec();
        short[11] = 18;
        assert_eq!(V0V1Message::parse(&short).map_err(|error| error.rule()).err(), Some("L8-18"));
        assert_eq!(header(&short, 0, RecordFormat::V1).map_err(|error| error.rule()).err(), Some("L8-18"));
    }
}
