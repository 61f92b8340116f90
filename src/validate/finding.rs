use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::codec::Remark;
use crate::error::{Error, ErrorKind, Position};
use crate::framing::{Damage, Piece, Tail};
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::Fault;

/// One thing worth knowing about the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub what: What,
    /// How bad it is.
    pub severity: Severity,
    /// Position of the bytes that it is about.
    pub position: u64,
    /// How many bytes it is about.
    pub length: u64,
    /// Base offset of the batch.
    pub base_offset: Option<i64>,
    /// Last offset of the batch.
    pub last_offset: Option<i64>,
    /// Index of the record in its batch.
    pub record_index: Option<u64>,
    /// The field, in Kafka's spelling.
    pub field: Option<&'static str>,
    /// The file, when several are looked at.
    pub file: Option<Arc<str>>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: a torn or zero tail.
    Info,
    /// Readable, but it breaks a rule.
    Warning,
    /// `decode` fails here.
    Error,
}

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
    /// ORD-2: the leader epoch is below that of the batch before.
    EpochBehind { epoch: i32, previous: i32 },
    /// V2-61: producer fields that contradict each other or the attributes.
    Producer { what: &'static str },
    /// PRD-1: the sequence of an idempotent producer does not follow.
    SequenceGap { producer_id: i64, expected: i32, found: i32 },
    /// PRD-2: an older epoch of a producer.
    ProducerEpochBehind { producer_id: i64, epoch: i16, previous: i16 },
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
    /// This many more findings of a rule, which are not told one by one.
    Untold { rule: &'static str, times: u64 },
    /// The same rule is broken by this many more records of the batch, which are not told one by one.
    Repeated { rule: &'static str, times: u64 },
}

/// Why an intact entry has no place in a log that is salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// The same entry is there already.
    Copy,
    /// Its offsets fit nowhere.
    Doubtful,
}

impl Finding {
    /// A finding about a whole batch.
    pub fn in_batch(what: What, severity: Severity, header: &BatchHeader) -> Self {
        Self {
            what,
            severity,
            position: header.position,
            length: header.size,
            base_offset: Some(header.base_offset),
            last_offset: Some(header.last_offset),
            record_index: None,
            field: None,
            file: None,
        }
    }

    /// The finding that a piece of framing is; none for entries.
    pub fn of_piece(piece: &Piece) -> Option<Self> {
        match piece {
            Piece::Run(_) | Piece::Broken(_) => None,
            Piece::Damage(damage) => Some(Self::of_damage(damage)),
            Piece::Swallowed(bytes) => Some(Self::of_hidden(What::Swallowed { at: bytes.end }, bytes)),
            Piece::Unsearched(bytes) => Some(Self::of_hidden(What::Unsearched, bytes)),
        }
    }

    /// The finding that a fault of a file beside the log is. It never stops a reader.
    pub fn of_fault(fault: Fault, file: &Arc<str>) -> Self {
        let severity = if fault.is_harmful() { Severity::Warning } else { Severity::Info };
        let (position, length, file) = (fault.position, fault.length, Some(Arc::clone(file)));
        let (base_offset, last_offset, record_index, field) = (None, None, None, None);
        Self { what: What::Beside(fault), severity, position, length, base_offset, last_offset, record_index, field, file }
    }

    /// The finding that a failure is, about the bytes that are lost with it.
    pub fn of_damage(damage: &Damage) -> Self {
        let start = damage.bytes.start;
        Self::of_error(&damage.error, start, damage.bytes.end.saturating_sub(start))
    }

    /// A finding about bytes, with nothing known of a batch.
    pub(super) fn at_bytes(what: What, severity: Severity, position: u64, length: u64) -> Self {
        let (base_offset, last_offset, record_index, field) = (None, None, None, None);
        Self { what, severity, position, length, base_offset, last_offset, record_index, field, file: None }
    }

    /// The finding about bytes in which entries may be hidden by a claim of `batchLength`.
    fn of_hidden(what: What, bytes: &Range<u64>) -> Self {
        let (position, length) = (bytes.start, bytes.end.saturating_sub(bytes.start));
        let (base_offset, last_offset, record_index) = (None, None, None);
        Self {
            what,
            severity: Severity::Warning,
            position,
            length,
            base_offset,
            last_offset,
            record_index,
            field: Some("batchLength"),
            file: None,
        }
    }

    /// Findings of one rule that were only counted, the first of them at this position.
    pub fn of_untold(rule: &'static str, severity: Severity, times: u64, position: u64) -> Self {
        let what = What::Untold { rule, times };
        let (base_offset, last_offset, record_index, field) = (None, None, None, None);
        Self { what, severity, position, length: 0, base_offset, last_offset, record_index, field, file: None }
    }

    /// The finding that an intact entry without a place in a log is.
    pub fn of_misplaced(what: Misplaced, bytes: Range<u64>, base_offset: i64, last_offset: i64) -> Self {
        let severity = if what == Misplaced::Copy { Severity::Info } else { Severity::Warning };
        Self {
            what: What::Misplaced(what),
            severity,
            position: bytes.start,
            length: bytes.end.saturating_sub(bytes.start),
            base_offset: Some(base_offset),
            last_offset: Some(last_offset),
            record_index: None,
            field: Some("baseOffset"),
            file: None,
        }
    }

    /// The finding that an error is, about these bytes.
    pub fn of_error(error: &Error, position: u64, length: u64) -> Self {
        let Position { base_offset, record_index, field, .. } = error.position();
        let what = What::Failure(error.kind().clone());
        Self { what, severity: Severity::Error, position, length, base_offset, last_offset: None, record_index, field, file: None }
    }

    /// The finding that reading a format is that never shipped; it is told once.
    pub fn of_experimental(format: RecordFormat, position: u64) -> Self {
        let (base_offset, last_offset, record_index, field) = (None, None, None, Some("magic"));
        let (what, severity) = (What::Experimental { format }, Severity::Info);
        Self { what, severity, position, length: 0, base_offset, last_offset, record_index, field, file: None }
    }

    /// The finding that the end of the input is; none for a clean one.
    pub fn of_tail(tail: Tail) -> Option<Self> {
        let (what, position, length) = match tail {
            Tail::Complete => return None,
            Tail::Torn { position, needed, available } => (What::TornTail { needed, available }, position, available),
            Tail::Zeros { position, bytes } => (What::ZeroTail { bytes }, position, bytes),
        };
        let (base_offset, last_offset, record_index, field) = (None, None, None, None);
        Some(Self { what, severity: Severity::Info, position, length, base_offset, last_offset, record_index, field, file: None })
    }

    /// The same finding, about one record.
    #[must_use]
    pub fn at_record(mut self, index: usize) -> Self {
        self.record_index = u64::try_from(index).ok();
        self
    }

    /// The same finding, about one field.
    #[must_use]
    pub fn at_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// The same finding, in one of several files.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<str>) -> Self {
        self.file.get_or_insert_with(|| Arc::clone(file));
        self
    }

    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        self.what.rule()
    }

    /// Which part of the input the finding is about, from the outside in: the file, when there are several, then `entry`, `record`, `field`.
    pub fn path(&self) -> String {
        let mut path = match &self.file {
            Some(file) if matches!(self.what, What::Beside(_)) => return format!("{file}@{}", self.position),
            Some(file) => format!("{file}/entry@{}", self.position),
            None => format!("entry@{}", self.position),
        };
        if let Some(index) = self.record_index {
            path.push_str(&format!("/record[{index}]"));
        }
        if let Some(field) = self.field {
            path.push('/');
            path.push_str(field);
        }
        path
    }
}

impl Severity {
    /// `"info"`, `"warning"` or `"error"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
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
            Self::EpochBehind { .. } => "ORD-2",
            Self::Producer { .. } => "V2-61",
            Self::SequenceGap { .. } => "PRD-1",
            Self::ProducerEpochBehind { .. } => "PRD-2",
            Self::HangingTransaction { .. } => "TRX-2",
            Self::OutsideTransaction { .. } => "TRX-4",
            Self::ManyMarkers { .. } => "CTL-1",
            Self::MarkerValue => "CTL-4",
            Self::Misplaced(Misplaced::Copy) => "SAL-1",
            Self::Misplaced(Misplaced::Doubtful) => "SAL-2",
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
            Self::TornTail { needed, available } => {
                write!(f, "the input ends inside an entry: {available} of at least {needed} bytes are there")
            }
            Self::Swallowed { at } => {
                write!(f, "the last entry claims more bytes than there are, and an intact entry lies inside of them at byte {at}")
            }
            Self::Unsearched => write!(f, "too many overlapping bytes claim to be batches: not every claim was looked into"),
            Self::ZeroTail { bytes } => write!(f, "the input ends in {bytes} zero bytes, as a preallocated segment does"),
            Self::UncountedBytes { bytes } => write!(f, "the batch counts no records, but {bytes} bytes follow its header"),
            Self::OffsetOutside { delta, last_delta } => write!(f, "offset delta {delta} is outside of 0 to {last_delta}"),
            Self::OffsetNotIncreasing { delta, previous } => write!(f, "offset or offset delta {delta} follows {previous}"),
            Self::OffsetRange { base_offset, last_offset_delta } => {
                write!(f, "base offset {base_offset} with last offset delta {last_offset_delta} is no range of offsets")
            }
            Self::LooseNull { length } => write!(f, "length {length} stands for null, -1 should"),
            Self::LongVarint { bytes } => write!(f, "integers of the record take {bytes} bytes more than they need"),
            Self::UnusedBits { bits } => write!(f, "unused attribute bits are set: {bits:#06x}"),
            Self::HeaderKeyNotUtf8 => write!(f, "header key is not UTF-8"),
            Self::CutInnerSet { bytes } => write!(f, "the inner messages end inside of one, of which {bytes} bytes are there"),
            Self::InnerMagic { inner, outer } => write!(f, "inner message of magic {inner} in a wrapper of magic {outer}"),
            Self::BytesBehindValue { bytes } => write!(f, "{bytes} bytes follow the value of the message"),
            Self::WrapperKey => write!(f, "a compressed message has a key, which means nothing"),
            Self::WrapperOffset { stored, last } => {
                write!(f, "the offset of the compressed message is {stored}, that of its last inner message {last}")
            }
            Self::NegativeTimestamp { timestamp } => write!(f, "timestamp {timestamp} is below -1"),
            Self::MaxTimestamp { stored, found } => write!(f, "max timestamp is {stored}, the records' largest is {found}"),
            Self::OffsetOverlap { previous_last } => write!(f, "the batch before ends at offset {previous_last}"),
            Self::EpochBehind { epoch, previous } => write!(f, "leader epoch {epoch} follows {previous}"),
            Self::SequenceGap { producer_id, expected, found } => {
                write!(f, "the sequence of producer {producer_id} should go on with {expected}, and is {found}")
            }
            Self::ProducerEpochBehind { producer_id, epoch, previous } => {
                write!(f, "producer {producer_id} writes in epoch {epoch} after {previous}")
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
            Self::Untold { times, .. } => write!(f, "{times} more findings of this rule follow, which are only counted"),
            Self::Repeated { times, .. } => write!(f, "the same for {times} more records of the batch"),
        }
    }
}
