//! Text of URIs and paths with escapes.

use std::path::Path;

/// Percent-decoded text; what is not UTF-8 then stays as it is written.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let is_hex = |pair: &&str| byte == b'%' && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = pair.filter(is_hex).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// A path as text; a byte that is not UTF-8 is `\xNN`.
pub fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
