//! The kinds of errors, ordered by who is to blame: the stream that ended, the bytes that lie, this build that cannot, the limits, the caller.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::quirks::Quirks;

/// What is wrong. `rule` is the id of the rule in docs/reference/formats and docs/reference/findings.md.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum ErrorKind {
    /// The input ended inside an entry; more bytes may come.
    Truncated { rule: &'static str, needed: u64, available: u64 },
    /// A segment that another segment follows ends inside an entry, or in zeros (`needed` is 0). `missing` are the offsets up to the next
    /// segment, if they are known.
    Unfinished { needed: u64, available: u64, next: i64, missing: Option<(i64, i64)> },
    /// The stored checksum is not that of the bytes.
    Checksum { rule: &'static str, stored: u32, computed: u32 },
    /// A length is below its minimum or runs past what contains it.
    Length { rule: &'static str, declared: i64, expected: i64 },
    /// A variable-length integer does not end where it must.
    Varint { rule: &'static str },
    /// A count disagrees with what is there.
    Count { rule: &'static str, declared: i64, found: i64 },
    /// Bytes are left over where nothing may follow.
    TrailingBytes { rule: &'static str, bytes: u64 },
    /// The magic byte belongs to no format.
    Magic { rule: &'static str, magic: i8 },
    /// The bytes can be read but break a rule of their format.
    Invalid { rule: &'static str, what: &'static str },
    /// The format is known, but not read by this build or not without asking for it.
    UnsupportedFormat { rule: &'static str, magic: i8, advice: &'static str },
    /// The compression type is not known here.
    UnknownCompression { rule: &'static str, id: u8 },
    /// A batch names a plugin that nobody registered; without a registry `wanted` is what names one to whoever called.
    UnknownPlugin { id: u8, wanted: Option<Arc<str>> },
    /// A plugin that is registered, but whose code is not there.
    PluginMissing { id: u8, alias: String, class: String, version: String, reason: String },
    /// A plugin failed to decompress, or returned other data than it should.
    Plugin { plugin: String, problem: String },
    /// A plugin failed to compress; the records are not the cause.
    Compression { plugin: String, problem: String },
    /// The registry of plugins cannot be read, or what is there cannot be trusted.
    Registry { problem: String },
    /// No compression type has this name.
    UnknownCompressionName { name: String },
    /// The compressed stream is bad.
    /// `quirks` are what a reader must accept to read it, if it can be read.
    Codec { rule: &'static str, codec: &'static str, problem: Cow<'static, str>, quirks: Quirks },
    /// What Kafka's own writers refuse to write, in their words.
    Refused { rule: &'static str, reason: String },
    /// Records that cannot exist in the format that they are converted to, in the words of Kafka's writers.
    Unwritable { rule: &'static str, reason: String },
    /// A batch that is not converted to an older format, since its codec does not exist there.
    Unconvertible { rule: &'static str, codec: &'static str },
    /// Work that would lose something, and may not.
    Loss { rule: &'static str, work: &'static str, losses: String },
    /// What a broker refuses, with its error code and the records that are to blame.
    Rejected { rule: &'static str, code: i16, name: &'static str, reason: String, records: Vec<u64> },
    /// A claim over a limit: of the caller, whose names are those of `Limits`, or of a format or an array. `allowed` is the limit, and
    /// `asked` what the entry needs, as far as that is known: for `max_ratio` its decompressed bytes.
    Limit { limit: &'static str, asked: u64, allowed: u64 },
    /// The bytes before this entry claim to be entries so often that it was not looked into; only when damage is stepped over.
    Unsearched,
    /// The storage cannot give these bytes back, since what holds them is damaged; it says so in its own words.
    LostBytes { bytes: Range<u64>, message: String },
    /// A batch holds offsets that its segment cannot have, by its name and that of the next segment.
    OutsideSegment { first: i64, last: i64, start: i64, end: Option<i64> },
    /// A file that is not a log segment, by its name and first bytes.
    NotASegment { looks_like: &'static str, advice: &'static str },
    /// A batch of an undecided transaction, because its marker may be lost; with its last offset.
    Undecided { producer_id: i64, last_offset: i64, after: i64 },
    /// A batch of tiered storage has offsets outside of those of its upload, by the manifest or by the name of the object.
    OutsideUpload { first: i64, last: i64, start: i64, end: Option<i64> },
    /// A batch of tiered storage starts at or before the last offset of the batch before it.
    OutOfOrder { last: i64, previous_last: i64 },
    /// A key or a value that its schema does not fit, in the record with this offset, if it is of a record.
    Value { rule: &'static str, offset: Option<i64>, problem: String },
    /// Reading the source failed.
    Io { kind: std::io::ErrorKind, os_code: Option<i32>, message: String },
    /// No file where files are looked for, or two that exclude each other; `os_code` is the number of the operating system for such an error.
    Files { os_code: i32, problem: String },
    /// A partition in several directories, none of which is chosen. `is_asked` if an option chose, and its value fits no directory.
    Replicas { problem: String, is_asked: bool },
    /// The work was interrupted by the caller (Ctrl-C).
    Interrupted,
    /// The caller's mistake.
    Usage { argument: &'static str, problem: String },
    /// A defect of this library, caught before it could spread.
    Internal { what: String },
}
