use crate::error::Result;
use crate::format::record_batch;
use crate::model::BatchHeader;
use crate::wire::Sink;

/// Writes a batch of magic 2 or 3 after what `out` contains: its header, with the length and the checksum, and what `put_records` writes.
///
/// # Errors
/// What `put_records` fails with, `Limit` for a batch that is larger than its length field can hold.
pub fn put_batch(header: &BatchHeader, out: &mut Sink, put_records: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
    let start = out.len();
    record_batch::open(out, header);
    put_records(out)?;
    record_batch::seal(out, start, header)
}
