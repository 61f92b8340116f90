//! The parts of an Avro value, as bytes.

use std::iter::repeat_n;

use crate::values::misfit::{WriteResult, misfit};

/// Writes a whole number, of which small ones are short.
pub(super) fn long(out: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while left >= 0x80 {
        out.push(u8::try_from(left & 0x7f).unwrap_or_default() | 0x80);
        left >>= 7;
    }
    out.push(u8::try_from(left).unwrap_or_default());
}

/// Writes a count, or the number of a branch.
pub(super) fn count(out: &mut Vec<u8>, number: usize) -> WriteResult {
    long(out, i64::try_from(number).map_err(|_| misfit("too long"))?);
    Ok(())
}

/// Writes bytes with their length before them.
pub(super) fn run(out: &mut Vec<u8>, bytes: &[u8]) -> WriteResult {
    count(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Writes the items of an array or a map as one block.
pub(super) fn block(out: &mut Vec<u8>, len: usize, items: impl FnOnce(&mut Vec<u8>) -> WriteResult) -> WriteResult {
    if len > 0 {
        count(out, len)?;
        items(out)?;
    }
    out.push(0);
    Ok(())
}

/// Writes a two's complement, most significant byte first: in so many bytes, or in the fewest with their number before them.
pub(super) fn decimal(out: &mut Vec<u8>, number: &[u8], size: Option<usize>) -> WriteResult {
    let fill = if number.first().is_some_and(|first| *first >= 0x80) { 0xff } else { 0 };
    let spare = |pair: &[u8]| matches!(pair, [first, second] if *first == fill && (*second >= 0x80) == (fill == 0xff));
    let shortest = number.get(number.windows(2).take_while(|pair| spare(pair)).count()..).unwrap_or_default();
    let Some(size) = size else { return run(out, shortest) };
    let before = size.checked_sub(shortest.len()).ok_or_else(|| misfit(format!("the decimal does not fit {size} bytes")))?;
    out.extend(repeat_n(fill, before));
    out.extend_from_slice(shortest);
    Ok(())
}

/// The two's complement of decimal text; `None` if the text is not a number with at most so many digits, `scale` of them after the point.
pub(super) fn decimal_of(text: &str, precision: usize, scale: usize) -> Option<Vec<u8>> {
    const MOST_DIGITS: usize = 1024;
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (head, tail) = digits.split_once('.').unwrap_or((digits, ""));
    let tail = if tail.len() > scale { tail.get(..scale).filter(|_| tail.bytes().skip(scale).all(|byte| byte == b'0'))? } else { tail };
    let all = head.bytes().chain(tail.bytes()).chain(repeat_n(b'0', scale - tail.len()));
    let all: Vec<u8> = all.skip_while(|byte| *byte == b'0').collect();
    if head.is_empty() || all.len() > precision.min(MOST_DIGITS) || !all.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Least significant byte first, with room for the sign.
    let mut number = vec![0_u8; all.len() / 2 + 2];
    for digit in all {
        let mut carry = u16::from(digit - b'0');
        for byte in &mut number {
            let sum = u16::from(*byte) * 10 + carry;
            (*byte, carry) = (u8::try_from(sum & 0xff).unwrap_or_default(), sum >> 8);
        }
    }
    if is_negative {
        let mut carry = true;
        for byte in &mut number {
            let (negated, overflows) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (negated, carry && overflows);
        }
    }
    number.reverse();
    Some(number)
}

/// The bytes of the text of a UUID.
pub(super) fn uuid(text: &str) -> Option<[u8; 16]> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_shaped = text.len() == 36 && text.bytes().enumerate().all(|(at, byte)| (byte == b'-') == DASHES.contains(&at));
    let digits: String = text.chars().filter(|char| *char != '-').collect();
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(&digits, 16).ok().filter(|_| is_shaped && is_hex).map(u128::to_be_bytes)
}
