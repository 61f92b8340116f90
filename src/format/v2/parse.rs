//! The header of a record batch as a view, and its checksum.

use super::layout::{CHECKSUMMED, HEADER_LEN, MIN_RECORD_LEN};
use crate::error::{ErrorKind, Result};
use crate::model::{Attributes, BatchHeader, Producer, RecordFormat};
use crate::wire::{Cursor, as_u64, checksum};

/// Parses the header of the entry in `bytes`; the records are not looked at.
///
/// # Errors
/// `Length` when the entry is shorter than a header (V2-30).
#[inline]
pub fn header(bytes: &[u8], position: u64) -> Result<BatchHeader> {
    let Some(head) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(too_short(bytes));
    };
    fields(head, bytes.len(), position)
}

/// Compares the stored checksum with that of the bytes.
///
/// # Errors
/// `Checksum` (V2-31).
#[inline]
pub fn verify(bytes: &[u8], stored: u32) -> Result<()> {
    compare(stored, checksum::crc32c(bytes.get(CHECKSUMMED..).unwrap_or_default()))
}

#[inline]
fn compare(stored: u32, computed: u32) -> Result<()> {
    if computed == stored {
        return Ok(());
    }
    Err(crate::Error::from(ErrorKind::Checksum { rule: "V2-31", stored, computed }).in_field("crc"))
}

/// The count as a number of records that `section_len` uncompressed bytes can hold.
///
/// # Errors
/// `Count` when it is negative (V2-32), or larger than the bytes allow (V2-35, V2-37): nothing is reserved on its word.
#[inline]
pub fn ensure_count(count: i32, section_len: usize, is_decompressed: bool) -> Result<usize> {
    ensure_count_of::<MIN_RECORD_LEN>(count, section_len, is_decompressed)
}

/// The same for records of at least so many bytes.
///
/// # Errors
/// As `ensure_count`.
#[inline]
pub fn ensure_count_of<const MIN_LEN: usize>(count: i32, section_len: usize, is_decompressed: bool) -> Result<usize> {
    const { assert!(MIN_LEN > 0) };
    let most = section_len / MIN_LEN;
    match usize::try_from(count) {
        Ok(count) if count <= most => Ok(count),
        Ok(_) => Err(count_error(if is_decompressed { "V2-37" } else { "V2-35" }, count, most)),
        Err(_) => Err(count_error("V2-32", count, 0)),
    }
}

#[inline(always)]
fn fields(head: &[u8; HEADER_LEN], size: usize, position: u64) -> Result<BatchHeader> {
    let mut cursor = Cursor::new(head, "V2-30");
    let base_offset = i64::from_be_bytes(cursor.take_array("baseOffset")?);
    let _batch_length = cursor.take_i32("batchLength")?;
    let partition_leader_epoch = cursor.take_i32("partitionLeaderEpoch")?;
    let _magic = cursor.take_array::<1>("magic")?;
    let crc = u32::from_be_bytes(cursor.take_array("crc")?);
    let attributes = Attributes(cursor.take_i16("attributes")?);
    let last_offset_delta = cursor.take_i32("lastOffsetDelta")?;
    let base_timestamp = i64::from_be_bytes(cursor.take_array("baseTimestamp")?);
    let max_timestamp = i64::from_be_bytes(cursor.take_array("maxTimestamp")?);
    let producer = Producer {
        id: i64::from_be_bytes(cursor.take_array("producerId")?),
        epoch: cursor.take_i16("producerEpoch")?,
        base_sequence: cursor.take_i32("baseSequence")?,
    };
    let count = cursor.take_i32("recordsCount")?;
    Ok(BatchHeader {
        position,
        size: as_u64(size),
        format: RecordFormat::V2,
        magic: super::layout::MAGIC,
        base_offset,
        last_offset: base_offset.wrapping_add(i64::from(last_offset_delta)),
        count: Some(count),
        attributes,
        base_timestamp,
        max_timestamp,
        crc,
        partition_leader_epoch,
        producer,
    })
}

#[cold]
fn too_short(bytes: &[u8]) -> crate::Error {
    let declared = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    crate::Error::from(ErrorKind::Length { rule: "V2-30", declared, expected: 61 }).in_field("batchLength")
}

#[cold]
fn count_error(rule: &'static str, declared: i32, found: usize) -> crate::Error {
    let found = i64::try_from(found).unwrap_or(i64::MAX);
    crate::Error::from(ErrorKind::Count { rule, declared: i64::from(declared), found }).in_field("recordsCount")
}
