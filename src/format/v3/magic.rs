//! Whether a batch has the magic of the other batch format (FND-18). No checksum covers the magic, and one flipped bit makes 3 of 2, or 2 of 3:
//! a producer of garbage, whose transaction would never end, or a batch without records.
//!
//! A batch is refused when the reading that its magic states does not hold, and the other one does. The records are part of a reading, as far as
//! they can be seen: whoever reads headers alone has a few of their bytes, and refuses nothing that is read when all of them are there.

use super::fields::{HeaderFields, fields, header_len};
use super::layout::MIN_RECORD_LEN;
use super::records::Prefix;
use crate::error::{Error, ErrorKind};
use crate::format::v2;
use crate::format::v2::layout::LENGTH_END;
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, Producer, Section};
use crate::wire::{Cursor, as_u64};

/// The error of such a batch.
#[cold]
pub fn refusal(what: &'static str) -> Error {
    Error::from(ErrorKind::Invalid { rule: "FND-18", what }).in_field("magic")
}

/// True for an entry of magic 2 that says 3. `header` is that of magic 3, and the records are in `records`.
#[inline]
pub(super) fn is_magic_2(header: &BatchHeader, last_offset_delta: i32, bytes: &[u8], records: &[u8]) -> bool {
    !makes_sense(header, last_offset_delta, records) && fit_as_2(bytes) > fit(header, bytes, bytes.len() - records.len())
}

/// True for an entry of magic 3 that says 2. To be asked of those with attributes that magic 2 does not use, of those whose numbers do not add
/// up, and of those that are none of it.
#[cold]
#[inline(never)]
pub fn is_magic_3(bytes: &[u8]) -> bool {
    let Ok(HeaderFields { header, last_offset_delta: delta, len }) = fields(bytes, 0) else { return false };
    if is_magic_2(&header, delta, bytes, bytes.get(len..).unwrap_or_default()) {
        return false;
    }
    let records_at = header_len(bytes);
    let fit = fit(&header, bytes, records_at);
    let last_offset_delta = i32::try_from(last_offset_delta(&header)).unwrap_or(-1);
    // Records that are where they should be say more than timestamps, which delete horizons put far apart.
    let is_likely = fit == MagicFit::Yes && header.count > Some(0)
        || makes_sense(&header, last_offset_delta, bytes.get(records_at..).unwrap_or_default());
    is_likely && fit > fit_as_2(bytes)
}

/// True for a header as writers make them. Others are read too, unless they are of magic 2: that is asked of these only.
#[inline]
fn makes_sense(header: &BatchHeader, last_offset_delta: i32, records: &[u8]) -> bool {
    /// Timestamps are of later than April 1970, or there are none.
    const EARLIEST: i64 = 1 << 33;
    /// Milliseconds: timestamps of one batch are some 70 years apart at most.
    const LONGEST: i64 = 1 << 41;
    let count = i64::from(header.count.unwrap_or(-1));
    let spread = header.max_timestamp.wrapping_sub(header.base_timestamp);
    (0..=i64::from(last_offset_delta) + 1).contains(&count)
        && (count > 0 || records.is_empty())
        && (header.base_timestamp == -1 || header.base_timestamp >= EARLIEST && (0..LONGEST).contains(&spread))
        && is_known(header.producer)
}

/// True for a producer with an epoch, and for none.
fn is_known(producer: Producer) -> bool {
    producer == Producer::default() || producer.id >= 0 && producer.epoch >= 0 && producer.base_sequence >= -1
}

/// How well a reading holds; the better the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MagicFit {
    /// It cannot be.
    No,
    /// Nothing speaks against it.
    Maybe,
    /// The records are where they should be, as far as they are seen.
    Yes,
}

/// How well an entry is one of magic 2, whose header makes sense besides.
#[cold]
fn fit_as_2(bytes: &[u8]) -> MagicFit {
    let Ok(header) = v2::parse::header(bytes, 0) else { return MagicFit::No };
    let last_offset_delta = last_offset_delta(&header);
    // Emptied batches keep their offsets. Where magic 2 has its last one, magic 3 without a producer has -1.
    let has_offsets = last_offset_delta >= 0 && i64::from(header.count.unwrap_or(-1)) <= last_offset_delta.saturating_add(1);
    // Some clients write sequences without an id.
    let Producer { id, epoch, base_sequence } = header.producer;
    let has_producer = id >= -1 && epoch >= -1 && base_sequence >= -1;
    if has_offsets && has_producer && header.base_timestamp >= -1 { fit(&header, bytes, v2::layout::HEADER_LEN) } else { MagicFit::No }
}

/// How well the records of an entry fit what its header says.
#[cold]
fn fit(header: &BatchHeader, bytes: &[u8], records_at: usize) -> MagicFit {
    let end = entry_len(bytes);
    let len = end.saturating_sub(as_u64(records_at));
    let seen = bytes.get(records_at..).unwrap_or_default();
    let seen = usize::try_from(len).ok().and_then(|len| seen.get(..len)).unwrap_or(seen);
    let count = i64::from(header.count.unwrap_or(-1));
    if count < 0 || len == 0 {
        return if count == 0 { MagicFit::Yes } else { MagicFit::No };
    }
    let are_there = match header.compression() {
        CompressionType::None => return if count > 0 && are_records(header, seen, len) { MagicFit::Yes } else { MagicFit::No },
        CompressionType::Gzip => starts_alike(seen, b"\x1f\x8b"),
        CompressionType::Snappy => starts_alike(seen, b"\x82SNAPPY\0"),
        CompressionType::Lz4 => starts_alike(seen, b"\x04\x22\x4d\x18"),
        CompressionType::Zstd => starts_alike(seen, b"\x28\xb5\x2f\xfd"),
        CompressionType::Plugin(_) | CompressionType::Unknown(_) => false,
    };
    // Some codecs have other ways to begin, and plugins any.
    let may_be = (1..=last_offset_delta(header).saturating_add(1)).contains(&count);
    if are_there {
        MagicFit::Yes
    } else if may_be {
        MagicFit::Maybe
    } else {
        MagicFit::No
    }
}

fn last_offset_delta(header: &BatchHeader) -> i64 {
    header.last_offset.wrapping_sub(header.base_offset)
}

/// Bytes of the entry, as it says.
fn entry_len(bytes: &[u8]) -> u64 {
    let length = bytes.get(LENGTH_END - 4..).and_then(|rest| rest.first_chunk::<4>());
    u64::try_from(length.map_or(0, |length| i32::from_be_bytes(*length))).unwrap_or(0) + as_u64(LENGTH_END)
}

/// True when one is the beginning of the other.
fn starts_alike(seen: &[u8], signature: &[u8]) -> bool {
    seen.iter().zip(signature).all(|(byte, expected)| byte == expected)
}

/// True when uncompressed records end where their `len` bytes end, as far as they are `seen`.
fn are_records(header: &BatchHeader, seen: &[u8], len: u64) -> bool {
    let count = usize::try_from(header.count.unwrap_or(0)).unwrap_or(0);
    let least = if header.has_record_attributes() { v2::layout::MIN_RECORD_LEN } else { MIN_RECORD_LEN };
    if as_u64(count).saturating_mul(as_u64(least)) > len {
        return false;
    }
    let is_whole = as_u64(seen.len()) == len;
    if header.is_metadata_first() {
        let limits = Limits { max_headers: u64::MAX, ..Limits::default() };
        let mut prefix = Prefix::new(count, header.has_record_attributes(), &limits);
        return match is_whole {
            true => prefix.ensure_whole(&Section::new(seen, seen.len())).is_ok(),
            false => prefix.read(seen, seen.len(), false, &mut |_| ()).is_ok(),
        };
    }
    let mut at = 0;
    for _ in 0..count {
        let rest = usize::try_from(at).ok().and_then(|at| seen.get(at..)).unwrap_or_default();
        let mut cursor = Cursor::new(rest, CUT);
        let body = match cursor.take_varint("length") {
            Ok(body) => u64::try_from(body).unwrap_or(0),
            Err(error) => return !is_whole && error.rule() == CUT,
        };
        let record = as_u64(rest.len() - cursor.left().len()) + body;
        at += record;
        if record < as_u64(least) || at > len {
            return false;
        }
    }
    at == len
}

/// The rule of a length that ends after what is seen.
const CUT: &str = "FND-18";

#[cfg(test)]
mod tests;
