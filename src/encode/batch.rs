use crate::error::Result;
use crate::format::{v2, v3};
use crate::model::{BatchHeader, RecordFormat};
use crate::wire::Sink;

/// Writes a batch of magic 2 or 3 after what `out` contains: its header, with the length and the checksum, and what `put_records` writes.
///
/// # Errors
/// What `put_records` fails with, `Limit` for a batch that is larger than its length field can hold.
pub fn put_batch(header: &BatchHeader, out: &mut Sink, put_records: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
    let start = out.len();
    match header.format {
        RecordFormat::V3 => v3::encode::open(out, header),
        _ => v2::encode::open(out),
    }
    put_records(out)?;
    match header.format {
        RecordFormat::V3 => v3::encode::seal(out, start),
        _ => v2::encode::seal(out, start, header),
    }
}
