//! The records of a batch in another codec. The plain records stay byte for byte, and of the header all but codec, length and checksum,
//! unknown attribute bits too (V2-2).

use crate::codec::{Packer, Packing};
use crate::error::Result;
use crate::format::{v2, v3};
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::wire::Sink;

/// Writes the batch behind what `out` holds. Of the plain records the first `metadata_len` bytes stand before all payloads.
///
/// # Errors
/// `Limit` for a batch that is larger than its length can say.
pub fn repack(
    header: &BatchHeader,
    (plain, metadata_len): (&[u8], usize),
    packing: Option<Packing>,
    packer: &mut Packer,
    out: &mut Sink,
) -> Result<()> {
    let start = out.len();
    let compression = packing.map_or(CompressionType::None, Packing::compression_type);
    let header = BatchHeader { attributes: header.attributes.with_compression(compression), ..*header };
    match header.format {
        RecordFormat::V3 => v3::encode::open(out, &header),
        _ => v2::encode::open(out),
    }
    match packing {
        Some(packing) => packer.pack_in_two(packing, (plain, metadata_len), out)?,
        None => out.put(plain),
    }
    match header.format {
        RecordFormat::V3 => v3::encode::seal(out, start),
        _ => v2::encode::seal(out, start, &header),
    }
}
