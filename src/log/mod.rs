//! Segments with the files next to them, over anything that can be read by position: batch headers without what lies between them, and
//! the files that a log should have. Knows no paths.

/// Where a log begins and ends.
pub mod bounds;
/// Transactions of a partition.
pub mod committed;
/// The end of a log that grows.
pub mod growing;
/// Batch headers, hopping over the records.
pub mod headers;
/// Entries of an index, tried one after the other.
mod index_search;
/// The batch of an offset or a timestamp, through the indexes.
pub mod lookup;
/// All files of a partition's directory.
pub mod partition;
/// What can be read by position.
pub mod read_at;
/// The files next to a log held against it.
pub mod sidecar_check;
/// The files next to a log, made anew.
pub mod sidecar_rebuild;
/// Pieces that are read apart.
pub mod splits;
/// Transactions one by one.
pub mod transaction_history;
/// Transactions by whole entries.
pub mod transaction_scan;

pub use committed::Committed;
pub use growing::{GrowingLog, LastBatch};
pub use headers::Headers;
pub use lookup::{Lookup, Place, no_data_error};
pub use read_at::ReadAt;
pub use sidecar_check::{AbortCheck, EpochCheck, IndexCheck};
pub use sidecar_rebuild::{Rebuild, SegmentFiles};
pub use splits::Split;
pub use transaction_history::TransactionHistory;
pub use transaction_scan::Entries;
