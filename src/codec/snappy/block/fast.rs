//! The elements of a snappy block while there is room on both sides (docs/project/decisions reports why this is not left to `snap`).
//!
//! Whether an element is a literal or a copy cannot be predicted, so nothing here branches on it: both are the same 64 bytes from an address
//! that is chosen between two to the next place of the output. What these bytes overwrite is written again by the elements after.
#![expect(unsafe_code, reason = "checks of bounds at each element took half of the time")]

use std::hint::select_unpredictable;

/// The position of the next element, and of its bytes in the output.
#[derive(Clone, Copy)]
pub(super) struct ElementPosition {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Bytes that an element copies, needed or not: the longest that a tag alone reports.
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
static AFTER: [u16; 4] = [0, 0x00ff, 0xffff, 0];
/// Of each kind of tag: the bits of the distance that reach back, none for a literal.
static REACHING: [u16; 4] = [0, 0xffff, 0xffff, 0xffff];

/// Decompresses elements up to one that needs a careful step: a long one, one that is wrong, or one near the end of either slice.
pub(super) fn run(elements: &[u8], output: &mut [u8], at: &mut ElementPosition) {
    let (Some(last_from), Some(last_to)) = (elements.len().checked_sub(READS), output.len().checked_sub(WRITES)) else { return };
    let ElementPosition { mut from, mut to } = *at;
    while from <= last_from && to <= last_to {
        let bytes = elements.as_ptr();
        // SAFETY: `from + READS` is within `elements`, and an element's first three bytes are fewer than that.
        let [tag, low, high] = unsafe { bytes.add(from).cast::<[u8; 3]>().read() };
        let kind = usize::from(tag & 3);
        let (Some(entry), Some(after), Some(reaching)) = (TAGS.get(usize::from(tag)), AFTER.get(kind), REACHING.get(kind)) else { break };
        let is_literal = kind == 0;
        let len = usize::from(entry & LEN);
        let distance = (entry & DISTANCE) | (u16::from_le_bytes([low, high]) & after);
        if usize::from(distance & reaching) > to {
            break;
        }
        let distance = usize::from(distance);
        if distance < len {
            if is_literal || repeat(output, distance, len, to).is_none() {
                break;
            }
        } else {
            let output = output.as_mut_ptr();
            let literal = bytes.wrapping_add(from + 1);
            let earlier = output.wrapping_add(to).wrapping_sub(distance).cast_const();
            let source = select_unpredictable(is_literal, literal, earlier).cast::<[u8; WIDE]>();
            // SAFETY: a literal's bytes begin at `from + 1`, and `from + READS` is within `elements`. A copy's begin at `to - distance`, which
            // is not below 0 as was just seen, and `to + WRITES` is within `output`, all of which is initialised. The bytes are taken
            // away before they are put down, so that it is no matter whether they lie over each other.
            unsafe { output.add(to).cast::<[u8; WIDE]>().write(source.read()) };
        }
        to += len;
        from += 1 + select_unpredictable(is_literal, usize::from(tag >> 2) + 1, kind);
    }
    *at = ElementPosition { from, to };
}

/// Copies 16 bytes that may lie over each other, as if they were taken away before they are put down.
#[inline(always)]
fn copy(output: &mut [u8], from: usize, to: usize) -> Option<()> {
    let bytes: [u8; 16] = *output.get(from..)?.first_chunk()?;
    *output.get_mut(to..)?.first_chunk_mut()? = bytes;
    Some(())
}

/// A copy that takes what it has just put down. Each step doubles the distance until 16 bytes do not lie over each other.
fn repeat(output: &mut [u8], mut distance: usize, len: usize, to: usize) -> Option<()> {
    let from = to.checked_sub(distance).filter(|_| distance > 0)?;
    let mut at = to;
    while distance < 16 {
        copy(output, from, at)?;
        at += distance;
        distance *= 2;
    }
    while at < to + len {
        copy(output, at - distance, at)?;
        at += 16;
    }
    Some(())
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
