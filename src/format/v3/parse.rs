//! The header of a record batch of magic 3 as a view. Its checksum is that of magic 2.

use super::layout::{MAGIC, MIN_HEADER_LEN, MIN_RECORD_LEN, VARIABLE};
use crate::error::{ErrorKind, Result};
use crate::format::v2;
use crate::model::{Attributes, BatchHeader, Producer, RecordFormat};
use crate::wire::varint::MAX_VARLONG_LEN;
use crate::wire::{Cursor, as_u64};

pub use crate::format::v2::parse::{verify, verify_cached};

/// Parses the header of the entry in `bytes`; the records are not looked at.
///
/// # Errors
/// `Length` when the entry ends inside its header, `Varint` for a field of variable length that does not end (S-V1).
#[inline]
pub fn header(bytes: &[u8], position: u64) -> Result<BatchHeader> {
    if bytes.len() < MIN_HEADER_LEN {
        return Err(too_short(bytes));
    }
    let mut cursor = Cursor::new(bytes, "S-V1");
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
    let last_offset_delta = cursor.take_uvarint("lastOffsetDelta")?.cast_signed();
    let base_timestamp = cursor.take_varlong("baseTimestamp")?;
    let max_timestamp_delta = cursor.take_uvarlong(MAX_VARLONG_LEN, "maxTimestampDelta")?.cast_signed();
    let count = cursor.take_i32("recordsCount")?;
    Ok(BatchHeader {
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
    })
}

/// Bytes of the header of an entry whose header parses; the records start there.
#[inline]
pub fn header_len(bytes: &[u8]) -> usize {
    let variable = bytes.get(VARIABLE..).unwrap_or_default();
    let ends = variable.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    ends.take(3).last().map_or(bytes.len(), |(last, _)| VARIABLE + last + 1 + 4)
}

/// The count as a number of records that `section_len` plain bytes can hold.
///
/// # Errors
/// `Count` as in magic 2.
#[inline]
pub fn ensure_count(header: &BatchHeader, section_len: usize, is_unpacked: bool) -> Result<usize> {
    let least = if header.has_record_attributes() { v2::layout::MIN_RECORD_LEN } else { MIN_RECORD_LEN };
    v2::parse::ensure_count_of(least, header.count.unwrap_or(0), section_len, is_unpacked)
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
    fn s_v1_every_cut_of_a_header_is_an_error_and_no_cut_behind_it() {
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
        let behind = with(b"\xff\xff\xff\xff\x0f\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").unwrap();
        assert_eq!((behind.last_offset, behind.base_timestamp, behind.max_timestamp), (4, 0, -1));
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
