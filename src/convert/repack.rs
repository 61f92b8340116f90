//! The records of a batch of magic 2 in another codec. The plain records stay byte for byte, and of the header all but codec, length and
//! checksum, unknown attribute bits too (V2-2).

use crate::codec::{Packer, Packing};
use crate::error::Result;
use crate::format::v2::write::{open, seal};
use crate::model::{BatchHeader, CompressionType};
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
    seal(out, start, &BatchHeader { attributes: header.attributes.with_compression(compression), ..*header })
}
