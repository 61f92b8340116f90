//! Choose among several uploads of the same offsets, and find the last offset to read (TS-8, TS-44).
//!
//! A leader that fails, and an upload that is tried again, leave several uploads of the same records. A leader epoch and an offset identify
//! a record. So each offset has the epoch that the checkpoint of the latest leader names: records of another epoch were truncated in the
//! cluster, and uploads with the same epoch are equal. As in Kafka (`RemoteLogMetadataCache`), of several uploads with an offset the one that
//! begins last is read, so that a segment ends where the next one begins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::error::{TieredError, TieredResult};
use super::keys::Keys;
use super::manifest::Index;
use super::names::{LOG, MANIFEST, PartitionName};
use super::objects::SegmentObjects;
use super::upload::{FoundUpload, UploadSpan, UploadState, epochs_in, local_epochs};
use crate::interrupt::Interrupt;
use crate::stores::StoragePlace;
use crate::validate::{Finding, Severity};

/// Why an upload, or a part of it, is not read, and which other upload is read for it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SkippedUpload {
    state: UploadState,
    other: String,
}

/// Uploads, and parts of uploads, that are not read, by name.
#[derive(Debug, Default)]
struct Choice {
    /// Whole uploads.
    left_out: BTreeMap<String, SkippedUpload>,
    /// The offsets from which uploads are not read.
    cuts: BTreeMap<String, (i64, SkippedUpload)>,
    /// Overlapping uploads, each with the other upload, if no metadata decides which of them counts.
    undecided: BTreeMap<String, String>,
}

/// All finished uploads with known offsets, by name.
type Spans = BTreeMap<String, UploadSpan>;

/// Returns the uploads of a directory with their states, and with a finding for each that is not read, or not read whole.
///
/// If the choice among some uploads needs a key that is missing, each of them is a segment of which every read fails.
///
/// # Errors
/// Those of the store.
pub(super) fn with_states(
    directory: &StoragePlace,
    found: Vec<FoundUpload>,
    keys: &Keys,
    interrupt: &Interrupt,
) -> TieredResult<Vec<FoundUpload>> {
    let by_stem: BTreeMap<String, FoundUpload> = found.iter().map(|candidate| (candidate.stem(), candidate.clone())).collect();
    let epochs_of = |stem: &str| -> TieredResult<Vec<(i32, i64)>> {
        let Some(candidate) = by_stem.get(stem) else { return Ok(Vec::new()) };
        if candidate.manifest.is_none() {
            return local_epochs(directory, candidate, interrupt);
        }
        let objects = SegmentObjects::open(directory, &candidate.name, keys, candidate.manifest.clone(), interrupt)?;
        match objects.index(Index::LeaderEpoch, interrupt) {
            Ok(bytes) => Ok(epochs_in(&bytes.unwrap_or_default())),
            Err(TieredError::Chunk(_) | TieredError::Manifest(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    };
    let known = |candidate: &FoundUpload| {
        Some((candidate.stem(), candidate.span.clone()?)).filter(|_| candidate.upload.state == UploadState::Finished)
    };
    let spans: Spans = found.iter().filter_map(known).collect();
    let decided: Vec<FoundUpload> = match chosen(&spans, epochs_of) {
        Ok(choice) => found.into_iter().map(|candidate| with_choice(candidate, &choice, &by_stem)).collect(),
        Err(TieredError::Key(error)) => {
            let mut order: Vec<&str> = spans.keys().map(String::as_str).collect();
            order.sort_by_key(|name| start(&spans, name));
            let unchosen: BTreeSet<_> = overlapping(&order, &spans).into_iter().flat_map(|(first, second)| [first, second]).collect();
            found
                .into_iter()
                .map(|candidate| if unchosen.contains(candidate.stem().as_str()) { closed(candidate, &error) } else { candidate })
                .collect()
        }
        Err(error) => return Err(error),
    };
    let place = decided.iter().find(|candidate| candidate.manifest.is_some()).map(|candidate| candidate.upload.partition.clone());
    let gaps: Vec<FoundUpload> = decided.iter().map(|candidate| with_gap(candidate.clone(), &decided, place.as_ref())).collect();
    Ok(gaps)
}

/// Returns the uploads that are read, with those of which every read fails.
///
/// # Errors
/// `Undecided` if two uploads overlap and no metadata decides which of them counts.
pub(super) fn ensure_decided(found: &[FoundUpload]) -> TieredResult<Vec<&FoundUpload>> {
    let wanted: Vec<&FoundUpload> = found.iter().filter(|candidate| candidate.is_read()).collect();
    for candidate in &wanted {
        if let Some(rival) = &candidate.rival {
            let path = &candidate.upload.path;
            let text = "uploaded more than once, without metadata that decides which one counts";
            let text = format!("{text}: {rival} and {path} overlap; pass the segments to read by name");
            return Err(TieredError::Undecided { text, uri: path.clone() });
        }
    }
    Ok(wanted)
}

/// Chooses among the uploads of a partition. `epochs_of` returns epochs and first offsets of the checkpoint of an upload. It is called only if
/// the leaders of uploads differ.
fn chosen(spans: &Spans, epochs_of: impl Fn(&str) -> TieredResult<Vec<(i32, i64)>>) -> TieredResult<Choice> {
    let mut order: Vec<(&str, &UploadSpan)> = spans.iter().map(|(name, span)| (name.as_str(), span)).collect();
    order.sort_by_key(|(name, span)| (span.start, Reverse(span.end), Reverse(span.written), *name));
    let names: Vec<&str> = order.iter().map(|(name, _)| *name).collect();
    let overlaps = overlapping(&names, spans);
    let mut choice = Choice::default();
    if overlaps.is_empty() {
        return Ok(choice);
    }
    let differ = |(first, second): &(&str, &str)| match (spans.get(*first), spans.get(*second)) {
        (Some(first), Some(second)) => common_epochs(first, (second.start, second.end)) != common_epochs(second, (first.start, first.end)),
        _ => false,
    };
    if overlaps.iter().any(differ)
        && let Some(newest) = newest(spans)
    {
        let mut chain: Vec<(i64, i32)> = epochs_of(newest)?.into_iter().map(|(epoch, first)| (first, epoch)).collect();
        chain.sort_unstable();
        if chain.is_empty() {
            // The manifest of the newest upload has the epochs of its own offsets as well.
            chain = spans.get(newest).map(|span| span.epochs.clone()).unwrap_or_default();
        }
        let names: BTreeSet<&str> = overlaps.iter().flat_map(|(first, second)| [*first, *second]).collect();
        for (name, span) in spans.iter().filter(|(name, _)| names.contains(name.as_str())) {
            choice.cut_superseded(name, span, &chain, newest);
        }
    }
    choice.cut_repeated(&order);
    Ok(choice)
}

/// A lagging leader may have written further than the next leader: the epoch counts before the offset.
fn newest(spans: &Spans) -> Option<&str> {
    let rank = |span: &UploadSpan| (span.epochs.iter().map(|(_, epoch)| *epoch).max().unwrap_or(-1), span.end, span.written);
    // Of equal ones the first.
    spans.iter().rev().max_by_key(|(_, span)| rank(span)).map(|(name, _)| name.as_str())
}

/// Returns each upload with those before it that reach into it.
fn overlapping<'a>(order: &[&'a str], spans: &Spans) -> Vec<(&'a str, &'a str)> {
    let (mut reaching, mut found): (Vec<&str>, Vec<_>) = (Vec::new(), Vec::new());
    for name in order {
        let begin = start(spans, name);
        reaching.retain(|other| spans.get(*other).is_some_and(|other| other.end >= begin));
        found.extend(reaching.iter().map(|other| (*other, *name)));
        reaching.push(name);
    }
    found
}

fn start(spans: &Spans, name: &str) -> i64 {
    spans.get(name).map_or(0, |span| span.start)
}

impl Choice {
    /// Cuts off the records of an upload that are not in the log of the latest leader.
    fn cut_superseded(&mut self, name: &str, span: &UploadSpan, chain: &[(i64, i32)], newest: &str) {
        let Some(offset) = first_foreign(span, chain) else { return };
        let why = SkippedUpload { state: UploadState::Superseded, other: newest.to_owned() };
        if offset <= span.start {
            self.left_out.insert(name.to_owned(), why);
        } else {
            self.cuts.insert(name.to_owned(), (offset, why));
        }
    }

    /// Leaves out uploads that another one contains, and ends each upload where the next one begins.
    fn cut_repeated(&mut self, order: &[(&str, &UploadSpan)]) {
        let mut rest: Vec<(&str, &UploadSpan)> = order.iter().filter(|(name, _)| !self.left_out.contains_key(*name)).copied().collect();
        // Of two uploads with the same end the whole one is read, not the one that goes on with superseded records.
        rest.sort_by_key(|(name, span)| {
            (span.start, Reverse(self.end(name, span)), self.cuts.contains_key(*name), Reverse(span.written), *name)
        });
        let mut last: Option<(&str, &UploadSpan)> = None;
        for (name, span) in rest {
            let Some((last_name, last_span)) = last.filter(|(name, last)| self.end(name, last) >= span.start) else {
                last = Some((name, span));
                continue;
            };
            let (last_end, end) = (self.end(last_name, last_span), self.end(name, span));
            let duplicate = |other: &str| SkippedUpload { state: UploadState::Duplicate, other: other.to_owned() };
            if !are_same(last_span, span, last_end.min(end)) {
                self.undecided.insert(name.to_owned(), last_name.to_owned());
            } else if end <= last_end {
                let why = self.cuts.remove(name).map_or_else(|| duplicate(last_name), |(_, why)| why);
                self.left_out.insert(name.to_owned(), why);
                continue;
            } else {
                self.cuts.insert(last_name.to_owned(), (span.start, duplicate(name)));
            }
            last = Some((name, span));
        }
    }

    fn end(&self, name: &str, span: &UploadSpan) -> i64 {
        self.cuts.get(name).map_or(span.end, |(offset, _)| offset.saturating_sub(1))
    }
}

/// Returns the first offset with another epoch than in the chain. Before the chain, where a log was truncated, every epoch is valid.
fn first_foreign(span: &UploadSpan, chain: &[(i64, i32)]) -> Option<i64> {
    let (known_from, _) = chain.first()?;
    let inside = span.epochs.iter().chain(chain).map(|(first, _)| *first).filter(|first| span.start < *first && *first <= span.end);
    let borders: BTreeSet<i64> = std::iter::once(span.start).chain(inside).collect();
    borders.into_iter().filter(|at| at >= known_from).find(|at| {
        let epoch = epoch_at(&span.epochs, *at);
        epoch.is_some() && epoch != epoch_at(chain, *at)
    })
}

/// Returns true if the common offsets up to `end` have the same known epochs.
fn are_same(first: &UploadSpan, second: &UploadSpan, end: i64) -> bool {
    let both = (first.start.max(second.start), end);
    let (own, others) = (common_epochs(first, both), common_epochs(second, both));
    own == others && own.iter().all(|(_, epoch)| epoch.is_some())
}

/// Returns the epochs of the offsets of a span that are within a range as well, each with its first offset.
fn common_epochs(span: &UploadSpan, within: (i64, i64)) -> Vec<(i64, Option<i32>)> {
    let (start, end) = (span.start.max(within.0), span.end.min(within.1));
    let inside = span.epochs.iter().map(|(first, _)| *first).filter(|first| start < *first && *first <= end);
    std::iter::once(start).chain(inside).map(|at| (at, epoch_at(&span.epochs, at))).collect()
}

fn epoch_at(epochs: &[(i64, i32)], offset: i64) -> Option<i32> {
    let at = epochs.partition_point(|(first, _)| *first <= offset);
    at.checked_sub(1).and_then(|at| epochs.get(at)).map(|(_, epoch)| *epoch)
}

fn with_choice(mut candidate: FoundUpload, choice: &Choice, by_stem: &BTreeMap<String, FoundUpload>) -> FoundUpload {
    let stem = candidate.stem();
    if let Some(SkippedUpload { state, other }) = choice.left_out.get(&stem) {
        candidate.upload.state = *state;
        candidate.upload.reason = if *state == UploadState::Superseded {
            format!("superseded: its leader epochs are not those of the checkpoint with {other}")
        } else {
            format!("duplicate: {other} holds the same records; if that one is damaged, pass the .log of this one")
        };
        let offsets = (Some(candidate.upload.base_offset), candidate.upload.end_offset);
        return with_finding(candidate, Severity::Info, offsets, Some("TS-44"));
    }
    if let Some((offset, why)) = choice.cuts.get(&stem) {
        let other = &why.other;
        let cause = if why.state == UploadState::Superseded {
            format!("its leader epochs there are not those of the checkpoint with {other}")
        } else {
            format!("{other} holds the same records")
        };
        candidate.upload.reason = format!("not read from offset {offset} on: {cause}");
        candidate.upload.last_read = Some(offset.saturating_sub(1));
        let offsets = (Some(*offset), candidate.span.as_ref().map(|span| span.end));
        candidate = with_finding(candidate, Severity::Info, offsets, Some("TS-44"));
    }
    candidate.rival = choice.undecided.get(&stem).and_then(|other| by_stem.get(other)).map(|other| other.upload.path.clone());
    candidate
}

fn closed(mut candidate: FoundUpload, error: &str) -> FoundUpload {
    candidate.upload.reason = format!("{} overlaps with others, and cannot be decrypted to choose one: {error}", candidate.upload.path);
    candidate.is_closed = true;
    candidate
}

/// Adds to an upload that cannot be read whether another one holds its offsets.
fn with_gap(mut candidate: FoundUpload, uploads: &[FoundUpload], place: Option<&PartitionName>) -> FoundUpload {
    let is_damaged = candidate.upload.state == UploadState::Damaged;
    if !is_damaged && candidate.upload.state != UploadState::Unfinished {
        return candidate;
    }
    let first = candidate.upload.base_offset;
    let read = || uploads.iter().filter(|other| other.upload.state == UploadState::Finished);
    let following = read().map(|other| other.upload.base_offset).filter(|base| *base > first).min();
    let before = read().filter(|other| other.upload.base_offset <= first).map(|other| last_read(other, following));
    let covered = before.max().unwrap_or(first.saturating_sub(1));
    let own_last = candidate.span.as_ref().map(|span| span.end);
    let last = following.map_or(own_last, |following| Some(following.saturating_sub(1)));
    let is_gap = covered < first || last.is_some_and(|last| covered < last);
    if is_damaged && covered < first {
        if let Some(place) = place.filter(|_| candidate.upload.partition.topic.is_none()) {
            candidate.upload.partition = place.clone();
        }
        return FoundUpload { is_lost: true, ..candidate };
    }
    let begin = covered.saturating_add(1).max(first);
    // The manifest is uploaded last: an upload with a manifest was complete.
    if last.is_none() && (is_damaged || candidate.suffixes.contains(MANIFEST)) {
        return because(candidate, Severity::Warning, &format!("; offsets from {begin} on may be missing"), (Some(begin), None));
    }
    match last.filter(|_| is_gap) {
        Some(last) => because(candidate, Severity::Warning, &format!("; offsets {begin} to {last} are missing"), (Some(begin), Some(last))),
        // Without offsets: other uploads hold them.
        None if is_damaged => because(candidate, Severity::Warning, "", (None, None)),
        // An upload that is being written has no manifest yet, and is the last one.
        None => because(candidate, Severity::Info, "", (Some(first), None)),
    }
}

/// Returns the last offset that is read of an upload; if it is not known, the last one before the following upload.
fn last_read(candidate: &FoundUpload, following: Option<i64>) -> i64 {
    candidate.last_offset().unwrap_or_else(|| following.map_or(candidate.upload.base_offset, |following| following.saturating_sub(1)))
}

/// Adds a finding of the reason of an upload and more.
fn because(candidate: FoundUpload, severity: Severity, more: &str, offsets: (Option<i64>, Option<i64>)) -> FoundUpload {
    let reason = format!("{}{more}", candidate.upload.reason);
    let finding = finding(&candidate, severity, &reason, offsets, None);
    FoundUpload { finding: Some(finding), ..candidate }
}

fn with_finding(
    candidate: FoundUpload,
    severity: Severity,
    offsets: (Option<i64>, Option<i64>),
    rule: Option<&'static str>,
) -> FoundUpload {
    let finding = finding(&candidate, severity, &candidate.upload.reason, offsets, rule);
    FoundUpload { finding: Some(finding), ..candidate }
}

fn finding(
    candidate: &FoundUpload,
    severity: Severity,
    reason: &str,
    (base_offset, last_offset): (Option<i64>, Option<i64>),
    rule: Option<&'static str>,
) -> Finding {
    let log = &candidate.upload.path;
    let path = match log.strip_suffix(LOG).filter(|_| candidate.upload.state == UploadState::Damaged) {
        Some(stem) => format!("{stem}{MANIFEST}"),
        None => log.clone(),
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let text = reason.strip_prefix(&format!("{name}: ")).unwrap_or(reason);
    let finding = Finding::of_files(rule.unwrap_or(candidate.rule), severity, text, 0, 0).in_file(&path.as_str().into());
    Finding { base_offset, last_offset, ..finding }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn span(start: i64, end: i64, epochs: &[(i32, i64)], written: i64) -> UploadSpan {
        UploadSpan { start, end, epochs: epochs.iter().map(|(epoch, first)| (*first, *epoch)).collect(), written }
    }

    /// What is done with each upload: `""`, the state of one that is left out, `?`, or the offset of its cut.
    fn states_of(spans: &[UploadSpan], checkpoint: &[(i32, i64)]) -> Vec<String> {
        let spans: Spans = spans.iter().enumerate().map(|(at, span)| (at.to_string(), span.clone())).collect();
        let choice = chosen(&spans, |_| Ok(checkpoint.to_vec())).unwrap();
        let told = spans.keys().map(|name| match (choice.left_out.get(name), choice.cuts.get(name)) {
            (Some(why), _) => why.state.name().to_owned(),
            _ if choice.undecided.contains_key(name) => "?".to_owned(),
            (None, Some((offset, _))) => offset.to_string(),
            (None, None) => String::new(),
        });
        let told: Vec<String> = told.collect();
        if !told.contains(&"?".to_owned()) {
            let read = spans.iter().filter(|(name, _)| !choice.left_out.contains_key(*name));
            let mut offsets: Vec<i64> = read.flat_map(|(name, span)| span.start..=choice.end(name, span)).collect();
            let count = offsets.len();
            offsets.sort_unstable();
            offsets.dedup();
            assert_eq!(offsets.len(), count, "each offset is read once");
            assert_eq!(i64::try_from(count).unwrap(), offsets[count - 1] - offsets[0] + 1, "and none is missing");
        }
        told
    }

    /// TS-44: the checkpoint of the latest leader decides, as far as it goes back.
    #[test]
    fn of_overlapping_uploads_the_checkpoint_decides() {
        let s = span;
        for (spans, checkpoint, expected) in [
            // DeleteRecords cut the checkpoint at the start of the log, within the segment.
            (vec![s(400, 600, &[(5, 400)], 1), s(400, 600, &[(5, 400)], 2)], vec![(5, 500)], vec!["duplicate", ""]),
            // An unclean election: the older leader had written further.
            (
                vec![s(0, 150, &[(1, 0)], -1), s(0, 100, &[(1, 0)], -1), s(101, 120, &[(2, 101)], -1)],
                vec![(1, 0), (2, 101)],
                vec!["superseded", "", ""],
            ),
            (
                vec![s(0, 100, &[(1, 0)], -1), s(50, 150, &[(2, 50)], -1), s(101, 160, &[(1, 101)], -1)],
                vec![(1, 0), (2, 50)],
                vec!["50", "", "superseded"],
            ),
            // The only holder of offsets of the log is read as far as they are of the log.
            (vec![s(0, 150, &[(1, 0)], -1), s(101, 120, &[(2, 101)], -1)], vec![(1, 0), (2, 101)], vec!["101", ""]),
            // A leader whose segments have other borders: each ends where the next one begins, as in Kafka.
            (
                vec![s(0, 99, &[(1, 0)], -1), s(50, 149, &[(1, 50), (2, 120)], -1), s(130, 199, &[(2, 130)], -1)],
                vec![(1, 0), (2, 120)],
                vec!["50", "130", ""],
            ),
            // The new leader's segment is nested in that of the old one, whose end was cut off.
            (
                vec![s(0, 199, &[(1, 0)], -1), s(50, 99, &[(1, 50), (2, 80)], -1), s(100, 120, &[(2, 100)], -1)],
                vec![(1, 0), (2, 80)],
                vec!["50", "", ""],
            ),
            // Without a checkpoint the newest upload has the epochs of its own offsets.
            (vec![s(0, 99, &[(1, 0)], -1), s(50, 149, &[(2, 50)], -1)], vec![], vec!["50", ""]),
            // Before the checkpoint nothing shows which of two leaders' records were kept.
            (vec![s(0, 99, &[(1, 0)], -1), s(50, 149, &[(2, 50)], -1)], vec![(3, 200)], vec!["", "?"]),
            (vec![s(0, 99, &[], -1), s(50, 149, &[(2, 50)], -1)], vec![(2, 0)], vec!["", "?"]),
        ] {
            assert_eq!(states_of(&spans, &checkpoint), expected, "{spans:?}");
        }
    }

    /// TS-44: not that of the greatest offset; and none is asked for where leaders agree.
    #[test]
    fn the_checkpoint_that_decides_is_that_of_the_latest_epoch() {
        let asked = RefCell::new(Vec::new());
        let ask = |name: &str| {
            asked.borrow_mut().push(name.to_owned());
            Ok(Vec::new())
        };
        let mut spans: Spans =
            [("a", span(0, 150, &[(1, 0)], 9)), ("b", span(0, 100, &[(1, 0)], -1)), ("c", span(101, 120, &[(2, 101)], -1))]
                .map(|(name, span)| (name.to_owned(), span))
                .into();
        chosen(&spans, ask).unwrap();
        assert_eq!(*asked.borrow(), ["c"]);
        spans.remove("c");
        chosen(&spans, ask).unwrap();
        assert_eq!(*asked.borrow(), ["c"]);
    }
}
