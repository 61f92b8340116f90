//! Files: read by position, with no mapping, since a mapped file that shrinks kills the process.

mod file;
mod segments;

pub use file::{FileRange, RandomFile};
pub use segments::{FileError, SegmentOptions, WrittenSegment, write_segments};
