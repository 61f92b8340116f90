//! Record batches of magic 2 and of the proposed magic 3: what callers ask of a batch, whatever its layout is.

use super::{v2, v3};
use crate::error::Result;
use crate::model::{BatchHeader, Formats, RecordFormat};
use crate::wire::{Sink, WireField};

pub use v3::layout::{MAGIC as LAST_MAGIC, MAX_HEADER_LEN, MIN_HEADER_LEN};
pub use v3::records::{Prefix, RecordHead, V3RecordIter as MetadataFirstIter};

/// How a batch of magic 3 is read.
pub const ADVICE: &str =
    "a proposal that was never released is read only with format=\"v3\" (--format v3 on the command line, the option format in Spark)";

/// The longest header of a batch of these formats.
pub fn longest_header(formats: Formats) -> usize {
    if formats.reads_proposed() { MAX_HEADER_LEN } else { v2::layout::HEADER_LEN }
}

/// Parses the header of a batch; the records are not looked at.
///
/// # Errors
/// `Length` and `Varint` for a header that is cut off, `Invalid` for a magic that was changed (FND-18).
#[inline]
pub fn parse_header(format: RecordFormat, bytes: &[u8], position: u64) -> Result<BatchHeader> {
    if format == RecordFormat::V3 {
        return v3::parse::header(bytes, position);
    }
    match v2::parse::header(bytes, position) {
        Ok(header) if !header.attributes.has_proposed_bits() && adds_up(&header) => Ok(header),
        _ if v3::magic::is_magic_3(bytes) => Err(v3::magic::refusal("the magic is 2, but the batch is valid only as magic 3")),
        header => header,
    }
}

/// True for a batch with as many records as offsets or fewer, and with one timestamp for a single record. Where magic 2 has those numbers,
/// magic 3 has the upper half of a producer id and bytes of records.
#[inline]
fn adds_up(header: &BatchHeader) -> bool {
    let offsets = header.last_offset.wrapping_sub(header.base_offset).saturating_add(1);
    match header.count {
        Some(1) => {
            let has_others = header.attributes.has_delete_horizon() || header.append_time().is_some();
            offsets >= 1 && (header.base_timestamp == header.max_timestamp || has_others)
        }
        count => count.is_some_and(|count| count > 1 && i64::from(count) <= offsets),
    }
}

/// The base offset of a valid batch whose magic only the name of its format reads; `None` for other bytes.
pub fn refused_offset(magic: i8, bytes: &[u8], position: u64) -> Option<i64> {
    let header = (magic == LAST_MAGIC).then(|| v3::parse::header(bytes, position).ok()).flatten()?;
    v3::parse::verify(bytes, header.crc).ok().map(|()| header.base_offset)
}

/// Where the records of a batch start in its entry.
#[inline]
pub fn header_len(format: RecordFormat, entry: &[u8]) -> usize {
    if format == RecordFormat::V3 { v3::parse::header_len(entry) } else { v2::layout::HEADER_LEN }
}

/// The count of a batch as a number of records that `section_len` uncompressed bytes can hold.
///
/// # Errors
/// `Count` (V2-32, V2-35, V2-37).
#[inline]
pub fn ensure_count(header: &BatchHeader, section_len: usize, is_decompressed: bool) -> Result<usize> {
    match header.format {
        RecordFormat::V3 => v3::parse::ensure_count(header, section_len, is_decompressed),
        _ => v2::parse::ensure_count(header.count.unwrap_or(0), section_len, is_decompressed),
    }
}

/// The fields of the header, in wire order.
pub fn fields(format: RecordFormat) -> &'static [WireField] {
    if format == RecordFormat::V3 { &v3::layout::BATCH_FIELDS } else { &v2::layout::BATCH_FIELDS }
}

/// Writes the header of a batch, to which `seal` adds the length and the checksum.
pub fn open(out: &mut Sink, header: &BatchHeader) {
    match header.format {
        RecordFormat::V3 => v3::encode::open(out, header),
        _ => v2::encode::open(out),
    }
}

/// Writes the length and the checksum of the batch that starts at `start`, and in magic 2 the whole header.
///
/// # Errors
/// `Limit` for a batch that is larger than its length field can hold.
pub fn seal(out: &mut Sink, start: usize, header: &BatchHeader) -> Result<()> {
    match header.format {
        RecordFormat::V3 => v3::encode::seal(out, start),
        _ => v2::encode::seal(out, start, header),
    }
}
