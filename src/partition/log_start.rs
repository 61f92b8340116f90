//! Where partitions start: segments go in, segments with the log start offset that every reader honours come out, and findings.
//!
//! A broker deletes whole segments. Records below a log start offset inside a segment stay in the file, and `log-start-offset-checkpoint` in
//! the directory above is the only place that shows that they were deleted (docs/project/decisions, 0011).
//! Source: `LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd` and `LogManager.loadLogs` in Kafka.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::checkpoints::{Checkpoints, LOG_STARTS, OffsetCheckpoint};
use super::counts::{highest_end, records_before};
use super::ends::{end_by_headers, next_offset};
use super::names::{PartitionKey, is_upload, partition_of};
use super::neighbours::segments_of_directory;
use super::storage::is_io;
use super::{SegmentFile, Storage};
use crate::error::{Result, grouped};
use crate::validate::{Finding, Severity};

/// Records below the log start offset.
const BELOW_START: &str = "SEG-19";
/// A log start offset above the end of the log.
const ABOVE_END: &str = "SEG-20";
/// A file of a log directory or partition that cannot be read.
const UNREADABLE: &str = "SEG-21";

/// Return the log start offset of the partition of each segment.
///
/// The segments of a directory that was searched have the log start offset of its partition, a file that was named has none. Returns also
/// warnings: a log start offset above the end of its log (SEG-20), which does not count, and a checkpoint file that cannot be read (SEG-21).
///
/// # Errors
/// If a segment cannot be read.
pub fn log_starts(files: &[SegmentFile], storage: &dyn Storage) -> Result<(Vec<Option<i64>>, Vec<Finding>)> {
    let names = named_partitions(files, storage);
    let has_log_start = |file: &SegmentFile| has_log_start(file, storage).then(|| names.get(&file.directory())).flatten();
    let mut at: HashMap<PathBuf, usize> = HashMap::new();
    let mut groups: Vec<(PathBuf, &PartitionKey, Vec<SegmentFile>)> = Vec::new();
    for file in files {
        let Some(name) = has_log_start(file) else { continue };
        let directory = file.directory();
        match at.get(&directory).and_then(|at| groups.get_mut(*at)) {
            Some((_, _, own)) => own.push(file.clone()),
            None => {
                at.insert(directory.clone(), groups.len());
                groups.push((directory, name, vec![file.clone()]));
            }
        }
    }
    let (mut starts, mut findings) = (HashMap::new(), LogStartFindings::default());
    let mut checkpoints = Checkpoints::of(storage);
    for (directory, name, own) in groups {
        let Some(first) = own.first() else { continue };
        let Some(checkpoint) = checkpoints.next_to(first, LOG_STARTS)? else { continue };
        if checkpoint.problem.is_some() {
            findings.put(&checkpoint.path, unreadable(&checkpoint, storage));
            continue;
        }
        let (start, finding) = log_start(&own, name, &checkpoint, storage)?;
        if let Some(finding) = finding {
            findings.put(&directory, finding);
        }
        starts.insert(directory, start);
    }
    let start_of = |file| has_log_start(file).and_then(|_| starts.get(&file.directory()).copied().flatten());
    Ok((files.iter().map(start_of).collect(), findings.found))
}

/// An information (SEG-19) for each partition with records below its log start offset.
///
/// The segments have their log start offsets, those of a partition are one after the other. A partition that is read from its log start offset
/// on, or later, has no finding: `start_offset` is the first offset that is read.
///
/// # Errors
/// If a file cannot be read.
pub fn deleted_records(files: &[SegmentFile], start_offset: Option<i64>, storage: &dyn Storage) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for own in files.chunk_by(|one, other| one.directory() == other.directory()) {
        let Some((first, start)) = own.first().and_then(|first| Some((first, first.log_start?))) else { continue };
        if start_offset.is_some_and(|offset| offset >= start) {
            continue;
        }
        let below = records_before(own, Some(start), storage)?;
        if below > 0 {
            findings.push(below_start(first, start, below, storage));
        }
    }
    Ok(findings)
}

/// Findings by what they are about, the last of each.
#[derive(Default)]
struct LogStartFindings {
    at: HashMap<PathBuf, usize>,
    found: Vec<Finding>,
}

impl LogStartFindings {
    fn put(&mut self, about: &Path, finding: Finding) {
        match self.at.get(about).and_then(|at| self.found.get_mut(*at)) {
            Some(known) => *known = finding,
            None => {
                self.at.insert(about.to_owned(), self.found.len());
                self.found.push(finding);
            }
        }
    }
}

/// The partitions of the directories of segments.
fn named_partitions(files: &[SegmentFile], storage: &dyn Storage) -> HashMap<PathBuf, PartitionKey> {
    let mut names = HashMap::new();
    let mut last: Option<PathBuf> = None;
    for directory in files.iter().map(SegmentFile::directory) {
        if last.as_ref() == Some(&directory) {
            continue;
        }
        let above = storage.absolute(&directory);
        let name = above.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if let Some((topic, partition)) = partition_of(&name) {
            names.insert(directory.clone(), (topic.to_owned(), partition));
        }
        last = Some(directory);
    }
    names
}

/// True for a segment in a broker's directory that was searched.
fn has_log_start(file: &SegmentFile, storage: &dyn Storage) -> bool {
    let is_plain = file.is_listed && file.base_offset.is_some() && !file.is_of_0_7() && !storage.is_uploaded(&file.path);
    is_plain && !is_upload(&file.name())
}

/// The log start offset that counts in a partition, and the finding of one that does not count.
fn log_start(
    files: &[SegmentFile],
    name: &PartitionKey,
    checkpoint: &OffsetCheckpoint,
    storage: &dyn Storage,
) -> Result<(Option<i64>, Option<Finding>)> {
    let start = checkpoint.offsets.get(name).copied();
    let Some(start) = start.filter(|start| files.iter().any(|file| file.base() < *start)) else { return Ok((None, None)) };
    let mut end = end_before(files, start, storage)?;
    if let Some(first) = files.first().filter(|_| end.is_some()) {
        // The broker may have rolled a segment since the directory was listed.
        end = match segments_of_directory(first, storage).and_then(|files| end_before(&files, start, storage)) {
            Err(error) if is_io(&error) => end,
            found => found?,
        };
    }
    let Some(end) = end else { return Ok((Some(start), None)) };
    Ok((None, Some(above_end(files, start, end, storage)?)))
}

/// The log end offset by valid batches if it is below the log start offset.
fn end_before(files: &[SegmentFile], start: i64, storage: &dyn Storage) -> Result<Option<i64>> {
    match end_by_batches(files, start, storage) {
        Err(error) if error.is_not_found() => Ok(None),
        end => Ok(end?.filter(|end| *end < start)),
    }
}

fn end_by_batches(files: &[SegmentFile], start: i64, storage: &dyn Storage) -> Result<Option<i64>> {
    let mut last: Option<&SegmentFile> = None;
    for file in files {
        last = if last.is_none_or(|last| file.base() > last.base()) { Some(file) } else { last };
    }
    let Some(last) = last.filter(|last| last.base() < start) else { return Ok(None) };
    match end_by_headers(last, storage) {
        Ok(end) if end >= start => return Ok(None),
        Err(error) if !error.is_about_data() => return Err(error),
        _ => {}
    }
    // A segment may contradict its name, and a damaged header may hide the batches after it.
    let mut end = i64::MIN;
    for file in files {
        end = end.max(next_offset(file, storage)?);
    }
    if end < start {
        // No checksum covers a base offset: the last batch need not have the last offsets.
        for file in files {
            end = end.max(highest_end(file, storage)?);
        }
    }
    Ok(Some(end))
}

fn below_start(file: &SegmentFile, start: i64, below: u64, storage: &dyn Storage) -> Finding {
    let were = if below == 1 { "was" } else { "were" };
    let text = format!(
        "{} below the log start offset {start} {were} deleted ({LOG_STARTS}); log_start_offset=\"ignore\" or --ignore-log-start-offset \
         includes them",
        records(below)
    );
    let finding = Finding::of_files(BELOW_START, Severity::Info, text, 0, 0).in_file(&storage.shown(&file.path).into());
    Finding { base_offset: file.base_offset, last_offset: Some(start.saturating_sub(1)), ..finding }
}

fn above_end(files: &[SegmentFile], start: i64, end: i64, storage: &dyn Storage) -> Result<Finding> {
    let text = format!(
        "the log start offset {start} in {LOG_STARTS} is above the log end offset {end}, so that it does not count here; a broker that starts \
         with these files deletes all segments, with {}",
        records(records_before(files, None, storage)?)
    );
    let path = files.first().map(|file| storage.shown(&file.path)).unwrap_or_default();
    Ok(Finding::of_files(ABOVE_END, Severity::Warning, text, 0, 0).in_file(&path.into()))
}

fn unreadable(checkpoint: &OffsetCheckpoint, storage: &dyn Storage) -> Finding {
    let problem = checkpoint.problem.as_deref().unwrap_or_default();
    let text = format!("{problem}; the log start offsets are unknown, so each partition is read from its first segment");
    Finding::of_files(UNREADABLE, Severity::Warning, text, 0, 0).in_file(&storage.shown(&checkpoint.path).into())
}

fn records(number: u64) -> String {
    format!("{} record{}", grouped(number), if number == 1 { "" } else { "s" })
}
