//! JSON strings and whole numbers.

/// Writes text as a JSON string.
///
/// Escaped are, besides what JSON asks for, DEL and the C1 control characters: a terminal must not obey what a record holds.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    match text.as_bytes() {
        bytes if bytes.iter().fold(false, |any, byte| any | is_control(*byte)) => text.chars().for_each(|char| put_char(out, char)),
        bytes => put_bytes(out, bytes),
    }
    out.push(b'"');
}

/// Writes a whole number.
pub fn integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

/// Writes a whole number that is not negative.
pub fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' | u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        used += 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

/// Control characters of ASCII, and the byte that leads those of C1 (and the rest of Latin-1).
fn is_control(byte: u8) -> bool {
    (byte < 0x20) | (byte == 0x7f) | (byte == 0xc2)
}

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The top bit of every byte of the word that is a quotation mark or a backslash.
fn quoted(word: u64) -> u64 {
    let low = word & eight(0x7f);
    // No sum carries into the next byte: both parts are below 0x80.
    let unequal = |byte: u8| (low ^ eight(byte)) + eight(0x7f);
    !(word | unequal(b'"') & unequal(b'\\')) & eight(0x80)
}

/// Writes text without control characters, eight bytes at a time. Much of it is JSON, with a quotation mark every few bytes, which
/// would mislead a branch on each: whole words are written, and the next write goes over what was too much.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut end = out.len();
    out.resize(end + 2 * bytes.len() + 8, 0);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        end = put_word(out, end, *word);
    }
    for byte in rest {
        let is_quoted = matches!(byte, b'"' | b'\\');
        put(out, end, if is_quoted { [b'\\', *byte] } else { [*byte, 0] });
        end += 1 + usize::from(is_quoted);
    }
    out.truncate(end);
}

/// Writes eight bytes and the backslashes that belong before some of them; gives where they end.
fn put_word(out: &mut [u8], mut end: usize, word: [u8; 8]) -> usize {
    let mut left = u64::from_le_bytes(word);
    let mut marks = quoted(left);
    let mut len = 8;
    while marks != 0 {
        let before = marks.trailing_zeros() & !7;
        let plain = usize::try_from(before / 8).unwrap_or(0);
        put(out, end, left.to_le_bytes());
        left >>= before;
        let [byte, ..] = left.to_le_bytes();
        put(out, end + plain, [b'\\', byte]);
        (left, marks) = (left >> 8, (marks >> before) >> 8);
        (end, len) = (end + plain + 2, len - plain - 1);
    }
    put(out, end, left.to_le_bytes());
    end + len
}

fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(slot) = out.get_mut(at..at + N) {
        slot.copy_from_slice(&bytes);
    }
}

fn put_char(out: &mut Vec<u8>, char: char) {
    match char {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        _ if char.is_control() => unicode(out, u8::try_from(char).unwrap_or(b'?')),
        _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

fn unicode(out: &mut Vec<u8>, code: u8) {
    out.extend_from_slice(b"\\u00");
    out.extend_from_slice(&hex_pair(code));
}

/// Returns the two lower-case hexadecimal digits of a byte.
pub fn hex_pair(byte: u8) -> [u8; 2] {
    [hex_digit(byte >> 4), hex_digit(byte & 15)]
}

fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}
