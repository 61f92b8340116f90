//! What programs know a kind by: its rule, a stable name, and the error code of Kafka's protocol.

use super::ErrorKind;

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
            | Self::Loss { rule, .. }
            | Self::Rejected { rule, .. }
            | Self::Value { rule, .. } => rule,
            Self::UnknownPlugin { .. } => "S-P19",
            Self::PluginMissing { .. } => "S-P20",
            Self::Plugin { .. } | Self::Compression { .. } => "S-P6",
            Self::UnknownCompressionName { .. } => "COD-1",
            Self::Limit { .. } => "COD-6",
            Self::Unsearched => "UNSEARCHED",
            Self::LostBytes { .. } => "TS-45",
            Self::OutsideSegment { .. } => "SEG-1",
            Self::Unfinished { .. } => "SEG-23",
            Self::NotASegment { .. } => "SEG-16",
            Self::Undecided { .. } => "TRX-5",
            Self::OutsideUpload { .. } => "TS-23",
            Self::OutOfOrder { .. } => "ORD-1",
            Self::Io { .. } | Self::Registry { .. } | Self::Files { .. } => "IO",
            Self::Replicas { .. } => "SEG-18",
            Self::Interrupted => "INTERRUPTED",
            Self::Usage { .. } => "USAGE",
            Self::Internal { .. } => "INTERNAL",
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Unfinished { .. } => "unfinished",
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
            Self::Compression { .. } => "compression",
            Self::Registry { .. } => "registry",
            Self::Refused { .. } => "refused",
            Self::Unwritable { .. } => "unwritable",
            Self::Unconvertible { .. } => "unconvertible",
            Self::Loss { .. } => "loss",
            Self::Rejected { .. } => "rejected",
            Self::Limit { .. } => "limit",
            Self::Unsearched => "unsearched",
            Self::LostBytes { .. } => "lost_bytes",
            Self::OutsideSegment { .. } => "outside_segment",
            Self::NotASegment { .. } => "not_a_segment",
            Self::Undecided { .. } => "undecided",
            Self::OutsideUpload { .. } | Self::OutOfOrder { .. } => "offsets",
            Self::Value { .. } => "value",
            Self::Io { .. } | Self::Files { .. } => "io",
            Self::Replicas { .. } => "replicas",
            Self::Interrupted => "interrupted",
            Self::Usage { .. } => "usage",
            Self::Internal { .. } => "internal",
        }
    }

    /// The name of the class of errors that users catch, in every language.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Truncated { .. } | Self::Unfinished { .. } => "TruncatedError",
            Self::Checksum { .. } => "ChecksumError",
            Self::Length { .. }
            | Self::Varint { .. }
            | Self::Count { .. }
            | Self::TrailingBytes { .. }
            | Self::Magic { .. }
            | Self::Unsearched
            | Self::LostBytes { .. }
            | Self::OutsideSegment { .. }
            | Self::Undecided { .. }
            | Self::OutsideUpload { .. }
            | Self::OutOfOrder { .. }
            | Self::Rejected { code: 2, .. }
            | Self::Value { rule: "SCH-3", .. } => "CorruptError",
            Self::UnknownCompression { .. }
            | Self::UnknownCompressionName { .. }
            | Self::UnknownPlugin { .. }
            | Self::Rejected { rule: "S-P18", .. } => "UnknownCompressionError",
            Self::UnsupportedFormat { .. }
            | Self::PluginMissing { .. }
            | Self::Unconvertible { .. }
            | Self::Rejected { code: 35 | 43 | 76, .. }
            | Self::Value { rule: "SCH-4" | "SCH-6", .. } => "UnsupportedError",
            Self::Codec { .. } | Self::Plugin { .. } | Self::Compression { .. } => "CodecError",
            Self::Limit { .. } | Self::Rejected { code: 10 | 18, .. } | Self::Value { rule: "SCH-5", .. } => "LimitError",
            Self::Invalid { .. } | Self::NotASegment { .. } | Self::Unwritable { .. } | Self::Rejected { .. } | Self::Value { .. } => {
                "InvalidError"
            }
            Self::Loss { .. } => "LossError",
            Self::Registry { .. } => "RegistryError",
            Self::Io { .. } | Self::Files { .. } => "OSError",
            Self::Replicas { .. } => "ReplicaError",
            Self::Interrupted => "KeyboardInterrupt",
            Self::Refused { .. } | Self::Usage { .. } => "ValueError",
            Self::Internal { .. } => "InternalError",
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
            | Self::Compression { .. } => Some(UNKNOWN_SERVER_ERROR),
            Self::Unconvertible { .. } | Self::PluginMissing { .. } => Some(76),
            Self::Unwritable { .. } => Some(INVALID_RECORD),
            Self::Rejected { code, .. } => Some(*code),
            Self::Limit { limit: "max_batch_bytes", .. } => Some(MESSAGE_TOO_LARGE),
            _ => None,
        }
    }
}
