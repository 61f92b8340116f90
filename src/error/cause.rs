//! Who or what is to blame for an error.

use std::ops::Range;

use super::{Error, ErrorKind};
use crate::quirks::Quirks;

impl Error {
    /// True for a whole batch of a format that is not read without asking for it: nothing is damaged.
    pub fn is_refused_format(&self) -> bool {
        matches!(self.0.kind, ErrorKind::UnsupportedFormat { .. }) && self.0.position.base_offset.is_some()
    }

    /// True for a batch without known damage that cannot be read here: its plugin or its zstd dictionary is missing, it is over a limit, or it
    /// has a quirk or a format that is not read without asking for it. Invalid bytes have no base offset.
    pub fn is_unreadable(&self) -> bool {
        self.0.position.base_offset.is_some() && self.0.kind.is_of_reader()
    }

    /// True when the bytes are to blame, not the machine, the caller or this library.
    pub fn is_about_data(&self) -> bool {
        !matches!(
            self.kind(),
            ErrorKind::Internal { .. }
                | ErrorKind::Interrupted
                | ErrorKind::Io { .. }
                | ErrorKind::Files { .. }
                | ErrorKind::Replicas { .. }
                | ErrorKind::Compression { .. }
                | ErrorKind::Registry { .. }
                | ErrorKind::Refused { .. }
                | ErrorKind::UnknownCompressionName { .. }
                | ErrorKind::Usage { .. }
        )
    }

    /// True if there is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(self.kind(), ErrorKind::Io { kind: std::io::ErrorKind::NotFound, .. })
    }

    /// True if the caller does not want the work any more.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind(), ErrorKind::Interrupted)
    }

    /// True when decompressed records do not have their format.
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

    /// The deviations that a reader must accept to read the batch, if that is all that it lacks.
    pub fn quirks(&self) -> Quirks {
        if let ErrorKind::Codec { quirks, .. } = self.kind() { *quirks } else { Quirks::default() }
    }

    /// True when a compressed stream is to blame.
    pub fn is_about_codec(&self) -> bool {
        matches!(self.kind(), ErrorKind::Codec { .. })
    }
}

impl ErrorKind {
    /// True where another reader, with more codecs, higher limits or other options, could read a valid batch.
    pub fn is_of_reader(&self) -> bool {
        match self {
            Self::UnknownPlugin { .. } | Self::PluginMissing { .. } | Self::Limit { .. } | Self::UnsupportedFormat { .. } => true,
            Self::Codec { rule, quirks, .. } => *rule == "COD-Z5" || !quirks.is_empty(),
            _ => false,
        }
    }
}
