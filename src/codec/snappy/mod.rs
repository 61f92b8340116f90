//! Snappy as Kafka's clients write it: one raw block, or the chunks of snappy-java ("xerial").
//!
//! Sources: `SnappyCompression` of Kafka's clients, `SnappyInputStream` and `SnappyCodec` of snappy-java 1.1.10.

mod block;
mod compress;
mod raw;
mod target;
mod xerial;

pub use compress::SnappyCompressor;
pub use xerial::MAGIC as XERIAL_MAGIC;

use super::CodecFinding;
use super::error::snappy_error;
use crate::error::Result;
use target::{BlockTarget, Declared, Within};

/// Decompresses a stream of either framing into `output`; returns the bytes written.
///
/// # Errors
/// `Codec` when the stream is corrupt, `Limit` when it does not fit into `output`.
pub fn decompress_to(input: &[u8], output: &mut [u8]) -> Result<usize> {
    let mut within = Within::new(output);
    decompress(input, &mut within, None)?;
    Ok(within.len())
}

/// Returns the bytes that a stream of either framing claims to decompress to, at most what its blocks can hold.
///
/// # Errors
/// `Codec` when the framing of the stream is corrupt.
pub fn decompressed_len(input: &[u8]) -> Result<usize> {
    let mut declared = Declared::default();
    decompress(input, &mut declared, None)?;
    Ok(declared.len())
}

/// Decompresses a stream of either framing.
pub(super) fn decompress(input: &[u8], out: &mut impl BlockTarget, findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
    if input.is_empty() {
        return Err(snappy_error("COD-S2", "the input is empty"));
    }
    match xerial::chunks(input) {
        Some(chunks) => xerial::decompress(chunks, out, findings),
        None => raw::decompress(input, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Sink;

    #[test]
    fn a_stream_is_decompressed_into_a_buffer_of_the_caller() {
        let input: Vec<u8> = (0..200_000_u32).map(|n| (n / 7).to_le_bytes()[0]).collect();
        let mut compressed = Sink::default();
        SnappyCompressor::default().compress((&input, 0), &mut compressed).unwrap();
        let mut output = vec![1; input.len() + 3];
        assert_eq!(decompressed_len(compressed.bytes()), Ok(input.len()));
        assert_eq!(decompress_to(compressed.bytes(), &mut output), Ok(input.len()));
        assert!(output.starts_with(&input) && output.ends_with(&[1; 3]));
        let short = decompress_to(compressed.bytes(), &mut output[..input.len() - 1]).unwrap_err();
        assert_eq!(short.kind().code(), "limit");
        assert_eq!(decompress_to(b"\x05\x10hello", &mut output), Ok(5));
        assert_eq!(decompress_to(b"\x05\x10hell", &mut output).map_err(|error| error.rule()), Err("COD-S1"));
        assert_eq!(decompressed_len(b"\xff\xff\xff\xff\x07\x10hello").map_err(|error| error.rule()), Err("COD-S9"));
    }
}
