//! What a finding says, by rule: its numbers and its words.

use std::fmt;

use crate::codec::Remark;
use crate::error::{ErrorKind, counted};
use crate::internal::Undecoded;
use crate::model::RecordFormat;
use crate::sidecar::Fault;

/// The kinds of findings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum What {
    /// What `decode` would fail with.
    Failure(ErrorKind),
    /// What the codec passed over.
    Codec(Remark),
    /// A fault of a file beside the log.
    Beside(Fault),
    /// EXPERIMENTAL: batches of a format that never shipped were read because it was named.
    Experimental { format: RecordFormat },
    /// S-C2: batches of a format that never shipped are written in the format that is written when none is named.
    DefaultTarget { from: RecordFormat, to: RecordFormat },
    /// L8-14: the input ends inside an entry.
    TornTail { needed: u64, available: u64 },
    /// SWALLOWED: an intact entry lies inside the bytes that a torn entry claims.
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
    BytesBehindValue { bytes: u64 },
    /// FND-15: a wrapper has a key.
    WrapperKey,
    /// L8-24: the offset of a wrapper is not that of its last message.
    WrapperOffset { stored: i64, last: i64 },
    /// FND-14: a timestamp below -1.
    NegativeTimestamp { timestamp: i64 },
    /// FND-16: the maximum is not that of the records.
    MaxTimestamp { stored: i64, found: i64 },
    /// ORD-1: the batch starts at or before the last offset of the one before.
    OffsetOverlap { previous_last: i64 },
    /// ORD-3: no batch has these offsets.
    OffsetGap { first: i64, last: i64, why: Missing },
    /// ORD-2: the leader epoch is below that of the batch before.
    EpochBehind { epoch: i32, previous: i32 },
    /// V2-61: producer fields that contradict each other or the attributes.
    Producer { what: &'static str },
    /// PRD-1: the sequence of an idempotent producer does not follow.
    SequenceGap { producer_id: i64, expected: i32, found: i32 },
    /// PRD-2: an older epoch of a producer.
    ProducerEpochBehind { producer_id: i64, epoch: i16, previous: i16 },
    /// TRX-1: a marker of a producer that has no transaction open.
    MarkerWithoutData { producer_id: i64 },
    /// TRX-3: an older epoch of a coordinator.
    CoordinatorEpochBehind { producer_id: i64, epoch: i32, previous: i32 },
    /// TRX-2: a transaction is open for longer than a coordinator allows.
    HangingTransaction { producer_id: i64, open_ms: i64 },
    /// TRX-4: a batch outside of a transaction while its producer has one open.
    OutsideTransaction { producer_id: i64 },
    /// CTL-1: a control batch with more than one transaction marker.
    ManyMarkers { count: u64 },
    /// CTL-4: the value of a transaction marker is not a version and a coordinator epoch.
    MarkerValue,
    /// SAL-1 and SAL-2: an intact entry has no place in a salvaged log.
    Misplaced(Misplaced),
    /// INT-1 and INT-2: a record of an internal topic, or a control record, is given as bytes.
    Undecoded(Undecoded),
    /// This many more findings of a rule, which are not told one by one.
    Untold { rule: &'static str, times: u64 },
    /// The same rule is broken by this many more records of the batch, which are not told one by one.
    Repeated { rule: &'static str, times: u64 },
}

/// Why offsets are missing, as far as what stands around them tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Bytes were stepped over in between.
    BehindDamage,
    /// Batches of the log have fewer records than offsets, as compaction leaves them.
    Compacted,
    /// Nothing tells.
    Unexplained,
}

/// Why an intact entry has no place in a log that is salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// The same entry is there already.
    Copy,
    /// Its offsets fit nowhere.
    Doubtful,
}

impl Missing {
    fn words(self) -> &'static str {
        match self {
            Self::BehindDamage => ": they are lost with the bytes that were stepped over",
            Self::Compacted => ", as compaction leaves it",
            Self::Unexplained => "",
        }
    }
}

impl What {
    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Failure(kind) => kind.rule(),
            Self::Codec(remark) => remark.rule(),
            Self::Beside(fault) => fault.wrong.rule(),
            Self::Experimental { .. } => "EXPERIMENTAL",
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
            Self::BytesBehindValue { .. } => "FND-13",
            Self::WrapperKey => "FND-15",
            Self::WrapperOffset { .. } => "L8-24",
            Self::NegativeTimestamp { .. } => "FND-14",
            Self::MaxTimestamp { .. } => "FND-16",
            Self::OffsetOverlap { .. } => "ORD-1",
            Self::OffsetGap { .. } => "ORD-3",
            Self::EpochBehind { .. } => "ORD-2",
            Self::Producer { .. } => "V2-61",
            Self::SequenceGap { .. } => "PRD-1",
            Self::ProducerEpochBehind { .. } => "PRD-2",
            Self::MarkerWithoutData { .. } => "TRX-1",
            Self::HangingTransaction { .. } => "TRX-2",
            Self::CoordinatorEpochBehind { .. } => "TRX-3",
            Self::OutsideTransaction { .. } => "TRX-4",
            Self::ManyMarkers { .. } => "CTL-1",
            Self::MarkerValue => "CTL-4",
            Self::Misplaced(Misplaced::Copy) => "SAL-1",
            Self::Misplaced(Misplaced::Doubtful) => "SAL-2",
            Self::Undecoded(undecoded) => undecoded.rule(),
            Self::Repeated { rule, .. } | Self::Untold { rule, .. } => rule,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(kind) => write!(f, "{kind}"),
            Self::Codec(remark) => write!(f, "{remark}"),
            Self::Beside(fault) => write!(f, "{}", fault.wrong),
            Self::Experimental { format } => {
                write!(f, "format {} is experimental, a proposal that never shipped: no broker reads it", format.name())
            }
            Self::DefaultTarget { from, to } => {
                let (from, to) = (from.name(), to.name());
                write!(f, "batches of format {from} are written as {to}, since no format was named: to=\"{from}\" (--to {from}) keeps it")
            }
            Self::TornTail { needed, available } => {
                write!(f, "the input ends inside an entry: {available} of at least {needed} bytes are there")
            }
            Self::Swallowed { at } => {
                write!(f, "the last entry claims more bytes than there are, and an intact entry lies inside of them at byte {at}")
            }
            Self::Unsearched => write!(f, "too many overlapping bytes claim to be batches: not every claim was looked into"),
            Self::ZeroTail { bytes } => write!(f, "the input ends in {}, as a preallocated segment does", counted(*bytes, "zero byte")),
            Self::UncountedBytes { bytes } => {
                write!(f, "the batch counts no records, and holds {} behind its header", counted(*bytes, "byte"))
            }
            Self::OffsetOutside { delta, last_delta } => write!(f, "offset delta {delta} is outside of 0 to {last_delta}"),
            Self::OffsetNotIncreasing { delta, previous } => write!(f, "offset or offset delta {delta} follows {previous}"),
            Self::OffsetRange { base_offset, last_offset_delta } => {
                write!(f, "base offset {base_offset} with last offset delta {last_offset_delta} is no range of offsets")
            }
            Self::LooseNull { length } => write!(f, "length {length} stands for null, -1 should"),
            Self::LongVarint { bytes } => write!(f, "integers of the record take {} more than they need", counted(*bytes, "byte")),
            Self::UnusedBits { bits } => write!(f, "unused attribute bits are set: {bits:#06x}"),
            Self::HeaderKeyNotUtf8 => write!(f, "header key is not UTF-8"),
            Self::CutInnerSet { bytes } => write!(f, "the inner messages end inside of one, after {} of it", counted(*bytes, "byte")),
            Self::InnerMagic { inner, outer } => write!(f, "inner message of magic {inner} in a wrapper of magic {outer}"),
            Self::BytesBehindValue { bytes } => write!(f, "the message goes on for {} behind its value", counted(*bytes, "byte")),
            Self::WrapperKey => write!(f, "a compressed message has a key, which means nothing"),
            Self::WrapperOffset { stored, last } => {
                write!(f, "the offset of the compressed message is {stored}, that of its last inner message {last}")
            }
            Self::NegativeTimestamp { timestamp } => write!(f, "timestamp {timestamp} is below -1"),
            Self::MaxTimestamp { stored, found } => write!(f, "max timestamp is {stored}, the records' largest is {found}"),
            Self::OffsetOverlap { previous_last } => write!(f, "the batch before ends at offset {previous_last}"),
            Self::OffsetGap { first, last, why } if first == last => {
                write!(f, "offset {first} is missing before the batch{}", why.words())
            }
            Self::OffsetGap { first, last, why } => {
                write!(f, "offsets {first} to {last} are missing before the batch{}", why.words())
            }
            Self::EpochBehind { epoch, previous } => write!(f, "leader epoch {epoch} follows {previous}"),
            Self::SequenceGap { producer_id, expected, found } => {
                write!(f, "the sequence of producer {producer_id} should go on with {expected}, and is {found}")
            }
            Self::ProducerEpochBehind { producer_id, epoch, previous } => {
                write!(f, "producer {producer_id} writes in epoch {epoch} after {previous}")
            }
            Self::MarkerWithoutData { producer_id } => {
                write!(f, "a marker ends a transaction of producer {producer_id}, which has none open")
            }
            Self::CoordinatorEpochBehind { producer_id, epoch, previous } => {
                write!(f, "the marker of producer {producer_id} has coordinator epoch {epoch} after {previous}")
            }
            Self::HangingTransaction { producer_id, open_ms } => {
                write!(f, "the transaction of producer {producer_id} hangs: the log goes on {open_ms} ms after it began, without a marker")
            }
            Self::OutsideTransaction { producer_id } => {
                write!(f, "producer {producer_id} writes outside of its transaction, which is open")
            }
            Self::Producer { what } => write!(f, "{what}"),
            Self::ManyMarkers { count } => write!(f, "the control batch holds {count} transaction markers"),
            Self::MarkerValue => write!(f, "the value of the transaction marker is not a version and a coordinator epoch"),
            Self::Misplaced(Misplaced::Copy) => write!(f, "the same entry is in the log already; the copy is left out"),
            Self::Misplaced(Misplaced::Doubtful) => {
                write!(f, "the entry is intact, but its offsets fit nowhere in the log: it is left out")
            }
            Self::Undecoded(undecoded) => write!(f, "{undecoded}"),
            Self::Untold { times, .. } => write!(f, "{} of this rule, only counted", counted(*times, "more finding")),
            Self::Repeated { times, .. } => write!(f, "the same for {} of the batch", counted(*times, "more record")),
        }
    }
}
