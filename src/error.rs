//! What can be wrong with the bytes: a kind with its numbers, and where.
//!
//! Errors are data; text is made only when somebody prints them. The kinds are ordered by who is to blame:
//! the stream that ended, the bytes that lie, this build that cannot, the limits, the caller.

mod counted;
mod foreign;
mod text;

use std::ops::Range;
use std::sync::Arc;

pub use counted::{Counted, counted};
pub use foreign::foreign;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error kind with the place where it was met.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    kind: ErrorKind,
    position: Position,
    /// The file, as people may see its name, where whoever read it knew one.
    file: Option<Arc<str>>,
    /// Kafka's code, where it depends on where the error was met.
    answer: Option<i16>,
}

/// Where an error or a finding lies. Every part is filled in by the layer that knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Position of the entry (or of the fault, when framing failed) in the input, in bytes.
    pub byte: Option<u64>,
    /// Row of the column that the bytes come from, when they come from a column.
    pub row: Option<u64>,
    /// Base offset of the batch.
    pub base_offset: Option<i64>,
    /// Index of the record in its batch, from 0.
    pub record_index: Option<u64>,
    /// Field of the wire format, in Kafka's spelling.
    pub field: Option<&'static str>,
}

/// What is wrong. `rule` is the id of the rule in docs/formats and docs/findings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum ErrorKind {
    /// The input ended inside an entry; more bytes may come.
    Truncated { rule: &'static str, needed: u64, available: u64 },
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
    /// A plugin failed to unpack, or gave something else than it should.
    Plugin { plugin: String, fault: String },
    /// A plugin failed to pack: the records that it was given are not to blame.
    Packing { plugin: String, fault: String },
    /// The registry of plugins cannot be read, or what stands there cannot be trusted.
    Registry { fault: String },
    /// No compression type has this name.
    UnknownCompressionName { name: String },
    /// The compressed stream is bad.
    Codec { rule: &'static str, codec: &'static str, fault: &'static str },
    /// What Kafka's own writers refuse to write, in their words.
    Refused { rule: &'static str, reason: String },
    /// Records that cannot stand in the format that they are converted to, in the words of Kafka's writers.
    Unwritable { rule: &'static str, reason: String },
    /// A batch that is not converted to an older format, since its codec does not exist there.
    Unconvertible { rule: &'static str, codec: &'static str },
    /// A conversion that would lose something, and may not.
    Loss { losses: String },
    /// What a broker refuses, with its error code and the records that are to blame.
    Rejected { rule: &'static str, code: i16, name: &'static str, reason: String, records: Vec<u64> },
    /// A claim over a limit of the caller.
    Limit { limit: &'static str, asked: u64, allowed: u64 },
    /// The bytes before this entry claim to be entries so often that it was not looked into; only when damage is stepped over.
    Unsearched,
    /// The storage cannot give these bytes back, since what holds them is damaged; it says so in its own words.
    LostBytes { bytes: Range<u64>, message: String },
    /// A batch of a transaction whose marker may be lost, so that nobody can tell whether it was committed; and its last offset.
    InDoubt { producer_id: i64, last_offset: i64, behind: i64 },
    /// Reading the source failed.
    Io { kind: std::io::ErrorKind, os_code: Option<i32>, message: String },
    /// The work was interrupted by the caller (Ctrl-C).
    Interrupted,
    /// The caller's mistake.
    Usage { argument: &'static str, fault: String },
    /// A defect of this library, caught before it could spread.
    Internal { what: String },
}

impl Error {
    /// An error of this kind, nowhere yet.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, position: Position::default(), file: None, answer: None }))
    }

    /// Adds the position of the entry, unless a lower layer said it already.
    #[must_use]
    pub fn at_byte(mut self, byte: u64) -> Self {
        self.0.position.byte.get_or_insert(byte);
        self
    }

    /// The same error in bytes of which the first stands at `start` of the input.
    #[must_use]
    pub fn from_position(mut self, start: u64) -> Self {
        self.0.position.byte = Some(self.0.position.byte.unwrap_or(0).saturating_add(start));
        self
    }

    /// Adds the row of the column that the bytes come from.
    #[must_use]
    pub fn in_row(mut self, row: usize) -> Self {
        self.0.position.row.get_or_insert(u64::try_from(row).unwrap_or(u64::MAX));
        self
    }

    /// The same of a record that is being written: whose row is no matter of an error that names a batch, which ended before it.
    #[must_use]
    pub fn in_written_row(self, row: usize) -> Self {
        if self.0.position.base_offset.is_some() { self } else { self.in_row(row) }
    }

    /// Adds the base offset of the batch.
    #[must_use]
    pub fn in_batch(mut self, base_offset: i64) -> Self {
        self.0.position.base_offset.get_or_insert(base_offset);
        self
    }

    /// Adds the index of the record.
    #[must_use]
    pub fn in_record(mut self, index: u64) -> Self {
        self.0.position.record_index.get_or_insert(index);
        self
    }

    /// Adds the name of the field.
    #[must_use]
    pub fn in_field(mut self, field: &'static str) -> Self {
        self.0.position.field.get_or_insert(field);
        self
    }

    /// Adds the name of the file.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<str>) -> Self {
        self.0.file.get_or_insert_with(|| Arc::clone(file));
        self
    }

    /// Another kind of error in the same place.
    #[must_use]
    pub fn become_kind(&self, kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, ..(*self.0).clone() }))
    }

    /// Says with which code Kafka answers here, when it is another than that of the kind.
    #[must_use]
    pub fn answered(mut self, code: i16) -> Self {
        self.0.answer = Some(code);
        self
    }

    /// Kafka's wire error code, where Kafka has one for this case.
    pub fn kafka_error_code(&self) -> Option<i16> {
        self.0.answer.or_else(|| self.kind().kafka_error_code())
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where.
    pub fn position(&self) -> Position {
        self.0.position
    }

    /// True for a whole batch of a format that is not read without asking for it: nothing is damaged.
    pub fn is_refused_format(&self) -> bool {
        matches!(self.0.kind, ErrorKind::UnsupportedFormat { .. }) && self.0.position.base_offset.is_some()
    }

    /// In which file, where whoever read it knew one.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The id of the rule that is broken.
    pub fn rule(&self) -> &'static str {
        self.kind().rule()
    }

    /// True when the bytes are to blame, not the machine, the caller or this library.
    pub fn is_about_data(&self) -> bool {
        !matches!(
            self.kind(),
            ErrorKind::Internal { .. }
                | ErrorKind::Interrupted
                | ErrorKind::Io { .. }
                | ErrorKind::Packing { .. }
                | ErrorKind::Registry { .. }
                | ErrorKind::Refused { .. }
                | ErrorKind::UnknownCompressionName { .. }
                | ErrorKind::Usage { .. }
        )
    }

    /// True when plain records are not what their format wants.
    pub fn is_about_records(&self) -> bool {
        match self.kind() {
            ErrorKind::Count { rule, .. } => *rule != "V2-32",
            ErrorKind::Truncated { .. }
            | ErrorKind::Length { .. }
            | ErrorKind::Varint { .. }
            | ErrorKind::TrailingBytes { .. }
            | ErrorKind::Invalid { .. } => true,
            _ => false,
        }
    }

    /// The bytes that the storage cannot give back, when that is what is wrong.
    pub fn lost_bytes(&self) -> Option<&Range<u64>> {
        if let ErrorKind::LostBytes { bytes, .. } = self.kind() { Some(bytes) } else { None }
    }

    /// True when a compressed stream is to blame.
    pub fn is_about_codec(&self) -> bool {
        matches!(self.kind(), ErrorKind::Codec { .. })
    }

    /// The message without its position.
    pub fn message(&self) -> String {
        self.kind().to_string()
    }
}

impl ErrorKind {
    /// The id of the rule that is broken.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Truncated { rule, .. }
            | Self::Checksum { rule, .. }
            | Self::Length { rule, .. }
            | Self::Varint { rule }
            | Self::Count { rule, .. }
            | Self::TrailingBytes { rule, .. }
            | Self::Magic { rule, .. }
            | Self::Invalid { rule, .. }
            | Self::UnsupportedFormat { rule, .. }
            | Self::UnknownCompression { rule, .. }
            | Self::Codec { rule, .. }
            | Self::Refused { rule, .. }
            | Self::Unwritable { rule, .. }
            | Self::Unconvertible { rule, .. }
            | Self::Rejected { rule, .. } => rule,
            Self::Loss { .. } => "CNV-7",
            Self::UnknownPlugin { .. } => "S-P19",
            Self::PluginMissing { .. } => "S-P20",
            Self::Plugin { .. } | Self::Packing { .. } => "S-P6",
            Self::UnknownCompressionName { .. } => "COD-1",
            Self::Limit { .. } => "COD-6",
            Self::Unsearched => "UNSEARCHED",
            Self::LostBytes { .. } => "TS-45",
            Self::InDoubt { .. } => "TRX-5",
            Self::Io { .. } | Self::Registry { .. } => "IO",
            Self::Interrupted => "INTERRUPTED",
            Self::Usage { .. } => "USAGE",
            Self::Internal { .. } => "INTERNAL",
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Checksum { .. } => "checksum",
            Self::Length { .. } => "length",
            Self::Varint { .. } => "varint",
            Self::Count { .. } => "count",
            Self::TrailingBytes { .. } => "trailing_bytes",
            Self::Magic { .. } => "magic",
            Self::Invalid { .. } => "invalid",
            Self::UnsupportedFormat { .. } => "unsupported_format",
            Self::UnknownCompression { .. } | Self::UnknownCompressionName { .. } | Self::UnknownPlugin { .. } => "unknown_compression",
            Self::PluginMissing { .. } => "plugin_missing",
            Self::Codec { .. } | Self::Plugin { .. } => "codec",
            Self::Packing { .. } => "packing",
            Self::Registry { .. } => "registry",
            Self::Refused { .. } => "refused",
            Self::Unwritable { .. } => "unwritable",
            Self::Unconvertible { .. } => "unconvertible",
            Self::Loss { .. } => "loss",
            Self::Rejected { .. } => "rejected",
            Self::Limit { .. } => "limit",
            Self::Unsearched => "unsearched",
            Self::LostBytes { .. } => "lost_bytes",
            Self::InDoubt { .. } => "in_doubt",
            Self::Io { .. } => "io",
            Self::Interrupted => "interrupted",
            Self::Usage { .. } => "usage",
            Self::Internal { .. } => "internal",
        }
    }

    /// Kafka's wire error code, where Kafka has one for this case (FORMAT section 12).
    pub fn kafka_error_code(&self) -> Option<i16> {
        const CORRUPT_MESSAGE: i16 = 2;
        const INVALID_FETCH_SIZE: i16 = 4;
        const MESSAGE_TOO_LARGE: i16 = 10;
        const INVALID_RECORD: i16 = 87;
        const UNKNOWN_SERVER_ERROR: i16 = -1;
        match self {
            Self::Checksum { .. } | Self::Magic { .. } | Self::UnsupportedFormat { .. } => Some(CORRUPT_MESSAGE),
            Self::Length { rule, .. } if matches!(*rule, "L8-8" | "L8-11" | "L8-18" | "L8-23" | "L7-1" | "V2-30" | "S-V1") => {
                Some(CORRUPT_MESSAGE)
            }
            Self::Length { rule: "L7-11", .. } => Some(INVALID_FETCH_SIZE),
            Self::Length { .. } | Self::Varint { .. } | Self::Count { .. } | Self::TrailingBytes { .. } | Self::Invalid { .. } => {
                Some(INVALID_RECORD)
            }
            Self::UnknownCompression { .. }
            | Self::UnknownPlugin { wanted: Some(_), .. }
            | Self::Codec { .. }
            | Self::Plugin { .. }
            | Self::Packing { .. } => Some(UNKNOWN_SERVER_ERROR),
            Self::Unconvertible { .. } | Self::PluginMissing { .. } => Some(76),
            Self::Unwritable { .. } => Some(INVALID_RECORD),
            Self::Rejected { code, .. } => Some(*code),
            Self::Limit { limit: "max_batch_bytes", .. } => Some(MESSAGE_TOO_LARGE),
            _ => None,
        }
    }
}

impl std::error::Error for Error {}

impl Position {
    /// True when no layer said anything.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(other) => Self::new(ErrorKind::Io { kind: other.kind(), os_code: other.raw_os_error(), message: other.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests;
