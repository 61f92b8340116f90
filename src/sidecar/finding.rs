use std::fmt;

use crate::error::plural;

/// A finding about a sidecar file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidecarFinding {
    /// What it is.
    pub problem: SidecarProblem,
    /// Position in the file, in bytes.
    pub position: u64,
    /// How many bytes it is about.
    pub length: u64,
}

/// The kinds of findings. `SEG` rules need the file alone, `IDX` rules hold it against the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum SidecarProblem {
    /// SEG-5: the file ends inside an entry.
    CutEntry { bytes: u64 },
    /// SEG-5: the file ends in zeros, as that of an active segment does.
    ZeroTail { bytes: u64 },
    /// An entry breaks the rule of its file.
    Entry { rule: &'static str, what: &'static str, value: i64, bound: i64 },
    /// A file cannot be read any further.
    Unreadable { rule: &'static str, what: &'static str },
    /// SEG-8: the checksum of a snapshot is not that of its bytes.
    Checksum { stored: u32, computed: u32 },
    /// IDX-1: Kafka keeps such a file for every segment.
    Missing,
    /// An entry contradicts the log: `found` is what the log has.
    Contradiction { rule: &'static str, what: &'static str, stored: i64, found: Option<i64> },
    /// An offset of the log is missing in the file.
    Lacks { rule: &'static str, what: &'static str, offset: i64 },
    /// IDX-6: the log has gone on well past the last entry.
    Stale { last: i64, end: i64 },
    /// SEG-24: a snapshot of the metadata log that a controller cannot load.
    Snapshot { what: &'static str },
    /// SEG-24: the metadata log does not continue its newest snapshot.
    SnapshotGap { start: i64, newest: Option<i64> },
    /// This many more findings of the file, which are not listed.
    More { rule: &'static str, times: u64 },
}

/// Collects findings. Above a number of them they are only counted, since an index of garbage has a million.
#[derive(Debug, Default)]
pub struct SidecarFindings {
    listed: Vec<SidecarFinding>,
    more: Option<(SidecarFinding, u64)>,
}

/// Findings of one file that are listed.
const MOST_LISTED: usize = 100;

impl SidecarFindings {
    /// Adds one.
    pub fn push(&mut self, problem: SidecarProblem, position: u64, length: u64) {
        let finding = SidecarFinding { problem, position, length };
        match &mut self.more {
            _ if self.listed.len() < MOST_LISTED => self.listed.push(finding),
            Some((_, times)) => *times += 1,
            None => self.more = Some((finding, 1)),
        }
    }

    /// All of them.
    pub fn finish(mut self) -> Vec<SidecarFinding> {
        if let Some((first, times)) = self.more {
            let problem = SidecarProblem::More { rule: first.problem.rule(), times };
            self.listed.push(SidecarFinding { problem, ..first });
        }
        self.listed
    }
}

impl SidecarFinding {
    /// False for what is only worth knowing.
    pub fn is_harmful(&self) -> bool {
        !matches!(self.problem, SidecarProblem::ZeroTail { .. } | SidecarProblem::Missing | SidecarProblem::Stale { .. })
    }

    /// True for records that no other file has.
    pub fn is_fatal(&self) -> bool {
        matches!(self.problem, SidecarProblem::Snapshot { .. } | SidecarProblem::SnapshotGap { .. })
    }
}

impl SidecarProblem {
    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::CutEntry { .. } | Self::ZeroTail { .. } => "SEG-5",
            Self::Checksum { .. } => "SEG-8",
            Self::Missing => "IDX-1",
            Self::Stale { .. } => "IDX-6",
            Self::Snapshot { .. } | Self::SnapshotGap { .. } => "SEG-24",
            Self::Entry { rule, .. }
            | Self::Unreadable { rule, .. }
            | Self::Contradiction { rule, .. }
            | Self::Lacks { rule, .. }
            | Self::More { rule, .. } => rule,
        }
    }
}

impl fmt::Display for SidecarProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutEntry { bytes } => write!(f, "the file ends inside an entry: {} left over", plural(*bytes, "byte")),
            Self::ZeroTail { bytes } => write!(f, "the file ends in {}, as that of an active segment does", plural(*bytes, "zero byte")),
            Self::Entry { what, value, bound, .. } => write!(f, "{what}: {value}, with {bound}"),
            Self::Unreadable { what, .. } => write!(f, "{what}"),
            Self::Checksum { stored, computed } => write!(f, "checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"),
            Self::Missing => write!(f, "the file is missing; reading without it is slower"),
            Self::Contradiction { what, stored, found: Some(found), .. } => write!(f, "{what}: {stored}, the log has {found}"),
            Self::Contradiction { what, stored, found: None, .. } => write!(f, "{what}: {stored}, the log has none"),
            Self::Lacks { what, offset, .. } => write!(f, "{what} {offset}"),
            Self::Stale { last, end } => write!(f, "the last entry is for {last}, the log continues to {end}"),
            Self::Snapshot { what } => write!(f, "{what}; a controller that loads it does not start"),
            Self::SnapshotGap { start, newest: Some(newest) } => {
                write!(f, "the metadata log begins at offset {start}, and its newest snapshot ends at offset {newest}")
            }
            Self::SnapshotGap { start, newest: None } => write!(f, "the metadata log begins at offset {start}, and has no snapshot"),
            Self::More { times, .. } => write!(f, "{times} more errors of the file, only counted"),
        }
    }
}
