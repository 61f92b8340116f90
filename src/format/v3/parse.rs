//! The header of a record batch of magic 3 as a view. Its checksum is that of magic 2.

use super::fields::{HeaderFields, fields};
use super::layout::MIN_RECORD_LEN;
use super::magic;
use crate::error::Result;
use crate::format::v2;
use crate::model::BatchHeader;

pub use super::fields::header_len;
pub use crate::format::v2::parse::verify;

/// Parses the header of the entry in `bytes`; the records are not looked at.
///
/// # Errors
/// `Length` when the entry ends inside its header, `Varint` for a field of variable length that does not end (S-V1), `Invalid` for a batch
/// of magic 2 whose magic was changed (FND-18).
#[inline]
pub fn header(bytes: &[u8], position: u64) -> Result<BatchHeader> {
    let HeaderFields { header, last_offset_delta, len } = fields(bytes, position)?;
    if magic::is_magic_2(&header, last_offset_delta, bytes, bytes.get(len..).unwrap_or_default()) {
        return Err(magic::refusal("the magic is 3, but the batch is valid only as magic 2"));
    }
    Ok(header)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::v3::layout::VARIABLE;
    use crate::model::{Producer, RecordFormat};

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
