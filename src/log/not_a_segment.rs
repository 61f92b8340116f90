//! What a file looks like that is not a log segment: its name and first bytes go in, an error that names the kind comes out.
//!
//! A segment begins with an offset (Kafka 0.8 and later) or a length (0.7), whose first byte is 0. So no kind here can be a valid segment.

use crate::error::{Error, ErrorKind};

/// The first bytes of each kind of file.
pub const HEAD: u64 = 512;

/// As many of them as must be text in a text file.
const TEXT_HEAD: usize = 64;

/// A tar archive has its magic in the header of its first file.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// The endings of the files that Kafka keeps next to a segment, after the offset of its name.
const SIDECARS: [(&str, &str); 4] = [
    (".index", "an offset index"),
    (".timeindex", "a time index"),
    (".txnindex", "a transaction index"),
    (".snapshot", "a producer snapshot"),
];

/// Other files of Kafka's log directories.
const OTHERS: [(&str, &str); 7] = [
    ("leader-epoch-checkpoint", "a leader epoch checkpoint"),
    ("recovery-point-offset-checkpoint", "an offset checkpoint"),
    ("log-start-offset-checkpoint", "an offset checkpoint"),
    ("replication-offset-checkpoint", "an offset checkpoint"),
    ("cleaner-offset-checkpoint", "an offset checkpoint"),
    ("partition.metadata", "the metadata file of a partition"),
    ("meta.properties", "the metadata file of a log directory"),
];

/// The first bytes of compressed files.
const COMPRESSED: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x04\x22\x4d\x18", "an LZ4 frame"),
    (b"\xff\x06\x00\x00sNaPpY", "framed snappy data"),
    (b"\x82SNAPPY", "snappy data of xerial's library"),
];

/// The first bytes of other common kinds of files.
const MAGIC: [(&[u8], &str); 9] = [
    (b"PAR1", "a Parquet file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"ARROW1", "an Arrow IPC file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "a picture"),
];

const IN_LOGS: &str = "the records are in the .log files of a partition";

/// Return the error of a file that is not a log segment, or None if it may be one.
///
/// Arguments: `name`, the last part of the path; `head`, the first bytes of the file, at most `HEAD`.
pub fn error(name: &str, head: &[u8]) -> Option<Error> {
    let is_named = |(ending, _): &&(&str, &str)| name.ends_with(ending) && has_offset(name);
    if let Some((_, looks_like)) = SIDECARS.iter().find(is_named).or_else(|| OTHERS.iter().find(|(known, _)| name == *known)) {
        return Some(found(looks_like, IN_LOGS));
    }
    if is_upload(name) && head.first().is_some_and(|byte| *byte != 0) {
        return Some(found("a compressed or encrypted upload of tiered storage", "logsegment.Segment and logsegment.Log read it"));
    }
    let kind_in =
        |kinds: &'static [(&[u8], &str)]| kinds.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, looks_like)| *looks_like);
    if let Some(looks_like) = kind_in(&COMPRESSED) {
        return Some(found(looks_like, "decompress it first"));
    }
    let is_tar = head.get(TAR_MAGIC.0..).is_some_and(|rest| rest.starts_with(TAR_MAGIC.1));
    let text = head.get(..TEXT_HEAD).unwrap_or(head);
    let looks_like = kind_in(&MAGIC).or_else(|| is_tar.then_some("a tar archive")).or_else(|| is_text(text).then(|| text_kind(text)));
    looks_like.map(|looks_like| found(looks_like, IN_LOGS))
}

/// Return the error of a directory.
pub fn directory_error() -> Error {
    found("a directory", "logsegment.Log reads the segments of directories")
}

fn found(looks_like: &'static str, advice: &'static str) -> Error {
    Error::from(ErrorKind::NotASegment { looks_like, advice }).at_byte(0)
}

fn text_kind(head: &[u8]) -> &'static str {
    match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => "JSON",
        Some(b'<') => "XML or HTML",
        _ => "text",
    }
}

/// Twenty digits, a dash and the id of the upload.
fn is_upload(name: &str) -> bool {
    has_offset(name) && name.as_bytes().get(20) == Some(&b'-')
}

/// The name begins with an offset, of twenty digits.
fn has_offset(name: &str) -> bool {
    name.as_bytes().get(..20).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// UTF-8 without control characters but tabs and line breaks; its last character may be cut off.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            head.get(..error.valid_up_to()).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or("")
        }
        Err(_) => "",
    };
    !text.is_empty() && text.chars().all(|char| !char.is_control() || matches!(char, '\t' | '\n' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_like(name: &str, head: &[u8]) -> Option<&'static str> {
        match error(name, head)?.kind() {
            ErrorKind::NotASegment { looks_like, .. } => Some(looks_like),
            _ => None,
        }
    }

    #[test]
    fn a_tar_archive_is_known_by_the_header_of_its_first_file() {
        let mut head = vec![0; 512];
        head[..14].copy_from_slice(b"orders-0/0.log");
        assert_eq!(looks_like("orders.tar", &head), None);
        head[257..262].copy_from_slice(b"ustar");
        assert_eq!(looks_like("orders.tar", &head), Some("a tar archive"));
    }

    #[test]
    fn kinds_are_known_by_names_and_first_bytes() {
        for (name, head, expected) in [
            ("00000000000000000000.index", &b"\0\0\0\x02"[..], Some("an offset index")),
            ("recovery-point-offset-checkpoint", b"0\n1\n", Some("an offset checkpoint")),
            ("copy.index", b"\0\0\0\x02", None),
            ("copy.log", b"\xff\xff\xff\xff\0\0", None),
            ("orders.snappy", b"\x82SNAPPY\0", Some("snappy data of xerial's library")),
            ("orders.gz", b"\x1f\x8b\x08\0", Some("gzip data")),
            ("table", b"PAR1\x15\x04", Some("a Parquet file")),
            (
                "00000000000000001234-tqimKeZwStOEOwRzT3L5oQ.log",
                b"\x28\xb5\x2f\xfd",
                Some("a compressed or encrypted upload of tiered storage"),
            ),
            ("00000000000000001234-tqimKeZwStOEOwRzT3L5oQ.log", b"\0\0\0\0", None),
            ("notes.txt", b"hello\n", Some("text")),
            ("notes.txt", "gr\u{fc}n".as_bytes().get(..3).unwrap_or_default(), Some("text")),
            ("rows.json", b" {\"a\": 1}", Some("JSON")),
            ("00000000000000000000.log", b"", None),
            ("00000000000000000000.log", &[0; 64], None),
            ("00000000000000000000.log", b"\0\0\0\0\0\0\0\x07\0\0\0\x39", None),
            ("random", b"\x9c\x01\x02", None),
        ] {
            assert_eq!(looks_like(name, head), expected, "{name} {head:?}");
        }
    }
}
