//! JSON strings, numbers and runs of bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::BytesForm;

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

/// Writes a run of bytes.
pub fn bytes(out: &mut Vec<u8>, bytes: &[u8], form: BytesForm) {
    match (form, std::str::from_utf8(bytes)) {
        (BytesForm::Auto | BytesForm::Utf8, Ok(text)) => string(out, text),
        (BytesForm::Utf8, Err(_)) => string(out, &String::from_utf8_lossy(bytes)),
        (BytesForm::Auto, Err(_)) => {
            out.extend_from_slice(b"{\"base64\":");
            base64(out, bytes);
            out.push(b'}');
        }
        (BytesForm::Base64, _) => base64(out, bytes),
        (BytesForm::Hex, _) => hex(out, bytes),
    }
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

fn is_quoted(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\')
}

/// Bytes that are copied at once when none of them needs an escape.
const STRIDE: usize = 16;

/// Writes text without control characters. Much of it is JSON, with a quotation mark every few bytes, so there is no branch on a byte:
/// two bytes are written for each, and the next one goes over the second when one was enough.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut end = out.len();
    out.resize(end + 2 * bytes.len(), 0);
    for chunk in bytes.chunks(STRIDE) {
        let is_plain = !chunk.iter().fold(false, |any, byte| any | is_quoted(*byte));
        if let (true, Some(room)) = (is_plain, out.get_mut(end..end + chunk.len())) {
            room.copy_from_slice(chunk);
            end += chunk.len();
            continue;
        }
        for byte in chunk {
            let is_quoted = is_quoted(*byte);
            if let Some([first, second]) = out.get_mut(end..end + 2) {
                *first = if is_quoted { b'\\' } else { *byte };
                *second = *byte;
            }
            end += 1 + usize::from(is_quoted);
        }
    }
    out.truncate(end);
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

fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = out.get_mut(start..).map_or(Ok(0), |room| STANDARD.encode_slice(bytes, room));
    out.truncate(start + written.unwrap_or(0));
    out.push(b'"');
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    out.extend(bytes.iter().flat_map(|byte| hex_pair(*byte)));
    out.push(b'"');
}

fn hex_pair(byte: u8) -> [u8; 2] {
    [hex_digit(byte >> 4), hex_digit(byte & 15)]
}

fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}
