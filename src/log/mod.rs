//! Segments with the files next to them, over anything that can be read by position: batch headers without what lies between them, and
//! the files that a log should have. Knows no paths.

/// Batches one by one.
pub mod batches;
/// Where a log begins and ends.
pub mod bounds;
/// Transactions of a partition.
pub mod committed;
/// Transactions by whole entries.
pub mod committed_entries;
/// Batch headers, hopping over the records.
pub mod headers;
/// Entries of an index, tried one after the other.
mod index_search;
/// Snapshots of the metadata log of KRaft.
pub mod kraft_snapshot;
/// The end of a log that grows.
pub mod log_end;
/// The batch of an offset or a timestamp, through the indexes.
pub mod lookup;
/// What a file looks like that is not a segment.
pub mod not_a_segment;
/// All files of a partition's directory.
pub mod partition;
/// What can be read by position.
pub mod read_at;
/// The headers of a log that is read front to back.
pub mod recorded;
/// The files next to a log held against it.
pub mod sidecar_check;
/// The files next to a log, made anew.
pub mod sidecar_rebuild;
/// Pieces that are read apart.
pub mod splits;
/// The last stable offset of a log that grows.
pub mod stable_offset;
/// The batches of a time.
pub mod times;
/// Transactions one by one.
pub mod transaction_history;

pub use batches::{Batch, BatchTrust, Batches};
pub use committed_entries::{Committed, EntrySource};
pub use headers::BatchHeaders;
pub use log_end::{GrowingLog, LastBatch, LogEnd};
pub use lookup::{BatchLookup, Lookup, no_data_error};
pub use read_at::ReadAt;
pub use recorded::{RecordedHeaders, Recording};
pub use sidecar_check::{AbortCheck, EpochCheck, IndexCheck};
pub use sidecar_rebuild::{SegmentFiles, SidecarRebuild};
pub use splits::SegmentSplit;
pub use stable_offset::StableOffset;
pub use times::hides_times;
pub use transaction_history::TransactionHistory;
