//! The records of a batch in another codec. The records stay byte for byte, and so does the batch header except for codec, length and
//! checksum, unknown attribute bits too (V2-2).

use crate::codec::{Compression, Compressor};
use crate::error::Result;
use crate::format::{v2, v3};
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::wire::Sink;

/// Appends the batch to `out`. The first `metadata_len` bytes of the records are their metadata, before all payloads.
///
/// # Errors
/// `Limit` for a batch that is larger than its length field can hold.
pub fn recompress(
    header: &BatchHeader,
    (records, metadata_len): (&[u8], usize),
    compression: Option<Compression>,
    compressor: &mut Compressor,
    out: &mut Sink,
) -> Result<()> {
    let start = out.len();
    let compression_type = compression.map_or(CompressionType::None, Compression::compression_type);
    let header = BatchHeader { attributes: header.attributes.with_compression(compression_type), ..*header };
    match header.format {
        RecordFormat::V3 => v3::encode::open(out, &header),
        _ => v2::encode::open(out),
    }
    match compression {
        Some(compression) => compressor.compress_in_two(compression, (records, metadata_len), out)?,
        None => out.put(records),
    }
    match header.format {
        RecordFormat::V3 => v3::encode::seal(out, start),
        _ => v2::encode::seal(out, start, &header),
    }
}
