//! Deviations that a lenient reader ignores and a validator reports.

use std::fmt;

use super::FoundChecksum;
use crate::error::plural;

/// A deviation in a compressed stream that can be decompressed nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecFinding {
    /// Bytes after the end of the stream, which Java ignores (FND-8).
    TrailingBytes {
        /// How many.
        bytes: u64,
    },
    /// The LZ4 frame declares another content size, which Java does not verify (FND-9).
    ContentSize {
        /// Bytes, as declared.
        declared: u64,
        /// Bytes, as decompressed.
        found: u64,
    },
    /// The header checksum of the LZ4 frame is not the one that readers of its time take (COD-L8).
    HeaderChecksum {
        /// What was found instead.
        found: FoundChecksum,
    },
    /// The blocks of the LZ4 frame depend on each other, which brokers refuse (COD-L12).
    DependentBlocks,
    /// A block of the LZ4 frame decompresses to nothing, which ends the stream for Java (COD-L17).
    EmptyBlock {
        /// Bytes after the block.
        bytes: u64,
    },
    /// The last frame of a zstd stream is cut short, which Java ignores (FND-8).
    CutFrame {
        /// Bytes of the frame that are there.
        bytes: u64,
    },
    /// A set of Kafka 0.7 in a set ends inside of a message, or the outer one does (FND-10).
    CutSet {
        /// Bytes of that message.
        bytes: u64,
    },
    /// A message of Kafka 0.7 has codec 3, which was read as LZ4 (L7-5).
    Lz4In07,
    /// The checksum of the LZ4 frame's content is wrong, which Java does not verify (FND-9).
    ContentChecksum {
        /// As stored in the frame.
        stored: u32,
        /// Of the decompressed bytes.
        computed: u32,
    },
}

impl CodecFinding {
    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::TrailingBytes { .. } | Self::CutFrame { .. } => "FND-8",
            Self::HeaderChecksum { .. } => "COD-L8",
            Self::DependentBlocks => "COD-L12",
            Self::EmptyBlock { .. } => "COD-L17",
            Self::CutSet { .. } => "FND-10",
            Self::Lz4In07 => "L7-5",
            Self::ContentSize { .. } | Self::ContentChecksum { .. } => "FND-9",
        }
    }
}

impl fmt::Display for CodecFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrailingBytes { bytes } => write!(f, "{} left over after the compressed stream", plural(*bytes, "byte")),
            Self::HeaderChecksum { found: FoundChecksum::Correct } => {
                write!(f, "LZ4 header checksum is the correct one, which Kafka 0.8.2 and 0.9 reject in magic 0")
            }
            Self::HeaderChecksum { found: FoundChecksum::Broken } => {
                write!(f, "LZ4 header checksum is the broken one of Kafka 0.8.2 and 0.9, which brokers reject after magic 0")
            }
            Self::HeaderChecksum { found: FoundChecksum::Neither } => {
                write!(f, "LZ4 header checksum is neither the correct one nor the broken one of Kafka 0.8.2 and 0.9")
            }
            Self::DependentBlocks => write!(f, "LZ4 blocks depend on each other, which brokers reject"),
            Self::EmptyBlock { bytes } => {
                write!(f, "an LZ4 block decompresses to nothing, where Kafka ends the stream: {} after it not read", plural(*bytes, "byte"))
            }
            Self::CutFrame { bytes } => write!(f, "the zstd stream ends inside a frame, after {} of it", plural(*bytes, "byte")),
            Self::CutSet { bytes } => write!(f, "the messages of a set end inside of one, after {} of it", plural(*bytes, "byte")),
            Self::Lz4In07 => write!(f, "codec 3 is read as LZ4; no release of Kafka 0.7 wrote it"),
            Self::ContentSize { declared, found } => write!(f, "LZ4 content size is {}, found {found}", plural(*declared, "byte")),
            Self::ContentChecksum { stored, computed } => {
                write!(f, "LZ4 content checksum mismatch: stored {stored:#010x}, computed {computed:#010x}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_their_rule_and_their_numbers() {
        let text = |finding: CodecFinding| format!("{} {finding}", finding.rule());
        assert_eq!(text(CodecFinding::TrailingBytes { bytes: 1 }), "FND-8 1 byte left over after the compressed stream");
        assert_eq!(text(CodecFinding::ContentSize { declared: 2, found: 1 }), "FND-9 LZ4 content size is 2 bytes, found 1");
        assert_eq!(
            text(CodecFinding::ContentChecksum { stored: 1, computed: 0xff }),
            "FND-9 LZ4 content checksum mismatch: stored 0x00000001, computed 0x000000ff"
        );
    }
}
