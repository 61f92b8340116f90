//! The header checksum of an LZ4 frame, and which of its values a reader accepts (COD-L6 to COD-L8).

use xxhash_rust::xxh32::xxh32;

use crate::quirks::{Quirk, Quirks};

/// Which LZ4 header checksum to accept.
///
/// Kafka 0.8.2 and 0.9 hashed the frame's magic too, and so does magic 0 forever; readers since 0.10 ignore it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderChecksum {
    /// That of the LZ4 frame format: magic 1 and later.
    Correct,
    /// Any value: magic 0.
    Any,
    /// Any value, although it should be the correct one.
    Ignored,
}

impl HeaderChecksum {
    /// What to accept instead, where a reader accepts these deviations.
    #[must_use]
    pub fn with(self, quirks: Quirks) -> Self {
        match self {
            Self::Correct if quirks.has(Quirk::Lz4HeaderChecksum) => Self::Ignored,
            other => other,
        }
    }
}

/// The form of a header checksum to write (COD-L7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumForm {
    /// Of FLG, BD and content size, as the LZ4 frame format says: magic 1 and later.
    Correct,
    /// Of the frame's magic as well: magic 0, since Kafka 0.8.2 and 0.9 take no other.
    Broken,
}

/// The form of a header checksum that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundChecksum {
    /// That of the LZ4 frame format.
    Correct,
    /// That of Kafka 0.8.2 and 0.9.
    Broken,
    /// Another value.
    Neither,
}

impl ChecksumForm {
    /// Returns the checksum of a descriptor (FLG, BD, content size) after the frame's magic.
    pub fn of(self, magic_and_descriptor: &[u8]) -> u8 {
        match self {
            Self::Correct => correct(magic_and_descriptor.get(4..).unwrap_or_default()),
            Self::Broken => correct(magic_and_descriptor),
        }
    }
}

impl FoundChecksum {
    /// `"correct"`, `"broken"` or `"neither"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Broken => "broken",
            Self::Neither => "neither",
        }
    }
}

/// Returns the second byte of the descriptor's hash.
fn correct(descriptor: &[u8]) -> u8 {
    let [_, second, _, _] = xxh32(descriptor, 0).to_le_bytes();
    second
}
