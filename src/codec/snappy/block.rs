//! The elements of a raw snappy block: literals and copies, one at a time with care, or in `fast` while enough bytes are left in both slices.

mod fast;

use fast::ElementPosition;

/// The longest literal whose tag holds its length; larger tags hold the number of bytes of the length.
const LONGEST_SHORT: usize = 60;

/// Decompresses all `elements` to `output`, which has the declared length.
///
/// # Errors
/// The reason why the block is corrupt.
pub(super) fn decompress(elements: &[u8], output: &mut [u8]) -> Result<(), &'static str> {
    let mut at = ElementPosition { from: 0, to: 0 };
    while at.from < elements.len() {
        fast::run(elements, output, &mut at);
        step(elements, output, &mut at)?;
    }
    if at.to == output.len() { Ok(()) } else { Err("the block ends before its declared length") }
}

/// Decompresses one element of any kind; fails with the reason why it is corrupt.
#[inline(never)]
fn step(elements: &[u8], output: &mut [u8], at: &mut ElementPosition) -> Result<(), &'static str> {
    let Some((tag, rest)) = elements.get(at.from..).and_then(<[u8]>::split_first) else { return Ok(()) };
    let rest = match tag & 3 {
        0 => literal(*tag, rest, output, at)?,
        _ => copied(*tag, rest, output, at)?,
    };
    at.from = elements.len() - rest.len();
    Ok(())
}

fn literal<'a>(tag: u8, rest: &'a [u8], output: &mut [u8], at: &mut ElementPosition) -> Result<&'a [u8], &'static str> {
    const OVERRUN: &str = "a literal runs past the block";
    let short = usize::from(tag >> 2) + 1;
    let (len, rest) = match short.checked_sub(LONGEST_SHORT) {
        None | Some(0) => (short, rest),
        Some(bytes) => rest.split_at_checked(bytes).map(|(len, rest)| (little_endian(len) + 1, rest)).ok_or(OVERRUN)?,
    };
    let (bytes, rest) = rest.split_at_checked(len).ok_or(OVERRUN)?;
    let slot = output.get_mut(at.to..).and_then(|tail| tail.get_mut(..len)).ok_or(OVERRUN)?;
    slot.copy_from_slice(bytes);
    at.to += len;
    Ok(rest)
}

fn copied<'a>(tag: u8, rest: &'a [u8], output: &mut [u8], at: &mut ElementPosition) -> Result<&'a [u8], &'static str> {
    let (after, len, high) = match tag & 3 {
        1 => (1, 4 + usize::from(tag >> 2 & 7), usize::from(tag >> 5) << 8),
        2 => (2, 1 + usize::from(tag >> 2), 0),
        _ => (4, 1 + usize::from(tag >> 2), 0),
    };
    let (low, rest) = rest.split_at_checked(after).ok_or("a copy is cut short")?;
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

#[cfg(test)]
mod tests;
