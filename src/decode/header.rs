//! The header of an entry of any format, and its checksum.

use crate::error::{Error, ErrorKind, Result};
use crate::format::{v0_v1, v2, v3, v07};
use crate::framing::Frame;
use crate::model::{BatchHeader, Formats, RecordFormat};

/// Parses the header of an entry of one of these formats.
///
/// `base_position` is the position of the input in its partition, for Kafka 0.7, whose offsets are positions.
///
/// # Errors
/// `UnsupportedFormat` for the magics of others, what the format's parser says, and `Invalid` for a magic that was changed (FND-18).
#[inline]
pub fn parse_header(frame: Frame<'_>, formats: Formats, base_position: i64) -> Result<BatchHeader> {
    match formats.of_magic(frame.magic) {
        Some(RecordFormat::V2) => match v2::parse::header(frame.bytes, frame.position) {
            Ok(header) if !header.attributes.is_of_v3() && adds_up(&header) => Ok(header),
            _ if v3::magic::is_magic_3(frame.bytes) => Err(v3::magic::refusal("the magic is 2, but the batch is valid only as magic 3")),
            header => header,
        },
        Some(RecordFormat::V3) => v3::parse::header(frame.bytes, frame.position),
        Some(format @ (RecordFormat::V0 | RecordFormat::V1)) => v0_v1::parse::header(frame.bytes, frame.position, format),
        Some(RecordFormat::V07) => {
            let offset = base_position.wrapping_add(i64::try_from(frame.position).unwrap_or(i64::MAX));
            v07::parse::header(frame.bytes, frame.position, offset)
        }
        None => Err(unsupported(frame, formats)),
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

/// Compares the stored checksum of an entry with that of its bytes. In a wrapper, this is the checksum of the compressed messages.
///
/// # Errors
/// `Checksum`.
#[inline]
pub fn verify(entry: &[u8], header: &BatchHeader) -> Result<()> {
    match header.format {
        RecordFormat::V2 => v2::parse::verify(entry, header.crc),
        RecordFormat::V3 => v3::parse::verify(entry, header.crc),
        RecordFormat::V0 | RecordFormat::V1 => v0_v1::parse::verify(entry, header.crc),
        RecordFormat::V07 => v07::parse::V07Message::parse(entry)?.verify(entry),
    }
}

/// Bytes of an entry that its checksum covers.
#[inline]
pub fn checksummed(header: &BatchHeader) -> u64 {
    let uncovered = match header.format {
        RecordFormat::V2 | RecordFormat::V3 => v2::layout::CHECKSUMMED,
        RecordFormat::V0 | RecordFormat::V1 => v0_v1::layout::CHECKSUMMED,
        RecordFormat::V07 if header.magic == 0 => v07::layout::PAYLOAD_V0,
        RecordFormat::V07 => v07::layout::PAYLOAD_V1,
    };
    header.size.saturating_sub(u64::try_from(uncovered).unwrap_or(0))
}

/// Where the records of a batch start in its entry, maybe compressed.
#[inline]
pub fn records_at(header: &BatchHeader, entry: &[u8]) -> usize {
    if header.format == RecordFormat::V3 { v3::parse::header_len(entry) } else { v2::layout::HEADER_LEN }
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

/// The error says the base offset of a batch of magic 3 that is whole: nothing but the switch is missing.
#[cold]
fn unsupported(frame: Frame<'_>, formats: Formats) -> Error {
    let magic = frame.magic;
    let advice = match (magic, formats) {
        (3, Formats::Auto) => {
            "the proposed format v3 is experimental and read only with format=\"v3\" or experimental=True \
             (--experimental on the command line, the option experimental in Spark)"
        }
        (_, Formats::Only(_)) => "another format was named",
        _ => "no format of this magic is known",
    };
    let error = Error::from(ErrorKind::UnsupportedFormat { rule: "MAP-3", magic, advice }).in_field("magic");
    if formats != Formats::Auto || magic != v3::layout::MAGIC {
        return error;
    }
    match v3::parse::header(frame.bytes, frame.position) {
        Ok(header) if v3::parse::verify(frame.bytes, header.crc).is_ok() => error.in_batch(header.base_offset),
        _ => error,
    }
}
