//! How a finding reads: what was expected, and what was found.

use std::fmt;

use super::{FindingKind, Misplaced, MissingCause};
use crate::error::plural;

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(kind) => write!(f, "{kind}"),
            Self::Codec(finding) => write!(f, "{finding}"),
            Self::Sidecar(finding) => write!(f, "{}", finding.problem),
            Self::Proposed { format } => {
                write!(f, "format {} is a proposal that was never released; no broker reads it", format.name())
            }
            Self::DefaultTarget { from, to } => {
                let (from, to) = (from.name(), to.name());
                write!(f, "batches of format {from} are written as {to}, the default; pass to=\"{from}\" (--to {from}) to keep the format")
            }
            Self::TornTail { needed, available } => {
                write!(f, "the input ends inside an entry: {available} of at least {needed} bytes")
            }
            Self::Swallowed { at } => {
                write!(f, "the length of the last entry runs past the input, and a valid entry starts inside it at byte {at}")
            }
            Self::Unsearched => write!(f, "too many overlapping batch headers: not all were searched"),
            Self::ZeroTail { bytes } => write!(f, "the input ends in {}, as a preallocated segment does", plural(*bytes, "zero byte")),
            Self::UncountedBytes { bytes } => {
                write!(f, "the batch has a count of 0 records, and {} after its header", plural(*bytes, "byte"))
            }
            Self::OffsetOutside { delta, last_delta } => write!(f, "offset delta {delta} is outside 0 to {last_delta}"),
            Self::OffsetNotIncreasing { delta, previous } => write!(f, "offset or offset delta {delta} follows {previous}"),
            Self::OffsetRange { base_offset, last_offset_delta } => {
                write!(f, "base offset {base_offset} and last offset delta {last_offset_delta} are not a range of offsets")
            }
            Self::LooseNull { length } => write!(f, "length {length} is used for null, expected -1"),
            Self::LongVarint { bytes } => write!(f, "integers of the record take {} more than they need", plural(*bytes, "byte")),
            Self::UnusedBits { bits } => write!(f, "unused attribute bits are set: {bits:#06x}"),
            Self::HeaderKeyNotUtf8 => write!(f, "header key is not UTF-8"),
            Self::CutInnerSet { bytes } => write!(f, "the inner messages end inside a message, after {} of it", plural(*bytes, "byte")),
            Self::InnerMagic { inner, outer } => write!(f, "inner message of magic {inner} in a wrapper of magic {outer}"),
            Self::BytesAfterValue { bytes } => write!(f, "the message has {} after its value", plural(*bytes, "byte")),
            Self::WrapperKey => write!(f, "a compressed message has a key, which readers ignore"),
            Self::WrapperOffset { stored, last } => {
                write!(f, "the offset of the compressed message is {stored}, the offset of its last inner message {last}")
            }
            Self::NegativeTimestamp { timestamp } => write!(f, "timestamp {timestamp} is below -1"),
            Self::OtherUnit { timestamp, unit } => {
                write!(f, "timestamp {timestamp} is far from the present in milliseconds; it looks like {unit}")
            }
            Self::MaxTimestamp { stored, found } => write!(f, "max timestamp is {stored}, the largest of the records is {found}"),
            Self::OffsetOverlap { previous_last } => write!(f, "the previous batch ends at offset {previous_last}"),
            Self::OffsetGap { first, last, why } => gap(f, *first, *last, *why),
            Self::FarOffset { last, base_offset } => write!(
                f,
                "offset {last} is more than {} above the base offset {base_offset} of the segment, so that the log cleaner of a broker stops; \
                 `logsegment split --bytes {}` cuts the segment as a broker does when it loads the log",
                i32::MAX,
                i32::MAX,
            ),
            Self::LowerEpoch { epoch, previous } => write!(f, "leader epoch {epoch} follows {previous}"),
            Self::AcrossBatches { producer_id, problem } => problem.write(*producer_id, f),
            Self::Producer { what } => write!(f, "{what}"),
            Self::ManyMarkers { count } => write!(f, "the control batch holds {count} transaction markers"),
            Self::MarkerValue => write!(f, "the value of the transaction marker is not a version and a coordinator epoch"),
            Self::Misplaced(misplaced) => write!(f, "{misplaced}"),
            Self::Undecoded(undecoded) => write!(f, "{undecoded}"),
            Self::Files { text, .. } => f.write_str(text),
            Self::More { times, .. } => write!(f, "{} of this rule, only counted", plural(*times, "more finding")),
            Self::Repeated { times, .. } => write!(f, "the same for {} of the batch", plural(*times, "more record")),
        }
    }
}

fn gap(f: &mut fmt::Formatter<'_>, first: i64, last: i64, why: MissingCause) -> fmt::Result {
    if first == last {
        write!(f, "offset {first} is missing before the batch{why}")
    } else {
        write!(f, "offsets {first} to {last} are missing before the batch{why}")
    }
}

impl fmt::Display for MissingCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AfterDamage => ": they are lost with the skipped bytes",
            Self::Compacted => ", as compaction leaves it",
            Self::Unexplained => "",
        })
    }
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "the entry is already in the log; the copy is not written",
            Self::UnfitOffsets => "the entry is valid, but its offsets do not fit into the log; it is not written",
        })
    }
}
