//! JSON lines as CSV (RFC 4180): the lines of `jsonl` go in, a record for each of them comes out.
//!
//! A cell is a text as it is, null is an empty cell, and anything else is the JSON itself. An empty text is in quotes, so that it is not null.

use crate::error::{ErrorKind, Result};

/// Records as CSV.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvRecords {
    /// The records, each with a line end. A cell may have line ends in quotes.
    pub text: Vec<u8>,
    /// The end of each record in the text.
    pub ends: Vec<usize>,
}

impl CsvRecords {
    /// The records of lines whose objects have the same fields in the same order.
    ///
    /// # Errors
    /// `Internal` if a line is not an object.
    pub fn of_lines(lines: &[u8]) -> Result<Self> {
        let mut records = Self { text: Vec::with_capacity(lines.len()), ends: Vec::new() };
        let mut cell = Vec::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            records.add(line, &mut cell).ok_or_else(|| ErrorKind::Internal { what: "a line is not an object".to_owned() })?;
        }
        Ok(records)
    }

    fn add(&mut self, line: &[u8], cell: &mut Vec<u8>) -> Option<()> {
        let mut rest = line.strip_prefix(b"{")?;
        while !rest.starts_with(b"}") {
            let label = end_of_string(rest)?;
            rest = rest.get(label..)?.strip_prefix(b":")?;
            let end = end_of_value(rest)?;
            let (value, after) = rest.split_at_checked(end)?;
            put_cell(&mut self.text, value, cell)?;
            self.text.push(b',');
            rest = after.strip_prefix(b",").unwrap_or(after);
        }
        if self.text.last() == Some(&b',') {
            self.text.pop();
        }
        self.text.extend_from_slice(b"\r\n");
        self.ends.push(self.text.len());
        Some(())
    }
}

/// The position after a string, which the bytes begin with.
fn end_of_string(bytes: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let inside = bytes.strip_prefix(b"\"")?;
    let end = inside.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })?;
    Some(end + 2)
}

/// The position after a value, which the bytes begin with; another field follows, or the object ends.
fn end_of_value(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => {
                at += end_of_string(bytes.get(at..)?)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' if depth == 0 => return Some(at),
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
}

/// Writes a JSON value as a cell. `scratch` is used for its text.
fn put_cell(out: &mut Vec<u8>, value: &[u8], scratch: &mut Vec<u8>) -> Option<()> {
    if value == b"null" {
        return Some(());
    }
    let Some(escaped) = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        put_text(out, value);
        return Some(());
    };
    if escaped.contains(&b'\\') {
        scratch.clear();
        unescape(scratch, escaped)?;
        put_text(out, scratch);
    } else {
        put_text(out, escaped);
    }
    Some(())
}

/// Writes a text, in quotes where a reader of CSV would take it for something else.
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let is_space = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    if !is_space(text.first()) && !is_space(text.last()) && !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for byte in text {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// Writes the inside of a JSON string without its escapes.
fn unescape(out: &mut Vec<u8>, escaped: &[u8]) -> Option<()> {
    let mut rest = escaped;
    while let Some(place) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(rest.get(..place)?);
        let code = *rest.get(place + 1)?;
        rest = rest.get(place + 2..)?;
        match code {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let (unit, after) = unit(rest)?;
                rest = after;
                let low = rest.strip_prefix(b"\\u").and_then(self::unit).filter(|_| (0xd800..0xdc00).contains(&unit));
                let units = low.map_or([unit, 0], |(low, _)| [unit, low]);
                rest = low.map_or(rest, |(_, after)| after);
                let char = char::decode_utf16(units).next()?.unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
    out.extend_from_slice(rest);
    Some(())
}

/// The four hexadecimal digits that the bytes begin with, and what follows.
fn unit(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, after) = bytes.split_at_checked(4)?;
    let number = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((number, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(lines: &str) -> String {
        String::from_utf8(CsvRecords::of_lines(lines.as_bytes()).unwrap().text).unwrap()
    }

    #[test]
    fn cells_are_texts_and_json() {
        assert_eq!(csv("{\"a\":1,\"b\":\"x\",\"c\":null,\"d\":true}\n"), "1,x,,true\r\n");
        assert_eq!(csv("{\"a\":\"\",\"b\":null}\n"), "\"\",\r\n");
        assert_eq!(
            csv("{\"a\":[{\"key\":\"k,\\\"\",\"value\":null}],\"b\":{}}\n"),
            "\"[{\"\"key\"\":\"\"k,\\\"\"\"\",\"\"value\"\":null}]\",{}\r\n"
        );
        assert_eq!(csv("{\"a\":{\"base64\":\"AA==\"}}\n"), "\"{\"\"base64\"\":\"\"AA==\"\"}\"\r\n");
        assert_eq!(csv("{}\n{}\n"), "\r\n\r\n");
    }

    #[test]
    fn texts_are_quoted_where_they_must() {
        for (text, cell) in [
            ("a b", "a b"),
            (" a", "\" a\""),
            ("a ", "\"a \""),
            ("a,b", "\"a,b\""),
            ("a\\nb", "\"a\nb\""),
            ("a\\\"b", "\"a\"\"b\""),
            ("a\\\\b", "a\\b"),
            ("\\u0001\\u00e9\\ud83d\\ude00", "\u{1}é😀"),
            ("\\ud83d", "\u{fffd}"),
            ("é,", "\"é,\""),
        ] {
            assert_eq!(csv(&format!("{{\"a\":\"{text}\"}}\n")), format!("{cell}\r\n"), "{text}");
        }
    }

    #[test]
    fn records_have_ends() {
        let records = CsvRecords::of_lines(b"{\"a\":\"x\\ny\"}\n{\"a\":1}\n").unwrap();
        assert_eq!(records.text, b"\"x\ny\"\r\n1\r\n");
        assert_eq!(records.ends, [7, 10]);
    }

    #[test]
    fn other_lines_are_errors() {
        for line in ["1", "{", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":]}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\"] {
            assert!(CsvRecords::of_lines(line.as_bytes()).is_err(), "{line}");
        }
    }
}
