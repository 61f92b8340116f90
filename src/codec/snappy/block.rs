//! The elements of a raw snappy block: literals and copies, unpacked in safe code (docs/decisions tells why this is not left to `snap`).
//!
//! Whether an element is a literal or a copy cannot be predicted, so nothing here branches on it. The elements are copied behind the room for
//! the output: there a literal is, like a copy, so many bytes from an earlier or later place of one and the same slice, and both are the
//! same 64 bytes from here to there. What these overwrite is written again by the elements behind.

use std::hint::select_unpredictable;
use std::ops::Range;

/// Bytes of elements that stand behind the output at a time, at most; as many more bytes of room are of use.
pub(super) const STAGE: usize = 64 << 10;
/// Bytes that an element copies, needed or not: the longest that a tag alone tells.
const WIDE: usize = 64;
/// What an element may write from its place on: a copy that repeats itself ends within 16 bytes of its end.
const WRITES: usize = WIDE + 16;
/// What an element may be read from its place on: its tag and `WIDE` bytes of literal.
const READS: usize = 1 + WIDE;

/// Of each tag: bytes of the element in bits 0 to 6, and what it alone says of the distance, in bits 8 to 11. A literal's is one that no
/// copy has; long literals and copies with four bytes of distance are 0 and left to the careful step.
static TAGS: [u16; 256] = tags();
const LEN: u16 = 0x7f;
const DISTANCE: u16 = 0xf00;
/// Of each kind of tag: the bits of the next two bytes that belong to the distance.
static BEHIND: [u16; 4] = [0, 0x00ff, 0xffff, 0];
/// The longest literal whose tag tells its length; tags above count the bytes that tell it.
const LONGEST_SHORT: usize = 60;

/// Where the next element stands, and where its bytes go.
#[derive(Clone, Copy)]
struct Place {
    from: usize,
    to: usize,
}

/// Unpacks all `elements` to the first `declared` bytes of `room`. What lies behind those is overwritten.
///
/// # Errors
/// What is wrong with the block.
pub(super) fn unpack(elements: &[u8], room: &mut [u8], declared: usize) -> Result<(), &'static str> {
    let mut at = Place { from: 0, to: 0 };
    let mut staged = 0..0;
    while at.from < elements.len() {
        if at.from + READS > staged.end && staged.end < elements.len() {
            staged = stage(elements, room, declared, at.from);
        }
        run(room, declared, &staged, &mut at);
        if at.from < elements.len() {
            let output = room.get_mut(..declared).ok_or("the block is corrupt")?;
            step(elements, output, &mut at)?;
        }
    }
    if at.to == declared { Ok(()) } else { Err("the block ends before its declared length") }
}

/// Copies the next elements behind the output, and says which they are.
fn stage(elements: &[u8], room: &mut [u8], declared: usize, from: usize) -> Range<usize> {
    let rest = elements.get(from..).unwrap_or_default();
    let behind = room.get_mut(declared..).unwrap_or_default();
    let len = rest.len().min(behind.len()).min(STAGE);
    if let (Some(to), Some(rest)) = (behind.get_mut(..len), rest.get(..len)) {
        to.copy_from_slice(rest);
    }
    from..from + len
}

/// Unpacks staged elements up to one that needs a careful step.
fn run(room: &mut [u8], declared: usize, staged: &Range<usize>, at: &mut Place) {
    let (Some(last_from), Some(last_to)) = (staged.len().checked_sub(READS), declared.checked_sub(WRITES)) else { return };
    let last_from = declared + last_from;
    // Staged elements stand as far behind the output as they stand behind the first of them.
    let (mut from, mut to) = (declared + at.from.saturating_sub(staged.start), at.to);
    while from <= last_from && to <= last_to {
        let Some(&[tag, low, high]) = room.get(from..).and_then(<[u8]>::first_chunk) else { break };
        let kind = usize::from(tag & 3);
        let (Some(entry), Some(behind)) = (TAGS.get(usize::from(tag)), BEHIND.get(kind)) else { break };
        let (is_literal, next) = (kind == 0, from + 1);
        let len = usize::from(entry & LEN);
        let distance = usize::from((entry & DISTANCE) | (u16::from_le_bytes([low, high]) & behind));
        let copied = if distance < len {
            if is_literal { None } else { repeat(room, distance, len, to) }
        } else {
            // A copy from before the output wraps around to a place that is not there.
            copy::<WIDE>(room, select_unpredictable(is_literal, next, to.wrapping_sub(distance)), to)
        };
        if copied.is_none() {
            break;
        }
        to += len;
        from = next + select_unpredictable(is_literal, usize::from(tag >> 2) + 1, kind);
    }
    *at = Place { from: staged.start + (from - declared), to };
}

/// Copies `N` bytes that may lie over each other, as if they were taken away before they are put down.
#[inline(always)]
fn copy<const N: usize>(room: &mut [u8], from: usize, to: usize) -> Option<()> {
    let bytes: [u8; N] = *room.get(from..)?.first_chunk()?;
    *room.get_mut(to..)?.first_chunk_mut()? = bytes;
    Some(())
}

/// A copy that takes what it has just put down. Each step doubles the distance until 16 bytes do not lie over each other.
fn repeat(room: &mut [u8], mut distance: usize, len: usize, to: usize) -> Option<()> {
    let from = to.checked_sub(distance).filter(|_| distance > 0)?;
    let mut at = to;
    while distance < 16 {
        copy::<16>(room, from, at)?;
        at += distance;
        distance *= 2;
    }
    while at < to + len {
        copy::<16>(room, at - distance, at)?;
        at += 16;
    }
    Some(())
}

/// Unpacks one element, whatever it is, and says what is wrong with it.
#[inline(never)]
fn step(elements: &[u8], output: &mut [u8], at: &mut Place) -> Result<(), &'static str> {
    let Some((tag, rest)) = elements.get(at.from..).and_then(<[u8]>::split_first) else { return Ok(()) };
    let rest = match tag & 3 {
        0 => literal(*tag, rest, output, at)?,
        _ => copied(*tag, rest, output, at)?,
    };
    at.from = elements.len() - rest.len();
    Ok(())
}

fn literal<'a>(tag: u8, rest: &'a [u8], output: &mut [u8], at: &mut Place) -> Result<&'a [u8], &'static str> {
    const FAULT: &str = "a literal runs past the block";
    let told = usize::from(tag >> 2) + 1;
    let (len, rest) = match told.checked_sub(LONGEST_SHORT) {
        None | Some(0) => (told, rest),
        Some(bytes) => rest.split_at_checked(bytes).map(|(len, rest)| (little_endian(len) + 1, rest)).ok_or(FAULT)?,
    };
    let (bytes, rest) = rest.split_at_checked(len).ok_or(FAULT)?;
    let room = output.get_mut(at.to..).and_then(|room| room.get_mut(..len)).ok_or(FAULT)?;
    room.copy_from_slice(bytes);
    at.to += len;
    Ok(rest)
}

fn copied<'a>(tag: u8, rest: &'a [u8], output: &mut [u8], at: &mut Place) -> Result<&'a [u8], &'static str> {
    let (behind, len, high) = match tag & 3 {
        1 => (1, 4 + usize::from(tag >> 2 & 7), usize::from(tag >> 5) << 8),
        2 => (2, 1 + usize::from(tag >> 2), 0),
        _ => (4, 1 + usize::from(tag >> 2), 0),
    };
    let (low, rest) = rest.split_at_checked(behind).ok_or("a copy is cut short")?;
    let distance = high | little_endian(low);
    let from = at.to.checked_sub(distance).filter(|_| distance > 0).ok_or("a copy reaches back before the block")?;
    if output.len() - at.to < len {
        return Err("a copy runs past the declared length");
    }
    for index in 0..len {
        let byte = output.get(from + index).copied().unwrap_or_default();
        if let Some(slot) = output.get_mut(at.to + index) {
            *slot = byte;
        }
    }
    at.to += len;
    Ok(rest)
}

/// Up to four bytes as a number.
fn little_endian(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[expect(clippy::indexing_slicing, reason = "the index is below 256")]
const fn tags() -> [u16; 256] {
    let mut tags = [1; 256];
    let (mut index, mut tag) = (0, 0_u16);
    while index < 256 {
        let upper = tag >> 2;
        tags[index] = match tag & 3 {
            0 if upper < 60 => (upper + 1) | 0x800,
            1 => (4 + (upper & 7)) | ((tag >> 5) << 8),
            2 => upper + 1,
            _ => 1,
        };
        (index, tag) = (index + 1, tag + 1);
    }
    tags
}

#[cfg(test)]
mod tests;
