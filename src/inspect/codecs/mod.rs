//! The frames that codecs put around compressed bytes, in the words of their formats.

pub(super) mod gzip;
pub(super) mod lz4;
pub(super) mod snappy;
pub(super) mod zstd;

use super::scribe::Scribe;
use crate::wire::{Field, Kind};

/// An unsigned little-endian field.
const fn little(name: &'static str, len: usize) -> Field {
    Field::new(name, Kind::Little(len))
}

/// Bytes that readers pass over behind the end of a stream (FND-8).
fn trailing(scribe: &mut Scribe<'_>) {
    if scribe.goes_on() {
        scribe.rest("trailingBytes");
        scribe.note("behind the end of the stream; readers pass over them");
    }
}
