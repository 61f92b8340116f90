//! The header checksum of an LZ4 frame, and which of its values a reader accepts (COD-L6 to COD-L8).

use xxhash_rust::xxh32::xxh32;

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
    /// True when a frame of this descriptor (FLG, BD, content size) may carry `stored`.
    pub(super) fn accepts(self, descriptor: &[u8], stored: u8) -> bool {
        match self {
            Self::Any | Self::Ignored => true,
            Self::Correct => correct(descriptor) == stored,
        }
    }

    /// Returns the form of the stored checksum, if readers of the format's own time would refuse it.
    pub(super) fn odd(self, magic_and_descriptor: &[u8], stored: u8) -> Option<FoundChecksum> {
        let found = if ChecksumForm::Correct.of(magic_and_descriptor) == stored {
            FoundChecksum::Correct
        } else if ChecksumForm::Broken.of(magic_and_descriptor) == stored {
            FoundChecksum::Broken
        } else {
            FoundChecksum::Neither
        };
        let expected = if self == Self::Any { FoundChecksum::Broken } else { FoundChecksum::Correct };
        (found != expected).then_some(found)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cod_l8_magic_0_takes_the_broken_one_and_any_other() {
        assert!(HeaderChecksum::Correct.accepts(b"\x60\x40", 0x82));
        assert!(!HeaderChecksum::Correct.accepts(b"\x60\x40", 0x1a));
        assert!(HeaderChecksum::Any.accepts(b"\x60\x40", 0x1a));
        assert!(HeaderChecksum::Any.accepts(b"\x60\x40", 0xff));
    }
}
