//! Texts of errors: the file if known, the rule in brackets, the place, then the problem with its values.

use std::fmt;

use super::{Error, ErrorKind, ErrorParts, plural};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorParts { kind, position, file, .. } = &*self.0;
        if let Some(file) = file {
            write!(f, "{file}: ")?;
        }
        write!(f, "[{}]", kind.rule())?;
        if !position.is_unknown() {
            write!(f, " {position}:")?;
        }
        write!(f, " {kind}")
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, available, .. } => {
                write!(f, "the entry is cut short: {} needed, {available} available", plural(*needed, "byte"))
            }
            Self::Unfinished { needed, available, next, missing } => {
                match needed {
                    0 => write!(f, "the segment ends in {} instead of its last batches", plural(*available, "zero byte"))?,
                    _ => write!(f, "the segment ends inside a batch: {} needed, {available} available", plural(*needed, "byte"))?,
                }
                match missing {
                    Some((first, last)) if first == last => write!(f, "; offset {first} is missing before the next segment"),
                    Some((first, last)) => write!(f, "; offsets {first} to {last} are missing before the next segment"),
                    None => write!(f, "; the next segment starts at offset {next}"),
                }
            }
            Self::Checksum { stored, computed, .. } => {
                write!(f, "checksum mismatch: stored {stored:#010x}, computed {computed:#010x}")
            }
            Self::Length { declared, expected, .. } if declared < expected => {
                write!(f, "length {declared} is below {expected}")
            }
            Self::Length { declared, expected, .. } => write!(f, "length {declared} runs past the {} at hand", plural(*expected, "byte")),
            Self::Varint { .. } => write!(f, "variable-length integer is too long"),
            Self::Count { declared, found, .. } => write!(f, "count is {declared}, found {found}"),
            Self::TrailingBytes { bytes, .. } => write!(f, "{} left over after the last record", plural(*bytes, "byte")),
            Self::Magic { magic, .. } => write!(f, "magic {magic} is not a known record format"),
            Self::Invalid { what, .. } => write!(f, "{what}"),
            Self::UnsupportedFormat { magic, advice, .. } => write!(f, "record format of magic {magic} is not read here: {advice}"),
            Self::UnknownCompression { id, .. } => write!(f, "unknown compression type id: {id}"),
            Self::UnknownPlugin { id, wanted: None } => {
                write!(f, "Unknown compression name: plugin:{id} (no plugin with the id {id} is registered)")
            }
            Self::UnknownPlugin { id, wanted: Some(option) } => {
                write!(f, "Unknown compression name: plugin:{id} (give {option}, a registry that knows the plugin with the id {id})")
            }
            Self::PluginMissing { id, alias, class, version, reason } => {
                write!(f, "plugin registered but not available: {alias:?} (id {id}, class {class}, version {version}): {reason}")
            }
            Self::Plugin { plugin, problem } => write!(f, "{plugin}: {problem}"),
            Self::Compression { plugin, problem } => write!(f, "{plugin} failed to compress the batch: {problem}"),
            Self::Registry { problem } => write!(f, "the plugin registry failed: {problem}"),
            Self::UnknownCompressionName { name } => {
                write!(f, "Unknown compression name: {name} (use none, gzip, snappy, lz4, zstd, or the alias of a plugin)")
            }
            Self::Refused { reason, .. } => write!(f, "{reason}"),
            Self::Unwritable { reason, .. } => write!(f, "the record cannot exist in the target format: {reason}"),
            Self::Unconvertible { codec, .. } => {
                write!(f, "down-conversion of {codec} is not supported; use another codec, or upgrade the reader")
            }
            Self::Loss { work, losses, .. } => write!(f, "the {work} would lose {losses}"),
            Self::Rejected { code, name, reason, .. } => write!(f, "{reason} (Kafka error {code}, {name})"),
            Self::Codec { codec, problem, quirks, .. } if quirks.is_empty() => write!(f, "{codec} stream is bad: {problem}"),
            Self::Codec { codec, problem, quirks, .. } => {
                let quirk = if quirks.iter().count() > 1 { "quirks" } else { "quirk" };
                write!(f, "{codec} stream is bad: {problem}; readable with the {quirk} {quirks}")
            }
            Self::Limit { limit: limit @ "max_ratio", asked, allowed } => {
                write!(f, "a decompressed size of {} is over the limit {limit} = {allowed}", plural(*asked, "byte"))
            }
            Self::Limit { limit, asked, allowed } => write!(f, "{asked} is over the limit {limit} = {allowed}"),
            Self::Unsearched => write!(f, "too many overlapping batch headers: this one was not searched"),
            Self::LostBytes { message, .. } => write!(f, "{message}"),
            Self::NotASegment { looks_like, advice } => write!(f, "not a log segment: looks like {looks_like}; {advice}"),
            Self::OutsideSegment { first, last, start, end } => {
                write!(f, "offsets {first} to {last} are outside the segment, which by its name ")?;
                match end {
                    Some(end) => write!(f, "holds offsets {start} to {}", end.saturating_sub(1))?,
                    None => write!(f, "starts at offset {start}")?,
                }
                write!(f, "; was the file renamed, or is it of another partition?")
            }
            Self::Undecided { producer_id, after, .. } => write!(
                f,
                "undecided transaction of producer {producer_id}: its marker may be in the damaged or missing bytes after offset {after}"
            ),
            Self::OutsideUpload { first, last, start, end } => {
                write!(f, "offsets {first} to {last} are outside the upload, ")?;
                match end {
                    Some(end) => write!(f, "which has offsets {start} to {end}"),
                    None => write!(f, "which starts at offset {start}"),
                }
            }
            Self::OutOfOrder { previous_last, .. } => write!(f, "the previous batch ends at offset {previous_last}"),
            Self::Value { offset: Some(offset), problem, .. } => write!(f, "record with offset {offset}: {problem}"),
            Self::Value { offset: None, problem, .. } => f.write_str(problem),
            Self::Io { message, .. } => write!(f, "reading the source failed: {message}"),
            Self::Files { problem, .. } | Self::Replicas { problem, .. } => f.write_str(problem),
            Self::Interrupted => write!(f, "interrupted"),
            Self::Usage { argument, problem } => write!(f, "{argument}: {problem}"),
            Self::Internal { what } => write!(f, "internal error, please report it: {what}"),
        }
    }
}
