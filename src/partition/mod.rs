//! The segments of a partition, wherever they lie: which there are, which bytes hold the wanted records, and where a log that grows ends.
//!
//! `Segment`, `Log`, the scans of Polars, the command line and the readers of Spark ask here, and nowhere else. Who asks gives the
//! `Storage`: files of this machine, of a store, or uploads of tiered storage.

mod arrange;
pub mod growing;
mod lookup;
pub mod names;
mod piece;
mod reader;
mod segment_file;
pub mod storage;
mod times;
mod wanted;

pub use arrange::{arranged, lower_bounded, proven};
pub use lookup::SegmentLookup;
pub use piece::{PartitionPiece, PieceBytes};
pub use reader::PartitionReader;
pub use segment_file::SegmentFile;
pub use storage::{AtDamage, Entry, Listing, Storage, Uploaded};
pub use times::{FoundRecord, TimeSearch, Times};
pub use wanted::Wanted;
