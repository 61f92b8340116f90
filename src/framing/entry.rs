//! Where one entry of the 0.8+ family ends (magic 0 to 3): offset int64, size int32, then `size` bytes with the magic at 16 (MAP-2).

use super::frame::Step;
use super::v07;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::model::Formats;
use crate::wire::as_u64;

/// Bytes before the counted part of an entry: offset and size.
pub const LOG_OVERHEAD: usize = 12;
const HEADER_UP_TO_MAGIC: usize = 17;
const MIN_SIZE: i32 = 14;
const MAX_MAGIC: i8 = 3;
/// The bits of the codec in the attributes of a message, which follow its magic.
const CODEC: u8 = 7;
/// In batches of magic 2.
const LAST_OFFSET_DELTA: usize = 23;

/// Looks at the front of `bytes`, in the order of Kafka's reader: size, limit, magic, completeness (L8-10 to L8-15).
#[inline]
pub fn step(bytes: &[u8], formats: Formats, limits: &Limits) -> Step {
    if formats.is_v07() {
        return v07::step(bytes, limits);
    }
    let Some(size) = bytes.get(8..LOG_OVERHEAD).and_then(|field| field.first_chunk::<4>()) else {
        return Step::Incomplete { needed: LOG_OVERHEAD };
    };
    let size = i32::from_be_bytes(*size);
    let Some(len) = usize::try_from(size).ok().filter(|_| size >= MIN_SIZE).map(|size| size + LOG_OVERHEAD) else {
        return Step::Error(size_error(size));
    };
    if let Err(limit) = limits.ensure_batch_bytes(as_u64(len)) {
        return Step::Error(limit.in_field("batchLength"));
    }
    let Some([magic]) = bytes.get(HEADER_UP_TO_MAGIC - 1..).and_then(|tail| tail.first_chunk::<1>()) else {
        return Step::Incomplete { needed: len };
    };
    let magic = i8::from_be_bytes([*magic]);
    if !(0..=MAX_MAGIC).contains(&magic) {
        return Step::Error(Error::from(ErrorKind::Magic { rule: "L8-13", magic }).in_field("magic"));
    }
    if bytes.len() < len { Step::Incomplete { needed: len } } else { Step::Entry { len, magic } }
}

#[cold]
fn size_error(size: i32) -> Error {
    let kind = ErrorKind::Length { rule: "L8-11", declared: i64::from(size), expected: i64::from(MIN_SIZE) };
    Error::from(kind).in_field("batchLength")
}

/// The bytes of the entry at the front by its length alone, whatever its magic is; `None` if no entry has this length.
pub fn claimed_len(bytes: &[u8], limits: &Limits) -> Option<usize> {
    let size = i32::from_be_bytes(*bytes.get(8..LOG_OVERHEAD)?.first_chunk()?);
    let len = usize::try_from(size).ok().filter(|_| size >= MIN_SIZE)?.checked_add(LOG_OVERHEAD)?;
    limits.ensure_batch_bytes(as_u64(len)).ok().map(|()| len)
}

/// The last offset of a whole entry of magic 0, 1 or 2; `None` for other formats.
pub fn last_offset(entry: &[u8], magic: i8) -> Option<i64> {
    let delta = match magic {
        0 | 1 => 0,
        2 => i64::from(i32::from_be_bytes(*entry.get(LAST_OFFSET_DELTA..)?.first_chunk()?)),
        _ => return None,
    };
    Some(base_offset(entry)?.saturating_add(delta))
}

/// The first offset of an entry of magic 0, 1 or 2; `None` of a compressed message, whose own offset is that of its last inner message.
pub fn first_offset(entry: &[u8]) -> Option<i64> {
    let (magic, attributes) = (entry.get(HEADER_UP_TO_MAGIC - 1)?, entry.get(HEADER_UP_TO_MAGIC)?);
    if *magic < 2 && attributes & CODEC != 0 { None } else { base_offset(entry) }
}

/// The first field of an entry: the base offset of a batch, the offset of a message.
pub fn base_offset(entry: &[u8]) -> Option<i64> {
    entry.first_chunk().copied().map(i64::from_be_bytes)
}
