//! UTF-8 bytes to text, as Java decodes them.

use std::borrow::Cow;
use std::str::from_utf8;

/// Returns the text of `new String(bytes, UTF_8)` in Java, where each malformed sequence becomes one U+FFFD.
///
/// For Java an encoded surrogate (ED A0 80 to ED BF BF) is one malformed sequence. For `String::from_utf8_lossy` it is three.
pub fn java_text(bytes: &[u8]) -> Cow<'_, str> {
    from_utf8(bytes).map_or_else(|_| Cow::Owned(replaced(bytes)), Cow::Borrowed)
}

#[cold]
fn replaced(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(chunk) = rest.utf8_chunks().next() {
        text.push_str(chunk.valid());
        let malformed = rest.get(chunk.valid().len()..).unwrap_or_default();
        if malformed.is_empty() {
            break;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        let len = surrogate_len(malformed).unwrap_or(chunk.invalid().len());
        rest = malformed.get(len..).unwrap_or_default();
    }
    text
}

/// The length of the encoded surrogate that the bytes start with, whole or without its last byte.
fn surrogate_len(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => Some(3),
        [0xed, 0xa0..=0xbf, ..] => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_sequences_become_as_many_replacements_as_in_java() {
        for (bytes, text) in [
            (b"name".as_slice(), "name"),
            (b"\xed\xa0\x80", "\u{fffd}"),
            (b"\xed\xbf\xbf!", "\u{fffd}!"),
            (b"a\xed\xa0\x80\xed\xb0\x80b", "a\u{fffd}\u{fffd}b"),
            (b"\xed\xa0", "\u{fffd}"),
            (b"\xed\xa0A", "\u{fffd}A"),
            (b"\xed\x9f\xbf", "\u{d7ff}"),
            (b"\xed", "\u{fffd}"),
            (b"\xe0\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xf0\x9f\x98", "\u{fffd}"),
            (b"\xf0\x9f\x98\x80", "\u{1f600}"),
            (b"\xf4\x90\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xc0\xafx\xff", "\u{fffd}\u{fffd}x\u{fffd}"),
        ] {
            assert_eq!(java_text(bytes), text, "{bytes:02x?}");
        }
    }
}
