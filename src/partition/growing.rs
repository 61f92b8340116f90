//! The end of a segment to which a broker may append.

use super::SegmentFile;
use super::storage::{AtDamage, Storage, in_file, sidecar};
use crate::error::Result;
use crate::framing::Ending;
use crate::limits::Limits;
use crate::log::{GrowingLog, LastBatch, LogEnd, Lookup};
use crate::model::Formats;
use crate::sidecar::offset_index;

/// How the end of a segment is looked for.
#[derive(Clone, Copy, Debug)]
pub struct EndOptions {
    /// What the batches may be.
    pub formats: Formats,
    /// What a batch may claim.
    pub limits: Limits,
    /// The end is the last valid batch past damage; else damage on the way is an error.
    pub skips_damage: bool,
    /// The very last batch counts only if its checksum matches.
    pub is_checked: bool,
}

/// The end of a segment, and whether it was cut since an earlier look.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowingEnd {
    /// The end.
    pub end: LogEnd,
    /// The first offset of the segment.
    pub base_offset: i64,
    /// The last batch of the earlier look is gone.
    pub is_cut: bool,
}

impl GrowingEnd {
    /// The offset after the last batch; the first offset of the segment if there is none.
    pub fn next_offset(&self) -> i64 {
        self.end.last.map_or(self.base_offset, |last| last.last_offset.saturating_add(1))
    }
}

/// Find the end of a segment. Only what is new since an earlier look at it is read; without one the index leads to the end.
///
/// # Errors
/// If a header is damaged, unless damage is skipped; if the file cannot be read.
pub fn segment_end(file: &SegmentFile, options: EndOptions, since: Option<&LogEnd>, storage: &dyn Storage) -> Result<GrowingEnd> {
    let zeros = since.map_or(0..0, |since| since.zeros.clone());
    let last = since.and_then(|since| since.last);
    look(file, options, storage, |growing| {
        let growing = GrowingLog { zeros, ..growing };
        let is_cut = last.map_or(Ok(false), |last| growing.holds(&last).map(|holds| !holds))?;
        let since = last.filter(|_| !is_cut);
        let start = since.map_or_else(|| near_end(&growing, file, storage), |last| Ok(last.position))?;
        let end = growing.end(since, start, &|from, to| storage.source(&file.path, from, to, AtDamage::GoOn))?;
        Ok(GrowingEnd { end, base_offset: file.base(), is_cut })
    })
}

/// True if a batch of a segment is still at its position.
///
/// # Errors
/// If the file cannot be read.
pub fn has_batch(file: &SegmentFile, last: &LastBatch, options: EndOptions, storage: &dyn Storage) -> Result<bool> {
    look(file, options, storage, |growing| growing.holds(last))
}

/// The offset after the last valid batch of a segment, past damage; its first offset if there is none.
///
/// # Errors
/// If the file cannot be read.
pub fn end_of_valid(file: &SegmentFile, formats: Formats, storage: &dyn Storage) -> Result<i64> {
    let options = EndOptions { formats, limits: Limits::default(), skips_damage: true, is_checked: true };
    segment_end(file, options, None, storage).map(|found| found.next_offset())
}

fn look<T>(file: &SegmentFile, options: EndOptions, storage: &dyn Storage, look: impl FnOnce(GrowingLog<'_>) -> Result<T>) -> Result<T> {
    let (log, len) = storage.open(&file.path, AtDamage::Fail)?;
    let EndOptions { formats, limits, skips_damage, is_checked } = options;
    let interrupt = storage.interrupt();
    let growing = GrowingLog { log: &*log, len, limits, formats, is_checked, skips_damage, zeros: 0..0, interrupt: &interrupt };
    look(growing).map_err(|error| in_file(error, &file.path, storage))
}

/// An index that cannot be read is a hint that is missing.
fn near_end(growing: &GrowingLog<'_>, file: &SegmentFile, storage: &dyn Storage) -> Result<u64> {
    let bytes = storage.read(&sidecar(&file.path, "index")).ok().flatten().unwrap_or_default();
    let parsed = offset_index::parse(&bytes, file.base());
    let offsets = if parsed.is_valid() { parsed.entries.as_slice() } else { &[] };
    Lookup { log: growing.log, len: growing.len, limits: growing.limits, offsets, ending: Ending::Open }.near_end()
}
