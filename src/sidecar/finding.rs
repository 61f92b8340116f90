use std::fmt;

use crate::error::counted;

/// Something in a file beside a log, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it is.
    pub wrong: Wrong,
    /// Position in the file, in bytes.
    pub position: u64,
    /// How many bytes it is about.
    pub length: u64,
}

/// The kinds of faults. `SEG` rules need the file alone, `IDX` rules hold it against the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum Wrong {
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
    /// An entry contradicts the log: `found` is what the log says.
    Contradiction { rule: &'static str, what: &'static str, stored: i64, found: Option<i64> },
    /// Something that the log tells of is not in the file.
    Lacks { rule: &'static str, what: &'static str, offset: i64 },
    /// IDX-6: the log has gone on well past the last entry.
    Stale { last: i64, end: i64 },
    /// This many more faults of the file, which are not told one by one.
    More { rule: &'static str, times: u64 },
}

/// Collects faults; beyond a number of them they are only counted, since an index of garbage has a million.
#[derive(Debug, Default)]
pub struct Faults {
    told: Vec<Fault>,
    more: Option<(Fault, u64)>,
}

/// Faults of one file that are told one by one.
const TOLD: usize = 100;

impl Faults {
    /// Adds one.
    pub fn push(&mut self, wrong: Wrong, position: u64, length: u64) {
        let fault = Fault { wrong, position, length };
        match &mut self.more {
            _ if self.told.len() < TOLD => self.told.push(fault),
            Some((_, times)) => *times += 1,
            None => self.more = Some((fault, 1)),
        }
    }

    /// All of them.
    pub fn finish(mut self) -> Vec<Fault> {
        if let Some((first, times)) = self.more {
            let wrong = Wrong::More { rule: first.wrong.rule(), times };
            self.told.push(Fault { wrong, ..first });
        }
        self.told
    }
}

impl Fault {
    /// False for what is only worth knowing.
    pub fn is_harmful(&self) -> bool {
        !matches!(self.wrong, Wrong::ZeroTail { .. } | Wrong::Missing | Wrong::Stale { .. })
    }
}

impl Wrong {
    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::CutEntry { .. } | Self::ZeroTail { .. } => "SEG-5",
            Self::Checksum { .. } => "SEG-8",
            Self::Missing => "IDX-1",
            Self::Stale { .. } => "IDX-6",
            Self::Entry { rule, .. }
            | Self::Unreadable { rule, .. }
            | Self::Contradiction { rule, .. }
            | Self::Lacks { rule, .. }
            | Self::More { rule, .. } => rule,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutEntry { bytes } => write!(f, "the file ends inside an entry: {} left over", counted(*bytes, "byte")),
            Self::ZeroTail { bytes } => write!(f, "the file ends in {}, as that of an active segment does", counted(*bytes, "zero byte")),
            Self::Entry { what, value, bound, .. } => write!(f, "{what}: {value}, with {bound}"),
            Self::Unreadable { what, .. } => write!(f, "{what}"),
            Self::Checksum { stored, computed } => write!(f, "checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"),
            Self::Missing => write!(f, "the file is missing; reading without it is slower"),
            Self::Contradiction { what, stored, found: Some(found), .. } => write!(f, "{what}: {stored}, the log says {found}"),
            Self::Contradiction { what, stored, found: None, .. } => write!(f, "{what}: {stored}, the log has none"),
            Self::Lacks { what, offset, .. } => write!(f, "{what} {offset}"),
            Self::Stale { last, end } => write!(f, "the last entry is for {last}, the log goes on to {end}"),
            Self::More { times, .. } => write!(f, "{times} more faults of the file follow, which are only counted"),
        }
    }
}
