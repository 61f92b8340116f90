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
mod layout;
mod liblz4;

pub use compress::Lz4Compressor;
pub use empty_block::{EntryLen, NO_ENTRIES};
pub use header_checksum::{ChecksumForm, FoundChecksum, HeaderChecksum};

use super::CodecFinding;
use super::output::Output;
use crate::error::Result;
use crate::quirks::Quirks;
use crate::wire::as_u64;
use empty_block::EntryWalk;
use frame::Lz4Frame;
use xxhash_rust::xxh32::xxh32;

/// How a frame is read.
#[derive(Clone, Copy)]
pub(super) struct FrameOptions {
    /// The header checksums that are accepted.
    pub(super) accepted: HeaderChecksum,
    /// The lengths of the entries in the frame.
    pub(super) entry_len: EntryLen,
    /// The deviations that are accepted.
    pub(super) quirks: Quirks,
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

/// True for bytes that begin as a frame does.
pub fn is_lz4_frame(input: &[u8]) -> bool {
    input.starts_with(&layout::MAGIC)
}

/// Decompresses the frame that `input` begins with.
pub(super) fn decompress(input: &[u8], read: FrameOptions, out: &mut Output<'_>, findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
    let (frame, blocks) = Lz4Frame::parse(input, read.accepted, read.quirks)?;
    match (decompress_blocks(&frame, blocks, read.entry_len, out)?, findings) {
        (End::Mark(after), findings) => {
            let (checksum, rest) = frame.split_end(after)?;
            if let Some(findings) = findings {
                report(&frame, checksum, rest, out, findings);
            }
        }
        (End::EmptyBlock(after), Some(findings)) => {
            report_header(&frame, findings);
            findings.push(CodecFinding::EmptyBlock { bytes: as_u64(after.len()) });
        }
        (End::EmptyBlock(_) | End::Enough, _) => {}
    }
    Ok(())
}

/// Decompresses all blocks that Kafka reads.
fn decompress_blocks<'a>(frame: &Lz4Frame, mut rest: &'a [u8], entry_len: EntryLen, out: &mut Output<'_>) -> Result<End<'a>> {
    let mut entries = EntryWalk::new(entry_len);
    loop {
        let (block, after) = frame.split_block(rest)?;
        let Some(block) = block else { return Ok(End::Mark(after)) };
        let before = out.len();
        match block {
            frame::Lz4Block::Compressed(bytes) if frame.is_dependent() => block::decompress_dependent(bytes, frame.block_maximum, out)?,
            _ => block::decompress(&block, frame.block_maximum, out)?,
        }
        if out.is_enough() {
            return Ok(End::Enough);
        }
        if out.len() == before && entries.end_at_empty_block(out.from(0)) {
            return Ok(End::EmptyBlock(after));
        }
        rest = after;
    }
}

/// Reports what Java does not verify (COD-L9, COD-L11).
fn report(frame: &Lz4Frame, checksum: Option<u32>, rest: &[u8], out: &Output<'_>, findings: &mut Vec<CodecFinding>) {
    report_header(frame, findings);
    let found = as_u64(out.len());
    if let Some(declared) = frame.content_size.filter(|declared| *declared != found) {
        findings.push(CodecFinding::ContentSize { declared, found });
    }
    // Kafka's own writers store no checksum of the content, and computing it takes a fifth of the time.
    if let Some(stored) = checksum {
        let computed = xxh32(out.from(0), 0);
        if stored != computed {
            findings.push(CodecFinding::ContentChecksum { stored, computed });
        }
    }
    if !rest.is_empty() {
        findings.push(CodecFinding::TrailingBytes { bytes: as_u64(rest.len()) });
    }
}

fn report_header(frame: &Lz4Frame, findings: &mut Vec<CodecFinding>) {
    if let Some(found) = frame.odd_checksum {
        findings.push(CodecFinding::HeaderChecksum { found });
    }
    if frame.is_dependent() {
        findings.push(CodecFinding::DependentBlocks);
    }
}
