//! What a finding says, by rule: its numbers and its words.

mod producer;
mod text;

pub use producer::ProducerProblem;

use crate::codec::CodecFinding;
use crate::error::ErrorKind;
use crate::internal_topics::Undecoded;
use crate::model::RecordFormat;
use crate::sidecar::SidecarFinding;

/// The kinds of findings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum FindingKind {
    /// What `decode` would fail with.
    Failure(ErrorKind),
    /// What the codec skipped.
    Codec(CodecFinding),
    /// A finding about a sidecar file.
    Sidecar(SidecarFinding),
    /// EXPERIMENTAL: batches of a format that never shipped were read because it was named.
    Proposed { format: RecordFormat },
    /// S-C2: batches of a format that never shipped are written in the format that is written when none is named.
    DefaultTarget { from: RecordFormat, to: RecordFormat },
    /// L8-14: the input ends inside an entry.
    TornTail { needed: u64, available: u64 },
    /// SWALLOWED: a valid entry lies inside the bytes that a torn entry claims.
    Swallowed { at: u64 },
    /// UNSEARCHED: not every claim in these bytes to be an entry was looked into.
    Unsearched,
    /// SEG-2: the input ends in zeros.
    ZeroTail { bytes: u64 },
    /// FND-1: the count is 0, but bytes follow the header.
    UncountedBytes { bytes: u64 },
    /// FND-2: an offset delta is outside of the batch.
    OffsetOutside { delta: i64, last_delta: i64 },
    /// FND-2: an offset (a delta in magic 2) is not above the one before.
    OffsetNotIncreasing { delta: i64, previous: i64 },
    /// FND-3: last offset delta below 0, or offsets that pass 2^63.
    OffsetRange { base_offset: i64, last_offset_delta: i64 },
    /// FND-4: a length below -1 stands for null.
    LooseNull { length: i64 },
    /// FND-5: an integer is longer than it needs to be.
    LongVarint { bytes: u64 },
    /// FND-6: bits that no released format uses.
    UnusedBits { bits: i32 },
    /// FND-7: a header key is not UTF-8.
    HeaderKeyNotUtf8,
    /// FND-10: the inner messages of a wrapper end inside of one.
    CutInnerSet { bytes: u64 },
    /// FND-12: the magic of an inner message is not that of its wrapper.
    InnerMagic { inner: i8, outer: i8 },
    /// FND-13: bytes follow the value of a message.
    BytesAfterValue { bytes: u64 },
    /// FND-15: a wrapper has a key.
    WrapperKey,
    /// L8-24: the offset of a wrapper is not that of its last message.
    WrapperOffset { stored: i64, last: i64 },
    /// FND-14: a timestamp below -1.
    NegativeTimestamp { timestamp: i64 },
    /// TIME-1: a timestamp that would be one of this century in another unit.
    OtherUnit { timestamp: i64, unit: &'static str },
    /// FND-16: the maximum is not that of the records.
    MaxTimestamp { stored: i64, found: i64 },
    /// ORD-1: the batch starts at or before the last offset of the one before.
    OffsetOverlap { previous_last: i64 },
    /// ORD-3: no batch has these offsets.
    OffsetGap { first: i64, last: i64, why: MissingCause },
    /// SEG-22: the batch has offsets that are too far above the base offset of the segment for an index.
    FarOffset { last: i64, base_offset: i64 },
    /// ORD-2: the leader epoch is below that of the batch before.
    LowerEpoch { epoch: i32, previous: i32 },
    /// V2-61: producer fields that contradict each other or the attributes.
    Producer { what: &'static str },
    /// PRD-1, PRD-2, TRX-1 to TRX-4: what a producer gets wrong across batches.
    AcrossBatches { producer_id: i64, problem: ProducerProblem },
    /// CTL-1: a control batch with more than one transaction marker.
    ManyMarkers { count: u64 },
    /// CTL-4: the value of a transaction marker is not a version and a coordinator epoch.
    MarkerValue,
    /// SAL-1 and SAL-2: a valid entry has no place in a salvaged log.
    Misplaced(Misplaced),
    /// INT-1 and INT-2: a record of an internal topic, or a control record, is given as bytes.
    Undecoded(Undecoded),
    /// What is wrong with files or objects as a whole, or why some are not read.
    Files { rule: &'static str, text: String },
    /// This many more findings of a rule, which are not listed.
    More { rule: &'static str, times: u64 },
    /// The same rule is broken by this many more records of the batch, which are not listed.
    Repeated { rule: &'static str, times: u64 },
}

/// Why offsets are missing, as far as the surrounding bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingCause {
    /// Bytes were stepped over in between.
    AfterDamage,
    /// Batches of the log have fewer records than offsets, as compaction leaves them.
    Compacted,
    /// Unknown.
    Unexplained,
}

/// Why a valid entry has no place in a log that is salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// The same entry is there already.
    Copy,
    /// Its offsets fit nowhere.
    UnfitOffsets,
}

impl FindingKind {
    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Failure(kind) => kind.rule(),
            Self::Codec(finding) => finding.rule(),
            Self::Sidecar(finding) => finding.problem.rule(),
            Self::Proposed { .. } => "EXPERIMENTAL",
            Self::DefaultTarget { .. } => "S-C2",
            Self::TornTail { .. } => "L8-14",
            Self::Swallowed { .. } => "SWALLOWED",
            Self::Unsearched => "UNSEARCHED",
            Self::ZeroTail { .. } => "FND-17",
            Self::UncountedBytes { .. } => "FND-1",
            Self::OffsetOutside { .. } | Self::OffsetNotIncreasing { .. } => "FND-2",
            Self::OffsetRange { .. } => "FND-3",
            Self::LooseNull { .. } => "FND-4",
            Self::LongVarint { .. } => "FND-5",
            Self::UnusedBits { .. } => "FND-6",
            Self::HeaderKeyNotUtf8 => "FND-7",
            Self::CutInnerSet { .. } => "FND-10",
            Self::InnerMagic { .. } => "FND-12",
            Self::BytesAfterValue { .. } => "FND-13",
            Self::WrapperKey => "FND-15",
            Self::WrapperOffset { .. } => "L8-24",
            Self::NegativeTimestamp { .. } => "FND-14",
            Self::OtherUnit { .. } => "TIME-1",
            Self::MaxTimestamp { .. } => "FND-16",
            Self::OffsetOverlap { .. } => "ORD-1",
            Self::OffsetGap { .. } => "ORD-3",
            Self::FarOffset { .. } => "SEG-22",
            Self::LowerEpoch { .. } => "ORD-2",
            Self::Producer { .. } => "V2-61",
            Self::AcrossBatches { problem, .. } => problem.rule(),
            Self::ManyMarkers { .. } => "CTL-1",
            Self::MarkerValue => "CTL-4",
            Self::Misplaced(misplaced) => misplaced.rule(),
            Self::Undecoded(undecoded) => undecoded.rule(),
            Self::Repeated { rule, .. } | Self::More { rule, .. } | Self::Files { rule, .. } => rule,
        }
    }
}

impl Misplaced {
    fn rule(self) -> &'static str {
        match self {
            Self::Copy => "SAL-1",
            Self::UnfitOffsets => "SAL-2",
        }
    }
}
