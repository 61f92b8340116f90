//! Bytes to primitives: a cursor of named fields, variable-length integers, checksums. Has never heard of a batch.

pub mod checksum;
mod cursor;
mod length;
pub mod prefetch;
pub mod varint;

pub use cursor::Cursor;
pub use length::as_u64;
