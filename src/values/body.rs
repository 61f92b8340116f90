//! Payloads that are compressed inside of a value.

use std::io::Read as _;

use flate2::read::{DeflateDecoder, ZlibDecoder};

use zstd::zstd_safe;

use super::payload::{Problem, Read};

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Body {
    /// It is not.
    #[default]
    Plain,
    /// With zlib.
    Zlib,
    /// With deflate, without the header of zlib.
    Deflate,
    /// With snappy, and the CRC-32 of the decompressed bytes (big-endian) after it.
    Snappy,
    /// With zstd.
    Zstd,
}

/// Most bytes that a payload is decompressed to.
const MOST_BYTES: usize = 64 << 20;
/// Most bytes that the window of zstd takes.
const MOST_WINDOW_LOG: u32 = 26;

impl Body {
    /// Decompresses a payload into `scratch`; the payload itself if it is not compressed.
    ///
    /// # Errors
    /// `Text` for bytes that are not compressed like this; `Limit` for too many.
    pub fn opened<'s>(self, payload: &'s [u8], scratch: &'s mut Vec<u8>) -> Read<&'s [u8]> {
        scratch.clear();
        match self {
            Self::Plain => return Ok(payload),
            Self::Zlib => inflate(ZlibDecoder::new(payload), scratch)?,
            Self::Deflate => inflate(DeflateDecoder::new(payload), scratch)?,
            Self::Snappy => unsnap(payload, scratch)?,
            Self::Zstd => unzstd(payload, scratch)?,
        }
        Ok(scratch)
    }
}

fn inflate(from: impl std::io::Read, scratch: &mut Vec<u8>) -> Read<()> {
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let read = from.take(most + 1).read_to_end(scratch);
    read.map_err(|error| Problem::Text(format!("the payload is not compressed with zlib: {error}")))?;
    ensure_moderate(scratch.len())
}

fn unsnap(payload: &[u8], scratch: &mut Vec<u8>) -> Read<()> {
    let bad = |problem: String| Problem::Text(format!("the payload is not compressed with snappy: {problem}"));
    let (block, crc) = payload.split_last_chunk::<4>().ok_or_else(|| bad("fewer than 4 bytes".to_owned()))?;
    let len = snap::raw::decompress_len(block).map_err(|error| bad(error.to_string()))?;
    ensure_moderate(len)?;
    // A byte of snappy gives at most 64 bytes or so.
    if len > block.len().saturating_mul(64) {
        return Err(Box::new(bad(format!("{len} bytes in {}", block.len()))));
    }
    scratch.resize(len, 0);
    let found = snap::raw::Decoder::new().decompress(block, scratch).map_err(|error| bad(error.to_string()))?;
    scratch.truncate(found);
    if crate::wire::checksum::crc32(scratch) != u32::from_be_bytes(*crc) {
        return Err(Box::new(bad("the checksum does not match".to_owned())));
    }
    Ok(())
}

fn unzstd(payload: &[u8], scratch: &mut Vec<u8>) -> Read<()> {
    let bad = |code: usize| Problem::Text(format!("the payload is not compressed with zstd: {}", zstd_safe::get_error_name(code)));
    let mut context = zstd_safe::DCtx::create();
    context.set_parameter(zstd_safe::DParameter::WindowLogMax(MOST_WINDOW_LOG)).map_err(bad)?;
    let mut input = zstd_safe::InBuffer::around(payload);
    let mut part = vec![0; zstd_safe::DCtx::out_size()];
    loop {
        let mut output = zstd_safe::OutBuffer::around(part.as_mut_slice());
        let hint = context.decompress_stream(&mut output, &mut input).map_err(bad)?;
        let taken = output.as_slice();
        scratch.extend_from_slice(taken);
        ensure_moderate(scratch.len())?;
        if hint == 0 && input.pos() == payload.len() {
            return Ok(());
        }
        if taken.is_empty() && input.pos() == payload.len() {
            return Err(Box::new(Problem::Text("the payload is not compressed with zstd: it ends too early".to_owned())));
        }
    }
}

fn ensure_moderate(len: usize) -> Read<()> {
    let allowed = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    if len > MOST_BYTES { Err(Box::new(Problem::Limit { limit: "decompressed bytes of a value", allowed })) } else { Ok(()) }
}
