//! The stream that snappy-java's `SnappyOutputStream` writes, and with it every Java client and broker since 0.7 (COD-S1, COD-S8).

use snap::raw::{Encoder, max_compress_len};

use super::xerial::MAGIC;
use crate::error::{ErrorKind, Result};
use crate::wire::Sink;

/// Version and compatible version, both 1, big-endian.
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
const LENGTH_LEN: usize = 4;
/// The decompressed bytes of a chunk, as in snappy-java; its readers take chunks of any size (COD-S7).
const CHUNK_LEN: usize = 32 << 10;

/// The encoder with its hash table, made when the first data comes.
#[derive(Default)]
pub struct SnappyCompressor(Option<Encoder>);

impl SnappyCompressor {
    /// Compresses `input` in chunks; a chunk ends after the first `front` bytes. An empty stream is a header alone (COD-S6).
    pub(in crate::codec) fn compress(&mut self, (input, front): (&[u8], usize), out: &mut Sink) -> Result<()> {
        out.put(&MAGIC);
        out.put(&VERSIONS);
        let (front, rest) = input.split_at_checked(front).unwrap_or((input, &[]));
        for chunk in front.chunks(CHUNK_LEN).chain(rest.chunks(CHUNK_LEN)) {
            self.compress_chunk(chunk, out)?;
        }
        Ok(())
    }

    fn compress_chunk(&mut self, chunk: &[u8], out: &mut Sink) -> Result<()> {
        let length_at = out.len();
        out.put(&[0; LENGTH_LEN]);
        let encoder = self.0.get_or_insert_with(Encoder::new);
        let compressed = encoder.compress(chunk, out.unfilled(max_compress_len(chunk.len())));
        let compressed = compressed.map_err(|error| ErrorKind::Internal { what: format!("snappy: {error}") })?;
        out.fill(compressed);
        out.patch(length_at, &i32::try_from(compressed).unwrap_or(i32::MAX).to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cod_s1_s7_chunks_of_32_kib_after_one_header() {
        let mut out = Sink::default();
        SnappyCompressor::default().compress((&[0; CHUNK_LEN + 1], 0), &mut out).unwrap();
        assert!(out.bytes().starts_with(b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0"));
        assert!(out.bytes().ends_with(b"\0\0\0\x03\x01\0\0"));
    }

    #[test]
    fn cod_s6_an_empty_stream_is_a_header_alone() {
        let mut out = Sink::default();
        SnappyCompressor::default().compress((b"", 0), &mut out).unwrap();
        assert_eq!(out.bytes(), b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    }
}
