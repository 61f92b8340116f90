//! Where one entry of Kafka 0.7 ends: length int32, then `length` bytes with the magic first (L7-10 to L7-13).

use super::frame::Step;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// Bytes of the length field.
const LENGTH_LEN: usize = 4;
/// Smallest number of bytes after it in magic 0; one more in magic 1.
const MIN_LENGTH: i32 = 5;

/// Looks at the front of `bytes`, in the order of the 0.8+ reader: length, limit, magic, completeness.
#[inline(never)]
pub(super) fn step(bytes: &[u8], limits: &Limits) -> Step {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_LEN>() else {
        return Step::Incomplete { needed: LENGTH_LEN };
    };
    let length = i32::from_be_bytes(*length);
    let Some(len) = usize::try_from(length).ok().filter(|_| length >= MIN_LENGTH).map(|length| length + LENGTH_LEN) else {
        return Step::Error(length_error(length, MIN_LENGTH));
    };
    if let Err(limit) = limits.ensure_batch_bytes(u64::try_from(len).unwrap_or(u64::MAX)) {
        return Step::Error(limit.in_field("length"));
    }
    let Some(magic) = rest.first().map(|magic| i8::from_be_bytes([*magic])) else {
        return Step::Incomplete { needed: len };
    };
    match magic {
        0 => {}
        1 if length > MIN_LENGTH => {}
        1 => return Step::Error(length_error(length, MIN_LENGTH + 1)),
        _ => return Step::Error(Error::from(ErrorKind::Magic { rule: "L7-7", magic }).in_field("magic")),
    }
    if bytes.len() < len { Step::Incomplete { needed: len } } else { Step::Entry { len, magic } }
}

#[cold]
fn length_error(length: i32, minimum: i32) -> Error {
    let kind = ErrorKind::Length { rule: "L7-1", declared: i64::from(length), expected: i64::from(minimum) };
    Error::from(kind).in_field("length")
}
