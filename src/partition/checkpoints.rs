//! Offset checkpoint files of a broker's log directory: names and segments go in, offsets by topic and partition come out.
//!
//! A broker keeps them in the directory above those of partitions, one line for each partition (SEG-9). Source: `OffsetCheckpointFile` in Kafka.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{SegmentFile, Storage};
use crate::error::{ErrorKind, Result};
use crate::sidecar::checkpoint::{self, PartitionOffset};
use crate::sidecar::{ParsedSidecar, SidecarFinding};
use crate::validate::Finding;

/// The high watermarks of partitions: no leader change cuts off offsets below them (SEG-9).
pub const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";
/// The offsets up to which partitions are flushed. A broker writes them at the same times as the log start offsets.
const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
/// The log start offsets of partitions: retention or a request deleted the records below them (SEG-9).
pub const LOG_STARTS: &str = "log-start-offset-checkpoint";

/// A checkpoint file.
#[derive(Debug)]
pub struct OffsetCheckpoint {
    /// The file.
    pub path: PathBuf,
    /// The offset of each topic and partition; empty if the file cannot be read.
    pub offsets: HashMap<(String, i32), i64>,
    /// Why the file cannot be read.
    pub problem: Option<String>,
}

/// Checkpoint files of brokers' log directories, each read once.
pub struct Checkpoints<'a> {
    storage: &'a dyn Storage,
    read: HashMap<PathBuf, Option<Rc<OffsetCheckpoint>>>,
}

impl<'a> Checkpoints<'a> {
    /// Those of a storage.
    pub fn of(storage: &'a dyn Storage) -> Self {
        Self { storage, read: HashMap::new() }
    }

    /// The file of that name in the log directory of a segment; `None` without such a file, and for tiered storage.
    ///
    /// # Errors
    /// When the work is to stop.
    pub fn next_to(&mut self, segment: &SegmentFile, name: &str) -> Result<Option<Rc<OffsetCheckpoint>>> {
        if self.storage.is_uploaded(&segment.path) {
            return Ok(None);
        }
        let path = self.storage.joined(&log_directory(segment, self.storage), name);
        if let Some(known) = self.read.get(&path) {
            return Ok(known.clone());
        }
        let found = read(&path, name, self.storage)?.map(Rc::new);
        self.read.insert(path, found.clone());
        Ok(found)
    }
}

/// The directories at or below paths that hold the directories of the partitions of segments. The paths are absolute.
pub fn log_directories(files: &[SegmentFile], paths: &[PathBuf], storage: &dyn Storage) -> Vec<PathBuf> {
    let with_slash = |path: &Path| format!("{}/", storage.shown(path).trim_end_matches('/'));
    let named: Vec<_> = paths.iter().map(|path| with_slash(path)).collect();
    let mut known: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut found: Vec<PathBuf> = Vec::new();
    for file in files.iter().filter(|file| file.is_listed && !storage.is_uploaded(&file.path)) {
        let above = known.entry(file.directory()).or_insert_with(|| log_directory(file, storage));
        if !found.contains(above) {
            found.push(above.clone());
        }
    }
    found.retain(|directory| named.iter().any(|path| with_slash(directory).starts_with(path)));
    found
}

/// The directory above that of a segment.
fn log_directory(segment: &SegmentFile, storage: &dyn Storage) -> PathBuf {
    let directory = storage.absolute(&segment.directory());
    directory.parent().map_or_else(|| directory.clone(), Path::to_owned)
}

/// The entries of a file and what is wrong with them; `None` if there is no file.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn parsed(path: &Path, storage: &dyn Storage) -> Result<Option<ParsedSidecar<PartitionOffset>>> {
    Ok(storage.read(path)?.map(|bytes| checkpoint::parse_offsets(&bytes)))
}

fn read(path: &Path, name: &str, storage: &dyn Storage) -> Result<Option<OffsetCheckpoint>> {
    let made = |offsets, problem| Some(OffsetCheckpoint { path: path.to_owned(), offsets, problem });
    let found = match parsed(path, storage) {
        Err(error) => match error.kind() {
            ErrorKind::Io { kind: std::io::ErrorKind::NotADirectory, .. } => return Ok(None),
            // A store that grants the objects of a partition alone refuses any other name, whether or not it exists.
            ErrorKind::Io { kind: std::io::ErrorKind::PermissionDenied, .. } if storage.is_stored(path) => return Ok(None),
            ErrorKind::Io { message, .. } => {
                let problem = message.split(" (os error").next().unwrap_or_default();
                return Ok(made(HashMap::new(), Some(problem.to_owned())));
            }
            _ => return Err(error),
        },
        found => found?,
    };
    let Some(ParsedSidecar { entries, findings }) = found else { return Ok(None) };
    let Some(first) = findings.first() else {
        let offsets = entries.into_iter().map(|entry| ((entry.topic, entry.partition), entry.offset)).collect();
        return Ok(made(offsets, None));
    };
    if name == LOG_STARTS && is_empty(&findings) && is_unwritten(path, storage)? {
        return Ok(made(HashMap::new(), None));
    }
    let problem = Finding::of_sidecar(first.clone(), &storage.shown(path).into()).kind.to_string();
    Ok(made(HashMap::new(), Some(problem)))
}

/// True for empty log start offsets of a broker that has started for the first time and not written them yet.
fn is_unwritten(path: &Path, storage: &dyn Storage) -> Result<bool> {
    match parsed(&path.with_file_name(RECOVERY_POINTS), storage) {
        Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) => Ok(false),
        written => Ok(written?.is_some_and(|written| is_empty(&written.findings))),
    }
}

/// True for the findings of an empty file: one about no bytes.
fn is_empty(findings: &[SidecarFinding]) -> bool {
    matches!(findings, [finding] if finding.length == 0)
}
