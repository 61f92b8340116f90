//! Segments with the files beside them, over anything that can be read by position: batch headers without what lies between them, and
//! the files that a log should have. Knows no paths.

/// The files beside a log held against it.
pub mod check;
/// Transactions of a partition.
pub mod committed;
/// Pieces that are read apart.
pub mod cuts;
/// Transactions by whole entries.
pub mod entries;
/// Batch headers, hopping over the records.
pub mod headers;
/// Entries of an index, tried one after the other.
mod hints;
/// Ranges and cuts that damage cannot mislead.
pub mod intact;
/// The batch of an offset or a timestamp, through the indexes.
pub mod lookup;
/// What a look-up shows of an index.
pub mod misled;
/// All files of a partition's directory.
pub mod partition;
/// What can be read by position.
pub mod read_at;
/// The files beside a log, made anew.
pub mod rebuild;
/// The end of a log that grows.
pub mod tail;
/// Times that no header tells.
pub mod untold_times;

pub use check::{AbortCheck, EpochCheck, IndexCheck};
pub use committed::Committed;
pub use cuts::Cut;
pub use entries::Entries;
pub use headers::Headers;
pub use lookup::{Lookup, Place, no_data_error};
pub use read_at::ReadAt;
pub use rebuild::{Rebuild, SegmentFiles};
pub use tail::{LastBatch, Tail};
