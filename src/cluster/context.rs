//! How the files of a cluster are read, and where its metadata is.

use crate::limits::Limits;
use crate::partition::Storage;

/// The topic of the metadata log.
pub(super) const METADATA_TOPIC: &str = "__cluster_metadata";
/// Its one directory in a log directory.
pub(super) const METADATA_DIRECTORY: &str = "__cluster_metadata-0";

/// How files are read.
#[derive(Clone, Copy)]
pub(super) struct ReadContext<'a> {
    pub(super) limits: Limits,
    pub(super) storage: &'a dyn Storage,
}
