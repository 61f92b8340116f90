//! The segments of a partition, wherever they lie: which there are, which bytes hold the wanted records, and where a log that grows ends.
//!
//! `Segment`, `Log`, the scans of Polars, the command line and the readers of Spark ask here, and nowhere else. Who asks gives the
//! `Storage`: files of this machine, of a store, or uploads of tiered storage.

mod arrange;
mod checkpoints;
mod counts;
pub mod discovery;
mod ends;
mod folder;
mod follow;
pub mod growing;
mod growing_log;
mod interrupted;
mod links;
mod log_start;
mod lookup;
pub mod names;
mod neighbours;
pub mod patterns;
mod piece;
mod reader;
mod replicas;
mod segment_file;
pub mod storage;
mod times;
mod transactions;
mod tree;
mod wanted;

pub use arrange::{lower_bounded, order_by_offsets, proven};
pub use checkpoints::{Checkpoints, HIGH_WATERMARKS, OffsetCheckpoint, log_directories};
pub use counts::{records_before, records_of_batch_before};
pub use discovery::{DiscoveredSegments, FindingsOf, PartitionSelection, SegmentSearch, by_partition, segment_at};
pub use follow::{EndDamage, Followed, Follower};
pub use growing_log::GrowingPartition;
pub use links::without_links;
pub use log_start::{deleted_records, log_starts};
pub use lookup::SegmentLookup;
pub use neighbours::{segments_of_directory, with_neighbours};
pub use piece::{PieceBytes, SegmentRange};
pub use reader::PartitionReader;
pub use replicas::{Replica, ReplicaChoice, replica_findings};
pub use segment_file::SegmentFile;
pub use storage::{AtDamage, DirectoryEntry, Listing, Storage, Uploaded, WantedEnds};
pub use times::{FoundRecord, TimeSearch, WantedTimes};
pub use transactions::{CommittedOptions, MarkedSegment, committed_transactions};
pub use tree::Tree;
pub use wanted::WantedRange;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
