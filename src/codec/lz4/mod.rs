//! LZ4 as Kafka reads and writes it: exactly one frame of independent blocks.
//!
//! Sources: `Lz4BlockInputStream` of Kafka's clients 4.2, the LZ4 frame format 1.6. The frame is walked here and not by the library,
//! because Kafka's rules are its own: two header checksums, strict flags, content size and content checksum not verified,
//! and whatever follows the end mark ignored.

mod block;
mod compressor;
pub mod descriptor;
mod fast;
mod frame;
mod header_checksum;
mod oneshot;
mod pack;

pub use header_checksum::{ChecksumForm, FoundChecksum, HeaderChecksum};
pub use pack::Compressor;

use super::output::Output;
use super::{Remark, bad};
use crate::error::{Error, Result};
use crate::wire::as_u64;
use frame::Frame;
use xxhash_rust::xxh32::xxh32;

/// Unpacks the frame that `input` begins with.
pub(super) fn unpack(
    input: &[u8],
    accepted: HeaderChecksum,
    allows_dependent: bool,
    out: &mut Output<'_>,
    remarks: Option<&mut Vec<Remark>>,
) -> Result<()> {
    let (frame, blocks) = Frame::parse(input, accepted, allows_dependent)?;
    let Some(behind) = unpack_blocks(&frame, blocks, out)? else { return Ok(()) };
    let (checksum, rest) = frame.split_end(behind)?;
    if let Some(remarks) = remarks {
        remark(&frame, checksum, rest, out, remarks);
    }
    Ok(())
}

/// Unpacks all blocks; gives what follows the end mark, or nothing when no more is wanted.
fn unpack_blocks<'a>(frame: &Frame, mut rest: &'a [u8], out: &mut Output<'_>) -> Result<Option<&'a [u8]>> {
    loop {
        match frame.split_block(rest)? {
            (Some(block), behind) => {
                match block {
                    frame::Block::Packed(bytes) if frame.is_dependent() => block::unpack_dependent(bytes, frame.block_maximum, out)?,
                    _ => block::unpack(&block, frame.block_maximum, out)?,
                }
                if out.is_enough() {
                    return Ok(None);
                }
                rest = behind;
            }
            (None, behind) => return Ok(Some(behind)),
        }
    }
}

/// Looks at what Java does not verify (COD-L9, COD-L11).
fn remark(frame: &Frame, checksum: Option<u32>, rest: &[u8], out: &Output<'_>, remarks: &mut Vec<Remark>) {
    if let Some(found) = frame.odd_checksum {
        remarks.push(Remark::HeaderChecksum { found });
    }
    if frame.is_dependent() {
        remarks.push(Remark::DependentBlocks);
    }
    let found = as_u64(out.len());
    if let Some(declared) = frame.content_size.filter(|declared| *declared != found) {
        remarks.push(Remark::ContentSize { declared, found });
    }
    // Kafka's own writers store no checksum of the content, and to compute one takes a fifth of the time.
    if let Some(stored) = checksum {
        let computed = xxh32(out.from(0), 0);
        if stored != computed {
            remarks.push(Remark::ContentChecksum { stored, computed });
        }
    }
    if !rest.is_empty() {
        remarks.push(Remark::TrailingBytes { bytes: as_u64(rest.len()) });
    }
}

#[cold]
fn fault(rule: &'static str, fault: &'static str) -> Error {
    bad("lz4", rule, fault)
}
