//! The header of a record batch of magic 3 as a view. Its checksum is that of magic 2.

use super::layout::{MAGIC, MIN_HEADER_LEN, MIN_RECORD_LEN, VARIABLE};
use super::magic;
use crate::error::{ErrorKind, Result};
use crate::format::v2;
use crate::model::{Attributes, BatchHeader, Producer, RecordFormat};
use crate::wire::varint::{MAX_VARINT_LEN, MAX_VARLONG_LEN, Window, within_eight, zigzag_i64};
use crate::wire::{Cursor, as_u64};

pub use crate::format::v2::parse::verify;

/// Parses the header of the entry in `bytes`; the records are not looked at.
///
/// # Errors
/// `Length` when the entry ends inside its header, `Varint` for a field of variable length that does not end (S-V1), `Invalid` for a batch
/// of magic 2 whose magic was changed (FND-18).
#[inline]
pub fn header(bytes: &[u8], position: u64) -> Result<BatchHeader> {
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
    let moved = match Moved::quick(variable) {
        Some(moved) => moved,
        None => Moved::careful(variable)?,
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
    if magic::is_magic_2(&header, last_offset_delta, bytes, variable.get(len..).unwrap_or_default()) {
        return Err(magic::refusal("the magic is 3, but the batch is valid only as magic 2"));
    }
    Ok(header)
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
    fn quick(bytes: &[u8]) -> Option<Self> {
        let mut front = Window::new(bytes.first_chunk::<8>()?);
        let last_offset_delta = low_half(front.raw(MAX_VARINT_LEN)?);
        let middle = bytes.get(front.read_len()..)?;
        // Of six bytes nearly always.
        let (base_timestamp, len) = within_eight(*middle.first_chunk::<8>()?)?;
        let rest = middle.get(len..)?;
        let mut back = Window::new(rest.first_chunk::<16>()?);
        let max_timestamp_delta = back.raw(MAX_VARLONG_LEN)?.cast_signed();
        let count = i32::from_be_bytes(*rest.get(back.read_len()..)?.first_chunk::<4>()?);
        let len = front.read_len() + len + back.read_len() + 4;
        Some(Self { last_offset_delta, base_timestamp: zigzag_i64(base_timestamp), max_timestamp_delta, count, len })
    }

    /// Of a batch that ends soon, or whose fields do not.
    #[inline(never)]
    fn careful(bytes: &[u8]) -> Result<Self> {
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

/// The count as a number of records that `section_len` uncompressed bytes can hold.
///
/// # Errors
/// `Count` as in magic 2.
#[inline]
pub fn ensure_count(header: &BatchHeader, section_len: usize, is_decompressed: bool) -> Result<usize> {
    let count = header.count.unwrap_or(0);
    // Each a division by a constant, which costs a tenth of one by a number.
    match header.has_record_attributes() {
        true => v2::parse::ensure_count(count, section_len, is_decompressed),
        false => v2::parse::ensure_count_of::<MIN_RECORD_LEN>(count, section_len, is_decompressed),
    }
}

#[cold]
fn too_short(bytes: &[u8]) -> crate::Error {
    let declared = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let expected = i64::try_from(MIN_HEADER_LEN).unwrap_or(0);
    crate::Error::from(ErrorKind::Length { rule: "S-V1", declared, expected }).in_field("batchLength")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(hex: &str) -> Vec<u8> {
        hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    const EXAMPLE: &str = "00000000000000050000003effffffff0361d62bfa0080ffffffffffffffffffffffffffff018080f4f6905d807d000000021e0000026b\
        0a68656c6c6f02026802760e80fa0102010100";

    #[test]
    fn s_v34_the_example_says_what_it_should() {
        let entry = bytes_of(EXAMPLE);
        let header = header(&entry, 7).unwrap();
        assert_eq!((header.position, header.size, header.format, header.magic), (7, 74, RecordFormat::V3, 3));
        assert_eq!((header.base_offset, header.last_offset, header.count), (5, 6, Some(2)));
        assert_eq!((header.base_timestamp, header.max_timestamp), (1_600_000_000_000, 1_600_000_016_000));
        assert_eq!((header.producer, header.partition_leader_epoch), (Producer::default(), -1));
        assert_eq!((header.has_record_attributes(), header.is_metadata_first(), header.unused_bits()), (false, false, 0));
        assert_eq!(header_len(&entry), 50);
        verify(&entry, header.crc).unwrap();
    }

    #[test]
    fn s_v1_every_cut_of_a_header_is_an_error_and_no_cut_after_it() {
        let entry = bytes_of(EXAMPLE);
        for len in 0..entry.len() {
            let parsed = header(&entry[..len], 0);
            assert_eq!(parsed.is_ok(), len >= 50, "{len}");
            if let Err(error) = parsed {
                assert_eq!((error.rule(), error.kind().kafka_error_code()), ("S-V1", Some(2)));
            }
        }
    }

    #[test]
    fn s_v13_s_v14_deltas_are_two_s_complement_and_fields_that_do_not_end_are_errors() {
        let fixed = &bytes_of(EXAMPLE)[..VARIABLE];
        let with = |variable: &[u8]| header(&[fixed, variable, &[0, 0, 0, 0]].concat(), 0);
        let header = with(b"\xff\xff\xff\xff\x0f\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").unwrap();
        assert_eq!((header.last_offset, header.base_timestamp, header.max_timestamp), (4, 0, -1));
        let dropped = with(b"\xff\xff\xff\xff\x7f\x01\x00").unwrap();
        assert_eq!((dropped.last_offset, dropped.base_timestamp, dropped.max_timestamp), (4, -1, -1));
        for (field, bad) in
            [("lastOffsetDelta", [&[0x80; 5][..], &[0; 20]].concat()), ("baseTimestamp", [&[0][..], &[0x80; 10], &[0; 9]].concat())]
        {
            let error = with(&bad).unwrap_err();
            assert_eq!((error.rule(), error.position().field), ("PRM-4", Some(field)));
        }
    }
}
