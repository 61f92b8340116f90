//! What the clients of each era write and read. A row holds until the next one begins.

use std::fmt;

use crate::model::RecordFormat::{self, V0, V1, V2, V07};

/// Client releases that carry the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// First release of the row.
    pub since: &'static str,
    /// Highest version of Produce in the last release of the row; `None` where the protocol had none (0.7), or where newer versions
    /// change nothing here.
    pub produce: Option<i16>,
    /// Highest version of Fetch, likewise.
    pub fetch: Option<i16>,
    /// Format that its producer writes.
    pub writes: RecordFormat,
    /// Formats that its consumer reads.
    pub reads: &'static [RecordFormat],
    /// Codecs that it knows, by Kafka's names.
    pub compressions: &'static [&'static str],
    /// Which LZ4 header checksum it writes; empty without LZ4.
    pub lz4_written: &'static str,
    /// Which ones it reads.
    pub lz4_read: &'static str,
    /// What to know before records are given to it.
    pub note: &'static str,
}

const BEFORE_LZ4: &[&str] = &["none", "gzip", "snappy"];
const BEFORE_ZSTD: &[&str] = &["none", "gzip", "snappy", "lz4"];
const ALL: &[&str] = &["none", "gzip", "snappy", "lz4", "zstd"];
const OLD: &[RecordFormat] = &[V0, V1];
const EVERY: &[RecordFormat] = &[V0, V1, V2];

/// All rows, oldest first.
pub const CLIENTS: [Client; 11] = [
    client("0.7.0", None, None, V07, &[V07], &["none", "gzip"], "", "", "another protocol; no keys, no offsets in the bytes"),
    client("0.7.1", None, None, V07, &[V07], BEFORE_LZ4, "", "", "snappy was added"),
    client("0.8.0", Some(0), Some(0), V0, &[V0], BEFORE_LZ4, "", "", "keys and offsets"),
    client("0.8.2", Some(0), Some(0), V0, &[V0], BEFORE_ZSTD, "broken", "broken", "refuses LZ4 content sizes and content checksums"),
    client("0.9.0", Some(1), Some(1), V0, &[V0], BEFORE_ZSTD, "broken", "broken", "refuses LZ4 content sizes and content checksums"),
    client(
        "0.10.0",
        Some(2),
        Some(3),
        V1,
        OLD,
        BEFORE_ZSTD,
        "correct",
        "correct; any in v0",
        "timestamps and relative offsets; LZ4 as in KIP-57",
    ),
    client("0.11.0", Some(3), Some(5), V2, EVERY, BEFORE_ZSTD, "correct", "correct; any in v0", "headers, idempotence, transactions"),
    client("1.0", Some(5), Some(7), V2, EVERY, BEFORE_ZSTD, "correct", "correct; any in v0", ""),
    client("2.0", Some(6), Some(8), V2, EVERY, BEFORE_ZSTD, "correct", "correct; any in v0", ""),
    client("2.1", Some(7), Some(10), V2, EVERY, ALL, "correct", "correct; any in v0", "zstd (KIP-110)"),
    client("2.3", None, None, V2, EVERY, ALL, "correct", "correct; any in v0", "from 4.0 on only for brokers from 2.1 on (KIP-896)"),
];

#[expect(clippy::too_many_arguments, reason = "one row of a table")]
const fn client(
    since: &'static str,
    produce: Option<i16>,
    fetch: Option<i16>,
    writes: RecordFormat,
    reads: &'static [RecordFormat],
    compressions: &'static [&'static str],
    lz4_written: &'static str,
    lz4_read: &'static str,
    note: &'static str,
) -> Client {
    Client { since, produce, fetch, writes, reads, compressions, lz4_written, lz4_read, note }
}

/// A release of Kafka (`"0.9.0.1"`, `"2.1"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release([u32; 4]);

impl Release {
    /// Parses the name of a release; `None` for other text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0; 4];
        let mut places = numbers.iter_mut();
        for part in text.split('.') {
            *places.next()? = part.parse().ok()?;
        }
        Some(Self(numbers))
    }

    /// True for this release or a later one.
    pub fn is_from(self, first: &str) -> bool {
        Self::parse(first).is_some_and(|first| first <= self)
    }

    /// True for a release of this line (`"3.9"`: also 3.9.1) or an earlier one.
    pub fn is_up_to(self, line: &str) -> bool {
        let Self([major, minor, ..]) = self;
        Self::parse(line).is_some_and(|last| Self([major, minor, 0, 0]) <= last)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch, last]) = self;
        write!(f, "{major}.{minor}")?;
        if *patch > 0 || *last > 0 { write!(f, ".{patch}") } else { Ok(()) }?;
        if *last > 0 { write!(f, ".{last}") } else { Ok(()) }
    }
}

/// The row that a release belongs to; `None` before 0.7.0, or when the text is no release.
pub fn client_of(release: &str) -> Option<&'static Client> {
    let asked = Release::parse(release)?;
    CLIENTS.iter().rev().find(|row| asked.is_from(row.since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Api;

    #[test]
    fn releases_find_their_era() {
        let since = |release| client_of(release).map(|row| row.since);
        assert_eq!(since("0.8.1.1"), Some("0.8.0"));
        assert_eq!(since("0.9.0.1"), Some("0.9.0"));
        assert_eq!(since("0.10.2.2"), Some("0.10.0"));
        assert_eq!(since("4.3.1"), Some("2.3"));
        assert_eq!([since("0.6"), since("new"), since("1.2.3.4.5")], [None; 3]);
    }

    #[test]
    fn releases_are_compared_by_their_numbers() {
        let release = |text| Release::parse(text).unwrap();
        assert!(release("3.10").is_from("3.9.2") && !release("3.9.1").is_from("4.0"));
        assert!(release("3.9.1").is_up_to("3.9") && !release("4.0").is_up_to("3.9"));
        assert_eq!(["0.9.0.1", "2.1", "4.0.2"].map(|text| release(text).to_string()), ["0.9.0.1", "2.1", "4.0.2"]);
    }

    #[test]
    fn what_a_release_writes_is_what_its_versions_carry() {
        for row in CLIENTS {
            let Some(produce) = row.produce.and_then(|version| Api::Produce.row(version)) else { continue };
            assert_eq!(produce.format, row.writes, "{}", row.since);
            assert_eq!(produce.has_zstd, row.compressions.contains(&"zstd"), "{}", row.since);
        }
        for row in CLIENTS {
            let Some(fetch) = row.fetch.and_then(|version| Api::Fetch.row(version)) else { continue };
            assert_eq!(Some(&fetch.format), row.reads.last(), "{}", row.since);
            assert_eq!(fetch.has_zstd, row.compressions.contains(&"zstd"), "{}", row.since);
        }
    }
}
