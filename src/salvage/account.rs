//! Where every byte of the input went.

use std::ops::Range;

/// Entries that follow each other in the input and were kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRange {
    /// Their bytes in the input.
    pub bytes: Range<u64>,
    /// Offset of the first one, by its header.
    pub first_offset: i64,
    /// Last offset of the last one.
    pub last_offset: i64,
    /// How many.
    pub entries: u64,
}

/// Bytes that were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The bytes in the input.
    pub bytes: Range<u64>,
    /// The rule that says why.
    pub rule: &'static str,
    /// Last offset of the valid entry before them.
    pub after_offset: Option<i64>,
    /// Offset of the valid entry after them.
    pub before_offset: Option<i64>,
    /// They are a valid entry, whose own offsets are known.
    pub(super) is_known: bool,
}

/// What was kept and what was lost: the ranges of both together are the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SalvageAccount {
    /// What was kept, in the order of the output.
    pub kept: Vec<KeptRange>,
    /// What was lost, in the order of the input.
    pub lost: Vec<LostRange>,
    /// Bytes kept, also of what is not listed.
    pub kept_bytes: u64,
    /// Bytes lost, also of what is not listed.
    pub lost_bytes: u64,
    /// Of those lost, the bytes with which something is lost, unlike zeros after the log and copies.
    pub harmful_bytes: u64,
    /// Entries kept.
    pub entries: u64,
    /// There were too many places to list them all.
    pub is_cut: bool,
    last_offset: Option<i64>,
    /// Of the lost places these first ones know the offset after them.
    bounded: usize,
}

/// Places of one kind that are listed, some 15 MiB of them: an input could be damaged every hundred bytes.
const MOST: usize = 1 << 18;
/// Rules of bytes with which nothing is lost: zeros after the log, copies of entries.
const HARMLESS: [&str; 2] = ["FND-17", "SAL-1"];

impl SalvageAccount {
    /// An entry was kept.
    pub fn keep(&mut self, bytes: Range<u64>, first_offset: i64, last_offset: i64) {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes.end.saturating_sub(bytes.start));
        self.entries = self.entries.saturating_add(1);
        let is_after = self.last_offset.replace(last_offset).is_none_or(|before| before < first_offset);
        for lost in self.lost.iter_mut().skip(self.bounded) {
            lost.before_offset = Some(first_offset);
        }
        self.bounded = self.lost.len();
        if let Some(kept) = self.kept.last_mut().filter(|kept| is_after && kept.bytes.end == bytes.start) {
            (kept.bytes.end, kept.last_offset) = (bytes.end, last_offset);
            kept.entries = kept.entries.saturating_add(1);
        } else if self.kept.len() < MOST {
            self.kept.push(KeptRange { bytes, first_offset, last_offset, entries: 1 });
        } else {
            self.is_cut = true;
        }
    }

    /// Bytes were left out.
    pub fn lose(&mut self, bytes: Range<u64>, rule: &'static str) {
        self.list(LostRange { bytes, rule, after_offset: self.last_offset, before_offset: None, is_known: false });
    }

    /// A valid entry was left out, whose own offsets are known.
    pub fn lose_known(&mut self, bytes: Range<u64>, rule: &'static str) {
        self.list(LostRange { bytes, rule, after_offset: None, before_offset: None, is_known: true });
        self.bounded = self.lost.len();
    }

    /// Last offset of the entry that was kept last.
    pub fn last_offset(&self) -> Option<i64> {
        self.last_offset
    }

    /// The same bytes as they were lost in another account.
    pub fn lose_as(&mut self, other: &mut Self) {
        self.lost = std::mem::take(&mut other.lost);
        (self.lost_bytes, self.harmful_bytes) = (other.lost_bytes, other.harmful_bytes);
        self.is_cut |= other.is_cut;
    }

    fn list(&mut self, lost: LostRange) {
        let len = lost.bytes.end.saturating_sub(lost.bytes.start);
        if len == 0 {
            return;
        }
        self.lost_bytes = self.lost_bytes.saturating_add(len);
        if !HARMLESS.contains(&lost.rule) {
            self.harmful_bytes = self.harmful_bytes.saturating_add(len);
        }
        if self.lost.len() < MOST {
            self.lost.push(lost);
        } else {
            self.is_cut = true;
        }
    }

    /// Puts what was lost into the order of the input.
    pub fn sort(&mut self) {
        self.lost.sort_unstable_by_key(|lost| lost.bytes.start);
    }
}

/// Takes back what was said of the offsets before and after each lost place, where other entries hold offsets in between: they may be
/// elsewhere in the input. Every lost place gets the offsets of the entries that were kept on both sides of it.
pub(super) fn bound_lost_offsets(account: &mut SalvageAccount) {
    let mut by_offset: Vec<(i64, i64)> = account.kept.iter().map(|kept| (kept.first_offset, kept.last_offset)).collect();
    by_offset.sort_unstable();
    let mut most = i64::MIN;
    for (_, last) in &mut by_offset {
        most = most.max(*last);
        *last = most;
    }
    let mut by_position: Vec<(u64, i64, i64)> =
        account.kept.iter().map(|kept| (kept.bytes.start, kept.first_offset, kept.last_offset)).collect();
    by_position.sort_unstable();
    for lost in account.lost.iter_mut().filter(|lost| !lost.is_known) {
        let next = by_position.partition_point(|(start, _, _)| *start < lost.bytes.start);
        lost.before_offset = by_position.get(next).map(|(_, first, _)| *first);
        lost.after_offset = next.checked_sub(1).and_then(|before| by_position.get(before)).map(|(_, _, last)| *last);
        let (Some(after), Some(before)) = (lost.after_offset, lost.before_offset) else { continue };
        let begun = by_offset.partition_point(|(first, _)| *first < before);
        let is_held = begun.checked_sub(1).and_then(|at| by_offset.get(at)).is_some_and(|(_, last)| *last > after);
        // Of a list that was cut, nothing can be said.
        if is_held || account.is_cut {
            (lost.after_offset, lost.before_offset) = (None, None);
        }
    }
}
