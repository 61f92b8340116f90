//! Where every byte of the input went.

use std::ops::Range;

/// Entries that follow each other in the input and were kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Their bytes in the input.
    pub bytes: Range<u64>,
    /// Offset of the first one, as its header tells.
    pub first_offset: i64,
    /// Last offset of the last one.
    pub last_offset: i64,
    /// How many.
    pub entries: u64,
}

/// Bytes that were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The bytes in the input.
    pub bytes: Range<u64>,
    /// The rule that says why.
    pub rule: &'static str,
    /// Last offset of the intact entry before them.
    pub after_offset: Option<i64>,
    /// Offset of the intact entry behind them.
    pub before_offset: Option<i64>,
}

/// What was kept and what was lost: the ranges of both together are the input.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What was kept, in the order of the output.
    pub kept: Vec<Kept>,
    /// What was lost, in the order of the input.
    pub lost: Vec<Lost>,
    /// Bytes kept, also of what is not listed.
    pub kept_bytes: u64,
    /// Bytes lost, also of what is not listed.
    pub lost_bytes: u64,
    /// Entries kept.
    pub entries: u64,
    /// There were too many places to list them all.
    pub is_cut: bool,
    last_offset: Option<i64>,
    /// Of the lost places these first ones know the offset behind them.
    bounded: usize,
}

/// Places of one kind that are listed, some 15 MiB of them: an input could be damaged every hundred bytes.
const MOST: usize = 1 << 18;

impl Account {
    /// An entry was kept.
    pub fn keep(&mut self, bytes: Range<u64>, first_offset: i64, last_offset: i64) {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes.end.saturating_sub(bytes.start));
        self.entries = self.entries.saturating_add(1);
        let is_behind = self.last_offset.replace(last_offset).is_none_or(|before| before < first_offset);
        for lost in self.lost.iter_mut().skip(self.bounded) {
            lost.before_offset = Some(first_offset);
        }
        self.bounded = self.lost.len();
        if let Some(kept) = self.kept.last_mut().filter(|kept| is_behind && kept.bytes.end == bytes.start) {
            (kept.bytes.end, kept.last_offset) = (bytes.end, last_offset);
            kept.entries = kept.entries.saturating_add(1);
        } else if self.kept.len() < MOST {
            self.kept.push(Kept { bytes, first_offset, last_offset, entries: 1 });
        } else {
            self.is_cut = true;
        }
    }

    /// Bytes were left out.
    pub fn lose(&mut self, bytes: Range<u64>, rule: &'static str) {
        if bytes.is_empty() {
            return;
        }
        self.lost_bytes = self.lost_bytes.saturating_add(bytes.end.saturating_sub(bytes.start));
        if self.lost.len() < MOST {
            self.lost.push(Lost { bytes, rule, after_offset: self.last_offset, before_offset: None });
        } else {
            self.is_cut = true;
        }
    }

    /// An intact entry was left out, whose own offsets are known.
    pub fn lose_known(&mut self, bytes: Range<u64>, rule: &'static str) {
        self.lose(bytes, rule);
        self.bounded = self.lost.len();
        if let Some(lost) = self.lost.last_mut().filter(|lost| lost.rule == rule) {
            lost.after_offset = None;
        }
    }

    /// Last offset of the entry that was kept last.
    pub fn last_offset(&self) -> Option<i64> {
        self.last_offset
    }

    /// Puts what was lost into the order of the input.
    pub fn sort(&mut self) {
        self.lost.sort_unstable_by_key(|lost| lost.bytes.start);
    }
}
