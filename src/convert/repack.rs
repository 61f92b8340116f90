//! The records of a batch of magic 2 in another codec. The plain records stay byte for byte, and of the header all but codec, length and
//! checksum, unknown attribute bits too (V2-2).

use crate::codec::{Packer, Packing};
use crate::error::Result;
use crate::format::v2::write::{open, seal};
use crate::model::{Attributes, BatchHeader, CompressionType};
use crate::wire::Sink;

/// Writes the batch behind what `out` holds.
///
/// # Errors
/// `Limit` for a batch that is larger than its length can say.
pub fn repack(header: &BatchHeader, plain: &[u8], packing: Option<Packing>, packer: &mut Packer, out: &mut Sink) -> Result<()> {
    let start = out.len();
    open(out);
    match packing {
        Some(packing) => packer.pack(packing, plain, out)?,
        None => out.put(plain),
    }
    let compression = packing.map_or(CompressionType::None, Packing::compression_type);
    seal(out, start, &BatchHeader { attributes: with_compression(header.attributes, compression), ..*header })
}

fn with_compression(attributes: Attributes, compression: CompressionType) -> Attributes {
    const MASK: i16 = 0x07;
    Attributes(attributes.0 & !MASK | i16::from(compression.id()))
}
