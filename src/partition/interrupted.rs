//! Work that a broker did not finish: `.swap`, `.cleaned` and `.deleted` files next to the segments of a partition (SEG-17).
//!
//! A cleaner writes the new segments as `.log.cleaned`, renames them to `.log.swap`, renames the old segments to `.log.deleted`, and renames
//! the new ones to `.log`. A broker that starts completes the swap, or takes it back. Readers see the segments that it would have then. No
//! file is changed. Source: `LogLoader.load` and `LocalLog.replaceSegments` in Kafka 4.3. Brokers before 3.0 complete a swap segment by segment.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::checkpoints::{LOG_STARTS, parsed};
use super::counts::valid_batches;
use super::ends::{end_by_headers, first_offset, last_valid, next_offset};
use super::folder::SegmentFolder;
use super::{Listing, SegmentFile, Storage};
use crate::error::{Error, ErrorKind, Result};
use crate::validate::{Finding, Severity};

/// First and last offset.
type OffsetPair = (i64, i64);

const RULE: &str = "SEG-17";
/// Begins the message of a file of a swap that is read.
const TAKEN: &str = "read in place of other segments:";
/// Listings of a directory in which a broker renames files, before that is an error.
const ATTEMPTS: usize = 3;
/// Digits of an offset in a name.
const OFFSET_LEN: usize = 20;

/// What a file of interrupted work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterruptedKind {
    Swap,
    Cleaned,
    Deleted,
    /// A segment that a swap replaces.
    Log,
}

impl InterruptedKind {
    /// The kind and the first offset of a file, by its name.
    fn of(name: &str) -> Option<(Self, i64)> {
        let (offset, mark) = name.split_at_checked(OFFSET_LEN)?;
        let kind = match mark {
            ".log.swap" => Self::Swap,
            ".log.cleaned" => Self::Cleaned,
            ".log.deleted" => Self::Deleted,
            _ => return None,
        };
        let base = offset.parse().ok().filter(|_| offset.bytes().all(|byte| byte.is_ascii_digit()))?;
        Some((kind, base))
    }

    fn why(self) -> &'static str {
        match self {
            Self::Swap => "a broker deletes this file when it starts, since a swap ended before all of its files had their names",
            Self::Cleaned => "a broker deletes this file when it starts, since a cleaner did not finish it",
            Self::Deleted => "the file is marked as deleted",
            Self::Log => "a broker replaces this segment when it starts, to complete a swap",
        }
    }
}

/// The offset in the name of a file of a cleaner. Also of indexes: a broker compares the offsets of all of them.
fn cleaned_offset(name: &str) -> Option<i64> {
    let (offset, _) = name.strip_suffix(".cleaned")?.split_once('.')?;
    let is_offset = !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_digit());
    is_offset.then(|| offset.parse().unwrap_or(i64::MAX))
}

/// The segments of a directory as a broker has them after its start.
///
/// `segments_in` returns the segments that a listing names. `findings` gets a finding for each file of interrupted work that has records.
///
/// # Errors
/// If the directory or a file of a swap cannot be read.
pub(super) fn with_swaps(
    folder: &SegmentFolder,
    listing: &Listing,
    segments_in: &dyn Fn(&Listing) -> Vec<SegmentFile>,
    storage: &dyn Storage,
    findings: Option<&mut Vec<Finding>>,
) -> Result<Vec<SegmentFile>> {
    let mut again: Option<Listing> = None;
    let mut attempt = 1;
    loop {
        let listing = again.as_ref().unwrap_or(listing);
        let segments = segments_in(listing);
        if !listing.files.iter().any(|file| InterruptedKind::of(&file.name).is_some()) {
            return Ok(segments);
        }
        let work = match InterruptedWork::of(folder, listing, &segments, storage) {
            // A broker has renamed a file since it was listed.
            Err(error) if error.is_not_found() && attempt < ATTEMPTS => {
                attempt += 1;
                again = Some(storage.list(&folder.path)?);
                continue;
            }
            work => work?,
        };
        if let Some(findings) = findings {
            findings.extend(work.findings()?);
        }
        return Ok(work.segments);
    }
}

/// The interrupted work in one directory.
struct InterruptedWork<'a> {
    storage: &'a dyn Storage,
    directory: &'a Path,
    /// Those that are read, in the order of their offsets.
    segments: Vec<SegmentFile>,
    /// The files of swaps among them.
    taken: Vec<SegmentFile>,
    /// The files that are not read.
    left: Vec<(InterruptedKind, SegmentFile)>,
    /// The first offsets of deleted files.
    deleted: HashSet<i64>,
    /// The offset after each file of a swap that is read.
    ends: HashMap<i64, i64>,
    log_start: OnceCell<i64>,
}

impl<'a> InterruptedWork<'a> {
    fn of(folder: &'a SegmentFolder, listing: &Listing, segments: &[SegmentFile], storage: &'a dyn Storage) -> Result<Self> {
        let cleaned = listing.files.iter().filter_map(|file| cleaned_offset(&file.name)).min().unwrap_or(i64::MAX);
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for entry in &listing.files {
            let Some((kind, base)) = InterruptedKind::of(&entry.name) else { continue };
            // Only the file of a swap has the name of a segment that is read.
            let file = SegmentFile { base_offset: Some(base), ..folder.segment(entry) };
            // The files of a swap get their names from the last one to the first one: an earlier one without its name ends it.
            if kind == InterruptedKind::Swap && base < cleaned { taken.push(file) } else { left.push((kind, file)) }
        }
        let deleted = left.iter().filter(|(kind, _)| *kind == InterruptedKind::Deleted).map(|(_, file)| file.base()).collect();
        let mut ends = HashMap::new();
        for file in &taken {
            ends.insert(file.base(), next_of_swap(file, storage)?);
        }
        // A broker deletes all segments from the first offset of all swaps to the last one, and then renames the files of the swaps.
        let (first, end) = (ends.keys().min().copied().unwrap_or(i64::MAX), ends.values().max().copied().unwrap_or(-1));
        let is_replaced = |file: &SegmentFile| (first..end).contains(&file.base()) || ends.contains_key(&file.base());
        let (replaced, mut kept): (Vec<_>, Vec<_>) = segments.iter().cloned().partition(is_replaced);
        left.extend(replaced.into_iter().map(|file| (InterruptedKind::Log, file)));
        kept.extend(taken.iter().cloned());
        kept.sort_by_key(SegmentFile::base);
        let (directory, log_start) = (folder.path.as_path(), OnceCell::new());
        Ok(Self { storage, directory, segments: kept, taken, left, deleted, ends, log_start })
    }

    /// A finding for each file with records, in the order of the files.
    fn findings(&self) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        for file in &self.taken {
            let text = format!("{TAKEN} a broker completes this swap when it starts");
            let span = (file.base(), self.end_of(file).saturating_sub(1).max(file.base()));
            found.push((file, self.finding(file, Severity::Info, text, Some(span))));
        }
        for (kind, file) in &self.left {
            let finding = match self.finding_of(*kind, file) {
                // A broker has deleted it meanwhile.
                Err(error) if error.is_not_found() => None,
                Err(error) => match error.kind() {
                    ErrorKind::Io { message, .. } => {
                        let why = message.split(" (os error").next().unwrap_or_default();
                        let text = format!("not read: {}; the file cannot be opened: {why}", kind.why());
                        Some(self.finding(file, Severity::Warning, text, None))
                    }
                    _ => return Err(error),
                },
                Ok(finding) => finding,
            };
            found.extend(finding.map(|finding| (file, finding)));
        }
        found.sort_by_key(|(file, _)| file.path.as_os_str());
        Ok(found.into_iter().map(|(_, finding)| finding).collect())
    }

    /// The offset after a file of a swap that is read.
    fn end_of(&self, file: &SegmentFile) -> i64 {
        self.ends.get(&file.base()).copied().unwrap_or(0)
    }

    /// The finding of a file that is not read; `None` if it has no valid batch.
    fn finding_of(&self, kind: InterruptedKind, file: &SegmentFile) -> Result<Option<Finding>> {
        let Some(span) = no_data(span_of(file, self.storage))?.flatten() else { return Ok(None) };
        let why = kind.why();
        if let Some((first, last)) = self.missing(kind, file, span)? {
            let offsets = if last > first { format!("offsets {first} to {last}") } else { format!("offset {first}") };
            let text = format!("not read: {why}; no other file has {offsets}");
            return Ok(Some(self.finding(file, Severity::Warning, text, Some((first, last)))));
        }
        let is_before = match self.segments.first() {
            Some(first) => span.1 < first.base().max(self.log_start_offset()?),
            None => true,
        };
        let text = if is_before { "its offsets are before the log" } else { "the log has its offsets" };
        Ok(Some(self.finding(file, Severity::Info, format!("not read: {why}; {text}"), Some(span))))
    }

    fn finding(&self, file: &SegmentFile, severity: Severity, text: String, span: Option<OffsetPair>) -> Finding {
        let (base_offset, last_offset) = span.unzip();
        let finding = Finding::of_files(RULE, severity, text, 0, 0).in_file(&self.storage.shown(&file.path).into());
        Finding { base_offset, last_offset, ..finding }
    }

    /// The first and the last offset of valid batches of a file that no segment has; `None` if there are none.
    fn missing(&self, kind: InterruptedKind, file: &SegmentFile, span: OffsetPair) -> Result<Option<OffsetPair>> {
        let holes = self.holes(kind, file, span)?;
        if holes.is_empty() {
            return Ok(None);
        }
        let start = self.log_start_offset()?;
        let batches = valid_batches(file, self.storage)?;
        let parts = batches.iter().flat_map(|(first, last)| holes.iter().map(|(a, b)| ((*first).max(*a).max(start), (*last).min(*b))));
        let parts = parts.filter(|(first, last)| first <= last);
        Ok(parts.reduce(|(first, last), part| (first.min(part.0), last.max(part.1))))
    }

    /// The offsets between the first and the last one of a file that no segment has, but those before the first segment.
    fn holes(&self, kind: InterruptedKind, file: &SegmentFile, span: OffsetPair) -> Result<Vec<OffsetPair>> {
        let bases: Vec<i64> = self.segments.iter().map(SegmentFile::base).collect();
        let begins_after = |offset: i64| bases.partition_point(|base| *base <= offset);
        let mut holes = if bases.is_empty() { vec![span] } else { Vec::new() };
        for number in begins_after(span.0).saturating_sub(1)..begins_after(span.1) {
            let (Some(segment), next) = (self.segments.get(number), bases.get(number + 1)) else { continue };
            let is_cleaned = self.is_cleaned(kind, file, segment);
            if is_cleaned && next.is_some() {
                continue;
            }
            // Only a file that is no copy of the segment may have offsets that the segment lacks.
            let may_lack = matches!(kind, InterruptedKind::Swap | InterruptedKind::Deleted) && !is_cleaned && file.base() != segment.base();
            let held = if may_lack {
                let mut held = valid_batches(segment, self.storage)?;
                held.sort_unstable();
                held
            } else {
                vec![(segment.base(), last_offset(segment, self.storage)?)]
            };
            let end = next.copied().unwrap_or(i64::MAX).min(span.1.saturating_add(1));
            holes.extend(between(&held, span.0.max(segment.base()), end));
        }
        Ok(holes)
    }

    /// True if a file was cleaned into a segment, so that offsets which the segment lacks are no longer needed.
    fn is_cleaned(&self, kind: InterruptedKind, file: &SegmentFile, segment: &SegmentFile) -> bool {
        let is_taken = self.taken.iter().any(|taken| taken.path == segment.path);
        match kind {
            InterruptedKind::Deleted => is_taken || self.deleted.contains(&segment.base()),
            InterruptedKind::Log => is_taken && file.base() < self.end_of(segment).max(segment.base().saturating_add(1)),
            InterruptedKind::Swap | InterruptedKind::Cleaned => false,
        }
    }

    /// The log start offset of the partition, if a broker wrote one; otherwise 0.
    fn log_start_offset(&self) -> Result<i64> {
        if let Some(known) = self.log_start.get() {
            return Ok(*known);
        }
        let sample = self.left.first().map(|(_, file)| file).or(self.taken.first());
        let above = self.storage.absolute(self.directory);
        let rows = match parsed(&above.with_file_name(LOG_STARTS), self.storage) {
            Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) => None,
            rows => rows?,
        };
        let is_own = |topic: &String, partition: i32| {
            sample.is_some_and(|sample| sample.topic.as_ref() == Some(topic) && sample.partition == Some(partition))
        };
        let rows = rows.map(|parsed| parsed.entries).unwrap_or_default();
        let offset = rows.iter().filter(|row| is_own(&row.topic, row.partition)).map(|row| row.offset).max().unwrap_or(0);
        Ok(*self.log_start.get_or_init(|| offset))
    }
}

/// The offset after the last batch by its header, as a broker finds it; the first offset if there is no batch.
fn next_of_swap(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    match no_data(end_by_headers(file, storage))? {
        Some(end) => Ok(end),
        None => Ok(last_offset(file, storage)?.saturating_add(1)),
    }
}

/// The last offset of the valid batches; that before the first one if there are none.
fn last_offset(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    Ok(no_data(next_offset(file, storage))?.unwrap_or(file.base()).saturating_sub(1))
}

/// The first and the last offset of the valid batches; `None` if there are none.
fn span_of(file: &SegmentFile, storage: &dyn Storage) -> Result<Option<OffsetPair>> {
    let Some(last) = last_valid(file, storage)? else { return Ok(None) };
    Ok(first_offset(file, storage)?.map(|first| (first, last.last_offset.max(first))))
}

/// The ranges of offsets from `start` to before `end` that are in none of the ranges, which are in order.
fn between(held: &[OffsetPair], mut start: i64, end: i64) -> Vec<OffsetPair> {
    let mut found = Vec::new();
    for (first, last) in held {
        if start < (*first).min(end) {
            found.push((start, (*first).min(end).saturating_sub(1)));
        }
        start = start.max(last.saturating_add(1));
    }
    if start < end {
        found.push((start, end.saturating_sub(1)));
    }
    found
}

/// `None` for an error about the bytes.
fn no_data<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if Error::is_about_data(&error) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_interrupted_work_are_known_by_their_names() {
        let name = |mark: &str| format!("00000000000000000042.{mark}");
        for (mark, kind) in
            [("log.swap", InterruptedKind::Swap), ("log.cleaned", InterruptedKind::Cleaned), ("log.deleted", InterruptedKind::Deleted)]
        {
            assert_eq!(InterruptedKind::of(&name(mark)), Some((kind, 42)));
        }
        for other in ["log", "index.swap", "log.swap.swap"] {
            assert_eq!(InterruptedKind::of(&name(other)), None, "{other}");
        }
        assert_eq!(InterruptedKind::of("+0000000000000000042.log.swap"), None);
        assert_eq!((cleaned_offset("5.index.cleaned"), cleaned_offset("7..cleaned")), (Some(5), Some(7)));
        assert_eq!((cleaned_offset("5.cleaned"), cleaned_offset("x.log.cleaned")), (None, None));
        assert_eq!(cleaned_offset(&format!("{}.log.cleaned", "9".repeat(20))), Some(i64::MAX));
    }

    #[test]
    fn holes_are_between_the_ranges() {
        assert_eq!(between(&[(0, 4), (7, 9)], 0, 12), [(5, 6), (10, 11)]);
        assert_eq!(between(&[(0, 4), (3, 9)], 2, 8), []);
        assert_eq!(between(&[], 3, 5), [(3, 4)]);
        assert_eq!(between(&[(10, 12)], 3, 5), [(3, 4)]);
    }
}
