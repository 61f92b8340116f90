//! Gzip: members one after the other, as one stream.
//!
//! Sources: `GzipCompression` of Kafka's clients, `GZIPInputStream` of JDK 17, RFC 1952. A member is decompressed in one go when its size
//! can be guessed, as nearly always; else, or if the guess was wrong, by a streaming inflater, which also decides on corrupt data.

mod libdeflate;
mod member;
mod streaming;

pub use libdeflate::GzipCompressor;

/// The flags of a member's header.
pub mod flag {
    pub use super::member::{COMMENT, EXTRA, HEADER_CRC, NAME};
}

use super::output::Output;
use super::{CodecFinding, Decompressed};
use crate::error::Result;
use crate::limits::Budget;
use crate::wire::{as_u64, to_len};

/// The sizes and the checksum of the deflated data of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Bytes of deflated data.
    pub deflated: usize,
    /// Bytes of the decompressed data.
    pub decompressed: usize,
    /// The checksum of the decompressed data.
    pub crc: u32,
}

/// Measures the deflated data that `body` begins with; ignores its trailer.
///
/// # Errors
/// `Codec` when the data is corrupt, `Limit` when it decompresses to more than the budget.
pub fn measure(body: &[u8], budget: &Budget) -> Result<Measured> {
    let mut buffer = Decompressed::default();
    let mut output = Output::new(&mut buffer, budget)?;
    let rest = streaming::StreamingInflater::default().inflate(body, &mut output)?;
    Ok(Measured { deflated: body.len() - rest.len(), decompressed: buffer.len(), crc: crc32fast::hash(buffer.bytes()) })
}

/// Bytes of buffer that a member gets on the claim of its trailer alone.
const TRUSTED: usize = 8 << 20;
/// Or this many bytes for each of its own; records rarely compress better.
const TRUSTED_RATIO: usize = 64;

/// Bytes of buffer after the guessed size: libdeflate takes its slow path in the last 300 bytes of its output.
const MARGIN: usize = 512;

/// The inflating contexts, made when the first member comes.
#[derive(Default)]
pub(super) struct GzipDecompressor {
    oneshot: libdeflate::OneShotInflater,
    streaming: streaming::StreamingInflater,
}

impl GzipDecompressor {
    /// Decompresses all members. Bytes after the last member that are not a member are ignored, as in Java (COD-G2).
    pub(super) fn decompress(&mut self, input: &[u8], out: &mut Output<'_>, findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
        if out.is_watched() {
            return self.decompress_watched(input, out);
        }
        let mut rest = self.decompress_member(member::split_header(input)?, out)?;
        while let Some(body) = member::next(rest) {
            rest = self.decompress_member(body, out)?;
        }
        if let (Some(findings), false) = (findings, rest.is_empty()) {
            findings.push(CodecFinding::TrailingBytes { bytes: as_u64(rest.len()) });
        }
        Ok(())
    }

    /// Decompresses members piece by piece, until the output is enough.
    fn decompress_watched(&mut self, input: &[u8], out: &mut Output<'_>) -> Result<()> {
        let mut next = Some(member::split_header(input)?);
        while let Some(body) = next {
            let start = out.len();
            let Some(trailer) = self.streaming.inflate_watched(body, out)? else { return Ok(()) };
            next = member::next(member::verify(out.from(start), trailer)?);
        }
        Ok(())
    }

    /// Decompresses the member whose deflated data `body` begins with, and returns the bytes after its trailer.
    fn decompress_member<'a>(&mut self, body: &'a [u8], out: &mut Output<'_>) -> Result<&'a [u8]> {
        let start = out.len();
        let trailer = match self.inflate_at_once(body, out)? {
            Some(trailer) => trailer,
            None => self.streaming.inflate(body, out)?,
        };
        member::verify(out.from(start), trailer)
    }

    /// Tries to decompress `body` into a buffer of the size that the trailer declares; returns the bytes after the deflated data.
    fn inflate_at_once<'a>(&mut self, body: &'a [u8], out: &mut Output<'_>) -> Result<Option<&'a [u8]>> {
        let Some(size) = guess(body).filter(|size| *size <= out.left()) else {
            return Ok(None);
        };
        let buffer = out.unfilled(size + MARGIN)?;
        // Not the whole buffer: the result for corrupt data must not depend on the entries before it.
        let given = buffer.len().min(size + MARGIN);
        let Some(inflated) = self.oneshot.inflate(body, buffer.get_mut(..given).unwrap_or_default()) else {
            return Ok(None);
        };
        out.fill(inflated.written);
        Ok(body.get(inflated.read..))
    }
}

/// Returns the size that the last four bytes of the stream declare, if it may be trusted. Right for a single member without garbage after it.
fn guess(body: &[u8]) -> Option<usize> {
    let size = to_len(u32::from_le_bytes(*body.last_chunk::<4>()?));
    (size <= body.len().saturating_mul(TRUSTED_RATIO).max(TRUSTED)).then_some(size)
}
