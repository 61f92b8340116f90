//! The header of an entry of any format, and its checksum.

use crate::error::{Error, ErrorKind, Result};
use crate::format::{record_batch, v0_v1, v2, v07};
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
        Some(format @ (RecordFormat::V2 | RecordFormat::V3)) => record_batch::parse_header(format, frame.bytes, frame.position),
        Some(format @ (RecordFormat::V0 | RecordFormat::V1)) => v0_v1::parse::header(frame.bytes, frame.position, format),
        Some(RecordFormat::V07) => {
            let offset = base_position.wrapping_add(i64::try_from(frame.position).unwrap_or(i64::MAX));
            v07::parse::header(frame.bytes, frame.position, offset)
        }
        None => Err(unsupported(frame, formats)),
    }
}

/// Compares the stored checksum of an entry with that of its bytes. In a wrapper, this is the checksum of the compressed messages.
///
/// # Errors
/// `Checksum`.
#[inline]
pub fn verify(entry: &[u8], header: &BatchHeader) -> Result<()> {
    match header.format {
        RecordFormat::V2 | RecordFormat::V3 => v2::parse::verify(entry, header.crc),
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
    record_batch::header_len(header.format, entry)
}

/// The error has the base offset of a valid batch of magic 3: nothing but the name of its format is missing.
#[cold]
fn unsupported(frame: Frame<'_>, formats: Formats) -> Error {
    let magic = frame.magic;
    let advice = match (magic, formats) {
        (record_batch::LAST_MAGIC, Formats::Auto) => record_batch::ADVICE,
        (_, Formats::Only(_)) => "another format was named",
        _ => "no format of this magic is known",
    };
    let error = Error::from(ErrorKind::UnsupportedFormat { rule: "MAP-3", magic, advice }).in_field("magic");
    let refused = (formats == Formats::Auto).then(|| record_batch::refused_offset(magic, frame.bytes, frame.position)).flatten();
    match refused {
        Some(base_offset) => error.in_batch(base_offset),
        None => error,
    }
}
