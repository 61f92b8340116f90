//! The metadata of a cluster from all snapshots and logs of it that are there: the newest complete state wins.

use std::collections::BTreeSet;

use super::context::ReadContext;
use super::copies::PartitionCopy;
use super::directories::{ClusterDirectories, MetadataSnapshot};
use super::records::{LogItem, RecordRange, read};
use super::rules;
use crate::error::{ErrorKind, Result, grouped};
use crate::framing::Tail;
use crate::internal_topics::Undecoded;
use crate::internal_topics::replay::Metadata;
use crate::model::ControlType;
use crate::validate::{Finding, Severity};

/// The metadata, and the offset after the last record in it.
pub(super) struct Replayed {
    pub metadata: Metadata,
    pub end: i64,
}

/// Replays the metadata of directories of the metadata log; `None` without any.
///
/// # Errors
/// If a file cannot be read that was there, and when the work is to stop.
pub(super) fn replay(
    copies: &[&PartitionCopy],
    directories: &ClusterDirectories,
    reading: ReadContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<Option<Replayed>> {
    let log = copies.iter().filter(|copy| copy.end.is_some()).max_by_key(|copy| copy.rank()).copied();
    if log.is_none() && directories.snapshots.is_empty() {
        return Ok(None);
    }
    compare(copies, log, reading, findings);
    let mut snapshots: Vec<_> = directories.snapshots.iter().collect();
    snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.end));
    let begin = log.and_then(|log| log.start).unwrap_or(i64::MAX);
    let end = log.map_or(0, |log| log.rank().1);
    let mut found = newest_complete(&snapshots, reading, findings)?;
    if found.is_none() && begin > 0 {
        // A part of a snapshot is better than none, and the finding says that it is a part.
        if let Some(snapshot) = snapshots.first() {
            let metadata = read_snapshot(snapshot, reading, &mut Vec::new())?.0;
            found = Some(Replayed { metadata, end: snapshot.end });
            findings.push(about(
                rules::SNAPSHOT,
                Severity::Error,
                "no snapshot is complete; the metadata is what this one holds",
                snapshot,
                reading,
            ));
        }
    }
    let mut state = found.unwrap_or_else(|| Replayed { metadata: Metadata::default(), end: 0 });
    let mut history = Metadata::default();
    if let Some(log) = log {
        if begin > state.end {
            let text = format!(
                "offsets {} to {} of the metadata log are in no snapshot and no log; what they changed is missing",
                state.end,
                begin.saturating_sub(1)
            );
            findings.push(Finding::of_files(rules::GAP, Severity::Error, text, 0, 0).in_file(&reading.storage.shown(&log.path).into()));
        }
        read_log(log, (&mut history, &mut state), reading, findings)?;
        state.end = state.end.max(end);
    }
    for snapshot in snapshots.iter().skip(1) {
        let (older, _) = read_snapshot(snapshot, reading, &mut Vec::new())?;
        history.topics.extend(older.topics);
    }
    remember_deleted(&mut state.metadata, history);
    if let Some(records) = state.metadata.open_records() {
        let text =
            format!("a metadata transaction of {} records has no end; it does not count", grouped(u64::try_from(records).unwrap_or(0)));
        findings.push(Finding::of_files(rules::OPEN, Severity::Info, text, 0, 0));
    }
    Ok(Some(state))
}

/// Topics that the history has and the state does not have were deleted.
fn remember_deleted(state: &mut Metadata, history: Metadata) {
    for (id, topic) in history.topics.into_iter().chain(history.deleted) {
        if !state.topics.contains_key(&id) {
            state.deleted.entry(id).or_insert(topic);
        }
    }
}

/// Reports copies of the metadata log that end elsewhere.
fn compare(copies: &[&PartitionCopy], best: Option<&PartitionCopy>, reading: ReadContext<'_>, findings: &mut Vec<Finding>) {
    let Some(best) = best else { return };
    let shown = |copy: &PartitionCopy| reading.storage.shown(&copy.path);
    let (best_epoch, best_end) = best.rank();
    for copy in copies.iter().filter(|copy| copy.end.is_some() && copy.rank() != best.rank()) {
        let (epoch, end) = copy.rank();
        let (severity, text) = if end > best_end {
            let text = format!(
                "this metadata log ends at offset {end} in leader epoch {epoch}; {} has leader epoch {best_epoch} and ends at {best_end}: the \
                 offsets after that do not count",
                shown(best)
            );
            (Severity::Warning, text)
        } else {
            (Severity::Info, format!("this metadata log ends at offset {end}; {} ends at {best_end} and is used", shown(best)))
        };
        findings.push(Finding::of_files(rules::REPLICAS, severity, text, 0, 0).in_file(&shown(copy).into()));
    }
}

fn newest_complete(snapshots: &[&MetadataSnapshot], reading: ReadContext<'_>, findings: &mut Vec<Finding>) -> Result<Option<Replayed>> {
    let mut seen = BTreeSet::new();
    for snapshot in snapshots {
        let mut found = Vec::new();
        let (metadata, problem) = read_snapshot(snapshot, reading, &mut found)?;
        let Some(problem) = problem else {
            findings.extend(found);
            return Ok(Some(Replayed { metadata, end: snapshot.end }));
        };
        if seen.insert(&snapshot.path) {
            findings.extend(found);
            findings.push(about(rules::SNAPSHOT, Severity::Warning, &format!("{problem}; the snapshot is not used"), snapshot, reading));
        }
    }
    Ok(None)
}

fn about(rule: &'static str, severity: Severity, text: &str, snapshot: &MetadataSnapshot, reading: ReadContext<'_>) -> Finding {
    Finding::of_files(rule, severity, text, 0, 0).in_file(&reading.storage.shown(&snapshot.path).into())
}

/// The metadata of a snapshot, and why it is not complete.
fn read_snapshot(
    snapshot: &MetadataSnapshot,
    reading: ReadContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<(Metadata, Option<&'static str>)> {
    let mut metadata = Metadata::default();
    let (mut is_first, mut has_header, mut has_footer, mut is_damaged) = (true, false, false, false);
    let tail = read(RecordRange::whole(&snapshot.path), reading, &mut |item| match item {
        LogItem::Record(record) => {
            let control = if record.batch.is_control() { ControlType::parse(record.key).ok() } else { None };
            has_header |= is_first && control == Some(ControlType::SnapshotHeader);
            has_footer = control == Some(ControlType::SnapshotFooter);
            is_first = false;
            let unread = metadata.add(record.offset, record.batch.is_control(), record.key, record.value);
            findings.extend(unread.into_iter().map(|(offset, undecoded)| unread_record(&snapshot.path, offset, undecoded, reading)));
        }
        LogItem::Damage(finding) => {
            is_damaged = true;
            findings.push(finding);
        }
    });
    let tail = match tail {
        Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) => return Ok((metadata, Some("the snapshot cannot be read"))),
        tail => tail?,
    };
    let problem = match tail {
        _ if !has_header => Some("the snapshot does not begin with a valid header record"),
        _ if is_damaged => Some("the snapshot is damaged"),
        Tail::Complete if has_footer => None,
        _ => Some("the snapshot is cut short: it does not end with a valid footer record"),
    };
    Ok((metadata, problem))
}

/// Replays the records of a log: those from the end of the snapshot on into the state, and earlier ones into the history.
fn read_log(
    log: &PartitionCopy,
    (history, state): (&mut Metadata, &mut Replayed),
    reading: ReadContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let from = state.end;
    for file in &log.files {
        let mut last = None;
        read(RecordRange::whole(&file.path), reading, &mut |item| match item {
            LogItem::Record(record) => {
                last = Some(record.offset);
                let is_control = record.batch.is_control();
                if record.offset < from {
                    history.add(record.offset, is_control, record.key, record.value);
                    return;
                }
                let unread = state.metadata.add(record.offset, is_control, record.key, record.value);
                findings.extend(unread.into_iter().map(|(offset, undecoded)| unread_record(&file.path, offset, undecoded, reading)));
            }
            LogItem::Damage(finding) => {
                if last.is_none_or(|last| last >= from) {
                    state.metadata.interrupt();
                }
                findings.push(finding);
            }
        })?;
    }
    Ok(())
}

/// The finding of a record that cannot be decoded.
pub(super) fn unread_record(path: &std::path::Path, offset: i64, undecoded: Undecoded, reading: ReadContext<'_>) -> Finding {
    let text = format!("record at offset {offset}: {undecoded}");
    let finding = Finding::of_files(undecoded.rule(), Severity::Warning, text, 0, 0).in_file(&reading.storage.shown(path).into());
    Finding { base_offset: Some(offset), last_offset: Some(offset), ..finding }
}
