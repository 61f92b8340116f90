//! Bytes to primitives and back: a cursor of named fields, a sink, variable-length integers, checksums. Has never heard of a batch.

pub mod checksum;
mod cursor;
mod field;
pub mod huge_pages;
pub mod json_text;
mod length;
pub mod prefetch;
mod sink;
mod text;
pub mod varint;

pub use cursor::Cursor;
pub use field::{WireField, WireKind};
pub use length::{as_u64, to_len};
pub use sink::{FieldSink, Sink};
pub use text::java_text;
