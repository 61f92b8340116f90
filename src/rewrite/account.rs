//! Where every byte of the input went.

use std::ops;

/// What became of input bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeAction {
    /// Their entries stay byte for byte.
    Copied,
    /// Their entries were written anew, with fewer records or with other values.
    Rewritten,
    /// Nothing of them is in the output.
    Dropped,
}

/// Entries that follow each other in the input and have the same fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Their fate.
    pub action: RangeAction,
    /// Their bytes in the input.
    pub bytes: ops::Range<u64>,
    /// What they became in the output; empty for dropped ones.
    pub output: ops::Range<u64>,
    /// First and last offset; `None` for bytes that are no entry: the end of a file that was cut off, or zeros.
    pub offsets: Option<(i64, i64)>,
    /// How many entries.
    pub entries: u64,
    /// What became of their records.
    pub records: RecordCounts,
}

/// Records of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// In the input.
    pub read: u64,
    /// Not in the output.
    pub dropped: u64,
    /// Made tombstones.
    pub tombstoned: u64,
    /// Masked.
    pub masked: u64,
}

/// All ranges, which together are the input, and their totals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewriteAccount {
    /// In the order of the input.
    pub ranges: Vec<Range>,
    /// There were too many ranges to list them apart: those at the end are one, whose action is `Rewritten`.
    pub is_cut: bool,
    /// Records of all ranges.
    pub records: RecordCounts,
    /// Entries that lost all records and stay without any.
    pub emptied: u64,
    /// Records below the log start offset, which are among the dropped ones.
    pub below_start: u64,
}

/// Ranges that are listed, about 100 MB of them.
const MOST: usize = 1 << 20;

impl RecordCounts {
    fn add(&mut self, other: Self) {
        self.read = self.read.saturating_add(other.read);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.tombstoned = self.tombstoned.saturating_add(other.tombstoned);
        self.masked = self.masked.saturating_add(other.masked);
    }

    /// True when all records stay as they are.
    pub fn is_unchanged(&self) -> bool {
        self.dropped == 0 && self.tombstoned == 0 && self.masked == 0
    }
}

impl RewriteAccount {
    /// Goes on with the next range of the input.
    pub fn add(&mut self, next: Range) {
        self.records.add(next.records);
        let is_full = self.ranges.len() >= MOST;
        match self.ranges.last_mut() {
            Some(last) if last.takes(&next) || is_full => {
                if last.action != next.action {
                    (last.action, self.is_cut) = (RangeAction::Rewritten, true);
                }
                last.bytes.end = next.bytes.end;
                last.output.end = next.output.end;
                last.entries = last.entries.saturating_add(next.entries);
                last.records.add(next.records);
                last.offsets = match (last.offsets, next.offsets) {
                    (Some((first, _)), Some((_, last))) => Some((first, last)),
                    (own, other) => own.or(other),
                };
            }
            _ => self.ranges.push(next),
        }
    }
}

impl Range {
    /// Bytes that are no entry stay a range of their own.
    fn takes(&self, next: &Self) -> bool {
        self.action == next.action && self.offsets.is_some() == next.offsets.is_some() && self.bytes.end == next.bytes.start
    }
}
