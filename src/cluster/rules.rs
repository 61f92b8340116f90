//! The ids of the findings about clusters.

/// No metadata log: a cluster with ZooKeeper, or the directories of its controllers are missing.
pub(super) const NO_METADATA: &str = "CLU-1";
/// A snapshot of the metadata log that is not used.
pub(super) const SNAPSHOT: &str = "CLU-2";
/// Offsets of the metadata log that are in no snapshot and in no log.
pub(super) const GAP: &str = "CLU-3";
/// ClusterDirectories that disagree.
pub(super) const REPLICAS: &str = "CLU-4";
/// A metadata transaction without its end.
pub(super) const OPEN: &str = "CLU-5";
/// Log directories of several clusters.
pub(super) const CLUSTERS: &str = "CLU-6";
/// A directory of a partition that cannot be read.
pub(super) const UNREADABLE: &str = "CLU-7";
/// A partition of which no directory is there.
pub(super) const NO_REPLICA: &str = "CLU-8";
/// A directory of a partition that the metadata does not have.
pub(super) const STRAY: &str = "CLU-9";
