//! The frames that codecs put around compressed bytes, in the words of their formats.

pub(super) mod gzip;
pub(super) mod lz4;
pub(super) mod snappy;
pub(super) mod zstd;

use super::field_writer::FieldWriter;
use crate::wire::{WireField, WireKind};

/// An unsigned little-endian field.
const fn little(name: &'static str, len: usize) -> WireField {
    WireField::new(name, WireKind::Little(len))
}

/// Bytes that readers skip after the end of a stream (FND-8).
fn trailing(writer: &mut FieldWriter<'_>) {
    if writer.goes_on() {
        writer.rest("trailingBytes");
        writer.note("after the end of the stream; readers skip them");
    }
}
