//! The directories of a partition: where each begins and ends, from headers and the files next to the log. Nothing is decompressed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::context::ReadContext;
use super::directories::ClusterDirectories;
use super::rules;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Tail;
use crate::limits::Limits;
use crate::log::{BatchHeaders, sidecar_rebuild};
use crate::model::Formats;
use crate::partition::growing::{EndOptions, segment_end};
use crate::partition::{AtDamage, SegmentFile, Storage, log_starts, order_by_offsets};
use crate::sidecar::{ProducerEntry, Producers, producer_snapshot};
use crate::validate::{Finding, Severity};

/// A directory of a partition.
#[derive(Clone, Debug, Default)]
pub struct PartitionCopy {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// The directory.
    pub path: PathBuf,
    /// Id of the topic in its text form, by `partition.metadata`.
    pub topic_id: Option<String>,
    /// Id of the broker, by `meta.properties`.
    pub broker: Option<i32>,
    /// Its segments, in the order of their offsets.
    pub files: Vec<SegmentFile>,
    /// Bytes of the segments.
    pub size: u64,
    /// Log start offset.
    pub start: Option<i64>,
    /// Where it ends; `None` if it cannot be read.
    pub end: Option<CopyEnd>,
    /// How its last segment ends: "clean", "torn", "damaged" or "unreadable".
    pub health: &'static str,
    /// Another directory of the partition has more, or a newer leader epoch.
    pub is_behind: bool,
    /// It has the same topic id as the metadata; also if one of them does not have it.
    pub is_current: bool,
}

/// The end of a directory.
#[derive(Clone, Debug, Default)]
pub struct CopyEnd {
    /// The offset after the last valid batch.
    pub offset: i64,
    /// The first offset of the oldest open transaction, or `offset`.
    pub stable: i64,
    /// The leader epoch of the last batch; -1 without one.
    pub leader_epoch: i32,
    /// The newest timestamp of the last segment, ms; -1 without one.
    pub timestamp: i64,
    /// The producers, by id.
    pub producers: Vec<ProducerEntry>,
}

impl PartitionCopy {
    /// What decides which directory is the best: leader epoch and end offset.
    pub fn rank(&self) -> (i32, i64) {
        self.end.as_ref().map_or((i32::MIN, i64::MIN), |end| (end.leader_epoch, end.offset))
    }
}

/// The directories of partitions of segments.
///
/// # Errors
/// When the work is to stop. A directory that cannot be read has a finding.
pub(super) fn find(
    files: &[SegmentFile],
    directories: &ClusterDirectories,
    reading: ReadContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<Vec<PartitionCopy>> {
    let storage = reading.storage;
    let (starts, noted) = log_starts(files, storage)?;
    findings.extend(noted);
    let mut groups: Vec<(PathBuf, Vec<SegmentFile>)> = Vec::new();
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    for (file, log_start) in files.iter().zip(starts) {
        if file.topic.is_none() || file.partition.is_none() {
            continue;
        }
        let directory = file.directory();
        let at = *known.entry(directory.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push((directory, Vec::new()));
        }
        if let Some((_, own)) = groups.get_mut(at) {
            own.push(SegmentFile { log_start, ..file.clone() });
        }
    }
    let mut copies = Vec::with_capacity(groups.len());
    for (directory, own) in groups {
        storage.interrupt().ensure_wanted()?;
        copies.push(copy_of((&directory, &own), directories, reading, findings)?);
    }
    Ok(copies)
}

fn copy_of(
    (directory, files): (&Path, &[SegmentFile]),
    directories: &ClusterDirectories,
    reading: ReadContext<'_>,
    findings: &mut Vec<Finding>,
) -> Result<PartitionCopy> {
    let storage = reading.storage;
    let files = order_by_offsets(files, true, storage)?;
    let first = files.first();
    let mut copy = PartitionCopy {
        topic: first.and_then(|file| file.topic.clone()).unwrap_or_default(),
        partition: first.and_then(|file| file.partition).unwrap_or(-1),
        path: directory.to_owned(),
        topic_id: directories.topic_ids.get(&storage.absolute(directory)).cloned(),
        broker: directories.log_of(directory, storage).and_then(|log| log.node),
        health: "unreadable",
        is_current: true,
        ..PartitionCopy::default()
    };
    copy.start = first.map(|file| file.log_start.unwrap_or(i64::MIN).max(file.base()));
    findings.extend(files.iter().filter_map(|file| file.finding.clone()));
    let read = sizes(&files, storage).and_then(|size| {
        copy.size = size;
        end_of(&files, reading)
    });
    copy.files = files;
    match read {
        Ok((end, health)) => {
            copy.health = health;
            copy.end = Some(end);
        }
        Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) || error.is_about_data() || error.is_unreadable() => {
            findings.push(unreadable(&copy, &error, storage))
        }
        Err(error) => return Err(error),
    }
    Ok(copy)
}

fn sizes(files: &[SegmentFile], storage: &dyn Storage) -> Result<u64> {
    files.iter().try_fold(0_u64, |total, file| Ok(total.saturating_add(file.size(storage)?)))
}

fn unreadable(copy: &PartitionCopy, error: &Error, storage: &dyn Storage) -> Finding {
    let text = format!("the directory cannot be read: {error}; its offsets are unknown");
    Finding::of_files(rules::UNREADABLE, Severity::Error, text, 0, 0).in_file(&storage.shown(&copy.path).into())
}

/// The end of a partition, and how its last segment ends.
fn end_of(files: &[SegmentFile], ReadContext { limits, storage }: ReadContext<'_>) -> Result<(CopyEnd, &'static str)> {
    let Some(last) = files.last() else { return Ok((CopyEnd::default(), "clean")) };
    if last.is_of_0_7() {
        let size = i64::try_from(last.size(storage)?).unwrap_or(i64::MAX);
        let offset = last.base().saturating_add(size);
        return Ok((CopyEnd { offset, stable: offset, leader_epoch: -1, timestamp: -1, producers: Vec::new() }, "clean"));
    }
    let options = EndOptions { formats: Formats::Every, limits, skips_damage: true, is_checked: true };
    let found = segment_end(last, options, None, storage)?;
    let health = match found.end.tail {
        Tail::Complete | Tail::Zeros { .. } => "clean",
        Tail::Torn { .. } => "torn",
        Tail::Damaged { .. } => "damaged",
    };
    let offset = found.next_offset();
    let (begin, producers) = known_producers(files, storage);
    let mut walk = CopyWalk { producers, leader_epoch: -1, timestamp: -1, end: offset };
    for file in files.get(begin..).unwrap_or_default() {
        walk.visit(file, limits, storage)?;
    }
    let mut producers = walk.producers.snapshot();
    producers.sort_unstable_by_key(|producer| producer.producer_id);
    let open = producers.iter().map(|producer| producer.current_txn_first_offset).filter(|first| *first >= 0).min();
    let stable = open.unwrap_or(offset).min(offset);
    Ok((CopyEnd { offset, stable, leader_epoch: walk.leader_epoch, timestamp: walk.timestamp, producers }, health))
}

/// The number of the first segment whose headers must be read, and the producers before it: those of the newest valid snapshot.
fn known_producers(files: &[SegmentFile], storage: &dyn Storage) -> (usize, Producers) {
    for (at, file) in files.iter().enumerate().rev() {
        let path = file.directory().join(sidecar_rebuild::name(file.base(), "snapshot"));
        let Ok(Some(bytes)) = storage.read(&path) else { continue };
        let parsed = producer_snapshot::parse(&bytes, file.base());
        if parsed.is_valid() {
            return (at, Producers::from_snapshot(&parsed.entries));
        }
    }
    (0, Producers::default())
}

/// Follows headers to the end of a partition.
struct CopyWalk {
    producers: Producers,
    leader_epoch: i32,
    timestamp: i64,
    /// The offset after the last valid batch.
    end: i64,
}

impl CopyWalk {
    fn visit(&mut self, file: &SegmentFile, limits: Limits, storage: &dyn Storage) -> Result<()> {
        let (log, len) = storage.open(&file.path, AtDamage::GoOn)?;
        let mut headers = BatchHeaders::new(&*log, limits, 0, len).sparing();
        let interrupt = storage.interrupt();
        loop {
            interrupt.ensure_wanted()?;
            let header = match headers.next_header() {
                Ok(Some(header)) if header.last_offset < self.end => header,
                Ok(_) => return Ok(()),
                // The records of the segment are for `verify`.
                Err(error) if error.is_about_data() => return Ok(()),
                Err(error) => return Err(error),
            };
            let marker = if header.producer.id >= 0 { headers.marker(&header)? } else { None };
            self.producers.visit(&header, marker);
            self.leader_epoch = self.leader_epoch.max(header.partition_leader_epoch);
            self.timestamp = self.timestamp.max(header.max_timestamp);
        }
    }
}
