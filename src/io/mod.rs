//! Files: read by position, with no mapping, since a mapped file that shrinks kills the process.

mod file;
mod segment_check;
mod segments;
mod writeback;

pub use file::{FileRange, RandomFile};
pub use segment_check::{ensure_segment, has_next, named_offset, position_07};
pub use segments::{FileError, SegmentOptions, WrittenSegment, write_segments};
pub use writeback::Writeback;
