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
/// `Length` when the entry ends inside its header, `Varint` for a field of variable length that does not end (S-V1), `Invalid` for a batch
/// of magic 2 whose magic was changed (S-V11).
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
    if !makes_sense(&header, last_offset_delta, cursor.left()) && is_magic_2(bytes) {
        let what = "the magic is 3, and the header makes sense as one of magic 2 only";
        return Err(crate::Error::from(ErrorKind::Invalid { rule: "S-V11", what }).in_field("magic"));
    }
    Ok(header)
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

/// True for a header as writers make them. Others are read too, unless they are of magic 2: that is asked of these only.
#[inline]
fn makes_sense(header: &BatchHeader, last_offset_delta: i32, behind: &[u8]) -> bool {
    /// Timestamps are of later than April 1970, or there are none.
    const EARLIEST: i64 = 1 << 33;
    /// And some 70 years apart at most.
    const LONGEST: i64 = 1 << 41;
    let count = i64::from(header.count.unwrap_or(-1));
    let spread = header.max_timestamp.wrapping_sub(header.base_timestamp);
    (0..=i64::from(last_offset_delta) + 1).contains(&count)
        && (count > 0 || behind.is_empty())
        && (header.base_timestamp == -1 || header.base_timestamp >= EARLIEST && (0..LONGEST).contains(&spread))
        && is_known(header.producer)
}

/// True for a header of magic 2. No checksum covers the magic: one flipped bit makes 3 of 2, and a producer of garbage, whose
/// transaction would never end.
#[cold]
fn is_magic_2(bytes: &[u8]) -> bool {
    v2::parse::header(bytes, 0).is_ok_and(|header| {
        let last_offset_delta = header.last_offset.wrapping_sub(header.base_offset);
        header.count.is_some_and(|count| (0..=last_offset_delta.saturating_add(1)).contains(&i64::from(count)))
            && header.base_timestamp >= -1
            && is_possible(header.producer)
    })
}

/// True for a producer with an epoch, and for none.
fn is_known(producer: Producer) -> bool {
    producer == Producer::default() || producer.id >= 0 && producer.epoch >= 0 && producer.base_sequence >= -1
}

/// True for a producer as clients write it: some tell sequences without an id.
fn is_possible(producer: Producer) -> bool {
    producer.id >= -1 && producer.epoch >= -1 && producer.base_sequence >= -1
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
    fn s_v11_a_batch_of_magic_2_whose_magic_was_flipped_is_none_of_magic_3() {
        const DAY: i64 = 86_400_000;
        for time in (0..900).map(|index| 1_050_000_000_000 + index * 17 * DAY + index * 7919) {
            let producers = [-1, 0, 1, 9, 300, 4000, 70_000, 1 << 33, (1 << 33) + 5].into_iter().cycle();
            for (count, producer) in (0..40).map(|index| 1 + index * index).zip(producers) {
                let new = BatchHeader {
                    format: RecordFormat::V2,
                    magic: 3,
                    base_offset: 0,
                    last_offset: count - 1,
                    count: Some(i32::try_from(count).unwrap()),
                    attributes: Attributes(0x10),
                    base_timestamp: time,
                    max_timestamp: time + count * 13,
                    producer: if producer < 0 { Producer::default() } else { Producer { id: producer, epoch: 0, base_sequence: 5 } },
                    ..header(&bytes_of(EXAMPLE), 0).unwrap()
                };
                let mut out = crate::wire::Sink::default();
                v2::write::open(&mut out);
                out.put(b"records");
                v2::write::seal(&mut out, 0, &new).unwrap();
                let mut entry = out.bytes().to_vec();
                assert_eq!(v2::parse::header(&entry, 0).unwrap().count, new.count);
                entry[16] = 3;
                let refused = header(&entry, 0).map(|header| (header.count, header.producer)).unwrap_err();
                assert!(["S-V11", "PRM-4"].contains(&refused.rule()), "{time} {count} {producer}: {refused}");
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
