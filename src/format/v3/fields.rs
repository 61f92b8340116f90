//! The fields of a header of magic 3, whatever they hold.

use super::layout::{MAGIC, MIN_HEADER_LEN, VARIABLE};
use crate::error::{ErrorKind, Result};
use crate::model::{Attributes, BatchHeader, Producer, RecordFormat};
use crate::wire::varint::{MAX_VARINT_LEN, MAX_VARLONG_LEN, VarintWindow, within_eight, zigzag_i64};
use crate::wire::{Cursor, as_u64};

/// The fields of a header.
pub(super) struct HeaderFields {
    pub header: BatchHeader,
    pub last_offset_delta: i32,
    /// Bytes of the header.
    pub len: usize,
}

/// Parses the fields of the header of the entry in `bytes`.
///
/// # Errors
/// `Length` when the entry ends inside its header, `Varint` for a field of variable length that does not end (S-V1).
#[inline]
pub(super) fn fields(bytes: &[u8], position: u64) -> Result<HeaderFields> {
    let Some(fixed) = bytes.first_chunk::<VARIABLE>().filter(|_| bytes.len() >= MIN_HEADER_LEN) else {
        return Err(too_short(bytes));
    };
    let mut cursor = Cursor::new(fixed, "S-V1");
    let base_offset = i64::from_be_bytes(cursor.take_array("baseOffset")?);
    let _batch_length = cursor.take_i32("batchLength")?;
    let partition_leader_epoch = cursor.take_i32("partitionLeaderEpoch")?;
    let _magic = cursor.take_array::<1>("magic")?;
    let crc = u32::from_be_bytes(cursor.take_array("crc")?);
    let attributes = Attributes(cursor.take_i16("attributes")?);
    let producer = Producer {
        id: i64::from_be_bytes(cursor.take_array("producerId")?),
        epoch: cursor.take_i16("producerEpoch")?,
        base_sequence: cursor.take_i32("baseSequence")?,
    };
    let variable = bytes.get(VARIABLE..).unwrap_or_default();
    let moved = match Moved::parse_fast(variable) {
        Some(moved) => moved,
        None => Moved::parse_checked(variable)?,
    };
    let Moved { last_offset_delta, base_timestamp, max_timestamp_delta, count, len } = moved;
    let header = BatchHeader {
        position,
        size: as_u64(bytes.len()),
        format: RecordFormat::V3,
        magic: MAGIC,
        base_offset,
        last_offset: base_offset.wrapping_add(i64::from(last_offset_delta)),
        count: Some(count),
        attributes,
        base_timestamp,
        max_timestamp: base_timestamp.wrapping_add(max_timestamp_delta),
        crc,
        partition_leader_epoch,
        producer,
    };
    Ok(HeaderFields { header, last_offset_delta, len: VARIABLE + len })
}

/// The fields of variable length, and the count after them.
struct Moved {
    last_offset_delta: i32,
    base_timestamp: i64,
    max_timestamp_delta: i64,
    count: i32,
    /// Bytes of all of them.
    len: usize,
}

impl Moved {
    #[inline(always)]
    fn parse_fast(bytes: &[u8]) -> Option<Self> {
        let mut front = VarintWindow::new(bytes.first_chunk::<8>()?);
        let last_offset_delta = low_half(front.raw(MAX_VARINT_LEN)?);
        let middle = bytes.get(front.read_len()..)?;
        // Of six bytes nearly always.
        let (base_timestamp, len) = within_eight(*middle.first_chunk::<8>()?)?;
        let rest = middle.get(len..)?;
        let mut back = VarintWindow::new(rest.first_chunk::<16>()?);
        let max_timestamp_delta = back.raw(MAX_VARLONG_LEN)?.cast_signed();
        let count = i32::from_be_bytes(*rest.get(back.read_len()..)?.first_chunk::<4>()?);
        let len = front.read_len() + len + back.read_len() + 4;
        Some(Self { last_offset_delta, base_timestamp: zigzag_i64(base_timestamp), max_timestamp_delta, count, len })
    }

    /// Of a batch that ends soon, or whose fields do not.
    #[inline(never)]
    fn parse_checked(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "S-V1");
        let last_offset_delta = cursor.take_uvarint("lastOffsetDelta")?.cast_signed();
        let base_timestamp = cursor.take_varlong("baseTimestamp")?;
        let max_timestamp_delta = cursor.take_uvarlong(MAX_VARLONG_LEN, "maxTimestampDelta")?.cast_signed();
        let count = cursor.take_i32("recordsCount")?;
        Ok(Self { last_offset_delta, base_timestamp, max_timestamp_delta, count, len: bytes.len() - cursor.left().len() })
    }
}

/// The lower 32 bits; those above are dropped (PRM-4).
#[inline(always)]
fn low_half(raw: u64) -> i32 {
    let [a, b, c, d, ..] = raw.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Bytes of the header of an entry whose header parses; the records start there.
#[inline]
pub fn header_len(bytes: &[u8]) -> usize {
    /// The highest bit of each byte: it is clear in the last byte of a field.
    const HIGH: u128 = u128::from_le_bytes([0x80; 16]);
    let variable = bytes.get(VARIABLE..).unwrap_or_default();
    if let Some(window) = variable.first_chunk::<16>() {
        let first = !u128::from_le_bytes(*window) & HIGH;
        let second = first & first.wrapping_sub(1);
        let third = second & second.wrapping_sub(1);
        if third != 0 {
            return VARIABLE + usize::try_from(third.trailing_zeros() / 8).unwrap_or(0) + 1 + 4;
        }
    }
    let ends = variable.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    ends.take(3).last().map_or(bytes.len(), |(last, _)| VARIABLE + last + 1 + 4)
}

#[cold]
fn too_short(bytes: &[u8]) -> crate::Error {
    let declared = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let expected = i64::try_from(MIN_HEADER_LEN).unwrap_or(0);
    crate::Error::from(ErrorKind::Length { rule: "S-V1", declared, expected }).in_field("batchLength")
}
