//! Files: read by position, with no mapping, since a mapped file that shrinks kills the process; and written whole or not at all.

mod file;
mod segments;
mod whole_file;

pub use file::{FileRange, RandomFile};
pub use segments::{FileError, SegmentOptions, WrittenSegment, write_segments};
pub use whole_file::WholeFile;
