use std::ops::Range;
use std::sync::Arc;

use super::kind::{FindingKind, Misplaced};
pub use super::severity::Severity;
use crate::decode::Unreadable;
use crate::error::{Error, ErrorKind, Position};
use crate::framing::{Damage, FrameEvent, Tail};
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::SidecarFinding;

/// One thing worth knowing about the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
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

impl Finding {
    /// A finding about a whole batch.
    pub fn in_batch(kind: FindingKind, severity: Severity, header: &BatchHeader) -> Self {
        let (base_offset, last_offset) = (Some(header.base_offset), Some(header.last_offset));
        Self { base_offset, last_offset, ..Self::at_bytes(kind, severity, header.position, header.size) }
    }

    /// The finding that a piece of framing is; none for entries.
    pub fn of_piece(piece: &FrameEvent) -> Option<Self> {
        match piece {
            FrameEvent::Run(_) | FrameEvent::Broken(_) | FrameEvent::Oversized(_) => None,
            FrameEvent::Damage(damage) => Some(Self::of_damage(damage)),
            FrameEvent::Swallowed(bytes) => Some(Self::of_hidden(FindingKind::Swallowed { at: bytes.end }, bytes)),
            FrameEvent::Unsearched(bytes) => Some(Self::of_hidden(FindingKind::Unsearched, bytes)),
        }
    }

    /// The finding about a sidecar file. It never stops a reader.
    pub fn of_sidecar(problem: SidecarFinding, file: &Arc<str>) -> Self {
        let severity = match problem.is_harmful() {
            true if problem.is_fatal() => Severity::Error,
            true => Severity::Warning,
            false => Severity::Info,
        };
        let (position, length) = (problem.position, problem.length);
        Self::at_bytes(FindingKind::Sidecar(problem), severity, position, length).in_file(file)
    }

    /// The finding that a failure is, about the bytes that are lost with it.
    pub fn of_damage(damage: &Damage) -> Self {
        let start = damage.bytes.start;
        Self::of_error(&damage.error, start, damage.bytes.end.saturating_sub(start))
    }

    /// A finding about files or objects as a whole.
    pub fn of_files(rule: &'static str, severity: Severity, text: impl Into<String>, position: u64, length: u64) -> Self {
        Self::at_bytes(FindingKind::Files { rule, text: text.into() }, severity, position, length)
    }

    /// A finding about bytes, with nothing known of a batch.
    pub(super) fn at_bytes(kind: FindingKind, severity: Severity, position: u64, length: u64) -> Self {
        let (base_offset, last_offset, record_index, field) = (None, None, None, None);
        Self { kind, severity, position, length, base_offset, last_offset, record_index, field, file: None }
    }

    /// The finding about bytes in which entries may be hidden by a claim of `batchLength`.
    fn of_hidden(kind: FindingKind, bytes: &Range<u64>) -> Self {
        let length = bytes.end.saturating_sub(bytes.start);
        Self::at_bytes(kind, Severity::Warning, bytes.start, length).at_field("batchLength")
    }

    /// Findings of one rule that were only counted, the first of them at this position.
    pub fn of_more(rule: &'static str, severity: Severity, times: u64, position: u64) -> Self {
        Self::at_bytes(FindingKind::More { rule, times }, severity, position, 0)
    }

    /// The finding that a valid entry without a place in a log is.
    pub fn of_misplaced(kind: Misplaced, bytes: Range<u64>, base_offset: i64, last_offset: i64) -> Self {
        let severity = if kind == Misplaced::Copy { Severity::Info } else { Severity::Warning };
        let length = bytes.end.saturating_sub(bytes.start);
        let finding = Self::at_bytes(FindingKind::Misplaced(kind), severity, bytes.start, length).at_field("baseOffset");
        Self { base_offset: Some(base_offset), last_offset: Some(last_offset), ..finding }
    }

    /// The finding that an error is, about these bytes.
    pub fn of_error(error: &Error, position: u64, length: u64) -> Self {
        let Position { base_offset, record_index, field, .. } = error.position();
        let last_offset = match error.kind() {
            ErrorKind::Undecided { last_offset: last, .. } | ErrorKind::OutsideUpload { last, .. } | ErrorKind::OutOfOrder { last, .. } => {
                Some(*last)
            }
            ErrorKind::Unfinished { missing: Some((_, last)), .. } => Some(*last),
            _ => None,
        };
        let kind = FindingKind::Failure(error.kind().clone());
        Self { base_offset, last_offset, record_index, field, ..Self::at_bytes(kind, Severity::Error, position, length) }
    }

    /// The finding of an unreleased format, reported once.
    pub fn of_proposed(format: RecordFormat, position: u64) -> Self {
        Self::of_magic(FindingKind::Proposed { format }, position)
    }

    /// True for the finding of an unreleased format.
    pub fn is_of_proposed(&self) -> bool {
        matches!(self.kind, FindingKind::Proposed { .. })
    }

    /// The finding that a conversion writes another format than it reads, and nobody named it; the first entry is at `position`.
    pub fn of_default_target(from: RecordFormat, to: RecordFormat, position: u64) -> Self {
        Self::of_magic(FindingKind::DefaultTarget { from, to }, position)
    }

    fn of_magic(kind: FindingKind, position: u64) -> Self {
        Self::at_bytes(kind, Severity::Info, position, 0).at_field("magic")
    }

    /// The finding that the end of the input is; none for a clean one, and for damage, which has a finding or an error of its own.
    pub fn of_tail(tail: Tail) -> Option<Self> {
        let (kind, position, length) = match tail {
            Tail::Complete | Tail::Damaged { .. } => return None,
            Tail::Torn { position, needed, available } => (FindingKind::TornTail { needed, available }, position, available),
            Tail::Zeros { position, bytes } => (FindingKind::ZeroTail { bytes }, position, bytes),
        };
        Some(Self::at_bytes(kind, Severity::Info, position, length))
    }

    /// The same finding. It is a warning if it is about a batch that cannot be read here and `unreadable` skips such batches.
    #[must_use]
    pub fn unless_raised(mut self, unreadable: Unreadable) -> Self {
        if unreadable == Unreadable::Skip && self.is_unreadable() {
            self.severity = self.severity.min(Severity::Warning);
        }
        self
    }

    /// True for a batch without known damage that cannot be read here; see `Error::is_unreadable`.
    pub fn is_unreadable(&self) -> bool {
        matches!(&self.kind, FindingKind::Failure(kind) if self.base_offset.is_some() && kind.is_of_reader())
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
        self.kind.rule()
    }

    /// Which part of the input the finding is about, from the outside in: the file, when there are several, then `entry`, `record`, `field`.
    pub fn path(&self) -> String {
        let mut path = match &self.file {
            Some(file) if matches!(self.kind, FindingKind::Sidecar(_) | FindingKind::Files { .. }) => {
                return format!("{file}@{}", self.position);
            }
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
