//! The log directories of brokers and controllers below paths: whose they are, the snapshots of the metadata log, the ids of topics.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::rules;
use crate::error::Result;
use crate::log::kraft_snapshot;
use crate::partition::patterns::matching;
use crate::partition::{Storage, Tree};
use crate::sidecar::checkpoint;
use crate::validate::{Finding, Severity};

/// A directory with a `meta.properties`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogDirectory {
    /// The directory.
    pub path: PathBuf,
    /// Id of the broker or controller.
    pub node: Option<i32>,
    /// Id of the cluster.
    pub cluster: Option<String>,
    /// Id of the directory.
    pub directory: Option<String>,
}

/// A snapshot of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetadataSnapshot {
    /// The file.
    pub path: PathBuf,
    /// The first offset of the log that it does not hold.
    pub end: i64,
}

/// What the directories below paths hold, besides segments.
#[derive(Debug, Default)]
pub(super) struct ClusterDirectories {
    /// By path.
    pub logs: Vec<LogDirectory>,
    /// Of all metadata logs.
    pub snapshots: Vec<MetadataSnapshot>,
    /// The topic ids of directories of partitions, in text form.
    pub topic_ids: HashMap<PathBuf, String>,
}

impl ClusterDirectories {
    /// Looks at the directories of paths, and of the paths that match patterns.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist, and others of the storage.
    pub fn find(paths: &[PathBuf], storage: &dyn Storage, findings: &mut Vec<Finding>) -> Result<Self> {
        let mut found = Self::default();
        for path in paths {
            for path in matching(path, storage)? {
                found.look_at(&path, storage, findings)?;
            }
        }
        found.logs.dedup();
        let clusters: Vec<_> = found.logs.iter().filter_map(|log| log.cluster.as_deref()).collect();
        if let Some(other) = clusters.iter().find(|cluster| Some(*cluster) != clusters.first()) {
            let first = clusters.first().copied().unwrap_or_default();
            let text = format!("the log directories are of several clusters, {first} and {other}; read one cluster at a time");
            findings.push(Finding::of_files(rules::CLUSTERS, Severity::Warning, text, 0, 0));
        }
        Ok(found)
    }

    /// The log directory of the directory of a partition.
    pub fn log_of(&self, partition: &Path, storage: &dyn Storage) -> Option<&LogDirectory> {
        let above = storage.absolute(partition).parent().map(Path::to_owned)?;
        self.logs.iter().find(|log| log.path == above)
    }

    fn look_at(&mut self, path: &Path, storage: &dyn Storage, findings: &mut Vec<Finding>) -> Result<()> {
        let base = storage.entry(&storage.untiered(path))?;
        if !base.is_directory {
            return Ok(());
        }
        let mut tree = Tree::of(&base.path, crate::partition::names::is_skipped, storage)?;
        while let Some((directory, listing)) = tree.next_directory()? {
            for file in &listing.files {
                match file.name.as_str() {
                    "meta.properties" => self.add_log(&directory, &file.path, storage, findings)?,
                    "partition.metadata" => self.add_topic_id(&directory, &file.path, storage)?,
                    name => {
                        let of_metadata = directory.file_name().is_some_and(|name| name == super::context::METADATA_DIRECTORY);
                        let end = kraft_snapshot::end_offset(name).filter(|_| of_metadata);
                        self.snapshots.extend(end.map(|end| MetadataSnapshot { path: file.path.clone(), end }));
                    }
                }
            }
        }
        Ok(())
    }

    fn add_log(&mut self, directory: &Path, file: &Path, storage: &dyn Storage, findings: &mut Vec<Finding>) -> Result<()> {
        let Some(bytes) = storage.read(file)? else { return Ok(()) };
        for problem in checkpoint::check_meta_properties(&bytes) {
            findings.push(Finding::of_sidecar(problem, &storage.shown(file).into()));
        }
        let value = |name: &str| checkpoint::property(&bytes, name);
        let log = LogDirectory {
            path: storage.absolute(directory),
            node: ["node.id", "broker.id"].iter().find_map(|name| value(name)?.parse().ok()),
            cluster: value("cluster.id").filter(|id| !id.is_empty()),
            directory: value("directory.id"),
        };
        if !self.logs.contains(&log) {
            self.logs.push(log);
        }
        Ok(())
    }

    fn add_topic_id(&mut self, directory: &Path, file: &Path, storage: &dyn Storage) -> Result<()> {
        let id = storage.read(file)?.and_then(|bytes| checkpoint::parse_topic_id(&bytes).entries.pop());
        self.topic_ids.extend(id.map(|id| (storage.absolute(directory), id)));
        Ok(())
    }
}
