//! LZ4 as Kafka reads and writes it: exactly one frame of independent blocks.
//!
//! Sources: `Lz4BlockInputStream` of Kafka's clients 4.2, the LZ4 frame format 1.6. The frame is walked here and not by the library,
//! because Kafka's rules are its own: two header checksums, strict flags, content size and content checksum not verified,
//! and whatever follows the end mark ignored.

mod block;
mod compress;
pub mod descriptor;
mod empty_block;
mod frame;
mod header_checksum;
mod liblz4;

pub use compress::Compressor;
pub use empty_block::{EntryLen, NO_ENTRIES};
pub use header_checksum::{ChecksumForm, FoundChecksum, HeaderChecksum};

use super::output::Output;
use super::{Remark, bad};
use crate::error::{Error, Result};
use crate::wire::as_u64;
use empty_block::Entries;
use frame::Frame;
use xxhash_rust::xxh32::xxh32;

/// How a frame is read.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// The header checksums that are accepted.
    pub(super) accepted: HeaderChecksum,
    /// The lengths of the entries in the frame.
    pub(super) entry_len: EntryLen,
    /// Whether blocks may depend on each other.
    pub(super) allows_dependent: bool,
}

/// Where the blocks of a frame end, with the bytes after that place.
enum End<'a> {
    /// At the end mark.
    Mark(&'a [u8]),
    /// After a block that decompressed to nothing, where Kafka stops reading.
    EmptyBlock(&'a [u8]),
    /// Where the caller has enough.
    Enough,
}

/// Decompresses the frame that `input` begins with.
pub(super) fn unpack(input: &[u8], read: Reading, out: &mut Output<'_>, remarks: Option<&mut Vec<Remark>>) -> Result<()> {
    let (frame, blocks) = Frame::parse(input, read.accepted, read.allows_dependent)?;
    match (unpack_blocks(&frame, blocks, read.entry_len, out)?, remarks) {
        (End::Mark(behind), remarks) => {
            let (checksum, rest) = frame.split_end(behind)?;
            if let Some(remarks) = remarks {
                remark(&frame, checksum, rest, out, remarks);
            }
        }
        (End::EmptyBlock(behind), Some(remarks)) => {
            remark_header(&frame, remarks);
            remarks.push(Remark::EmptyBlock { bytes: as_u64(behind.len()) });
        }
        (End::EmptyBlock(_) | End::Enough, _) => {}
    }
    Ok(())
}

/// Decompresses all blocks that Kafka reads.
fn unpack_blocks<'a>(frame: &Frame, mut rest: &'a [u8], entry_len: EntryLen, out: &mut Output<'_>) -> Result<End<'a>> {
    let mut entries = Entries::new(entry_len);
    loop {
        let (block, behind) = frame.split_block(rest)?;
        let Some(block) = block else { return Ok(End::Mark(behind)) };
        let before = out.len();
        match block {
            frame::Block::Packed(bytes) if frame.is_dependent() => block::unpack_dependent(bytes, frame.block_maximum, out)?,
            _ => block::unpack(&block, frame.block_maximum, out)?,
        }
        if out.is_enough() {
            return Ok(End::Enough);
        }
        if out.len() == before && entries.end_at_empty_block(out.from(0)) {
            return Ok(End::EmptyBlock(behind));
        }
        rest = behind;
    }
}

/// Looks at what Java does not verify (COD-L9, COD-L11).
fn remark(frame: &Frame, checksum: Option<u32>, rest: &[u8], out: &Output<'_>, remarks: &mut Vec<Remark>) {
    remark_header(frame, remarks);
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

fn remark_header(frame: &Frame, remarks: &mut Vec<Remark>) {
    if let Some(found) = frame.odd_checksum {
        remarks.push(Remark::HeaderChecksum { found });
    }
    if frame.is_dependent() {
        remarks.push(Remark::DependentBlocks);
    }
}

#[cold]
fn fault(rule: &'static str, fault: &'static str) -> Error {
    bad("lz4", rule, fault)
}
