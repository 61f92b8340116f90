//! Files, read by position and never written to: no mapping, since a mapped file that shrinks kills the process.

mod file;

pub use file::{FileRange, RandomFile};
