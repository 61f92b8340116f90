//! The stream that snappy-java's `SnappyOutputStream` writes, and with it every Java client and broker since 0.7 (COD-S1, COD-S8).

use super::elements::{self, CHUNK};
use super::xerial::MAGIC;
use crate::codec::matches::Matcher;
use crate::error::{ErrorKind, Result};
use crate::wire::Sink;

/// Version and compatible version, both 1, big-endian.
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
const LENGTH_LEN: usize = 4;

/// The encoder with its hash table, made when the first data comes.
#[derive(Default)]
pub struct Encoder(Matcher);

impl Encoder {
    /// Packs `plain` in chunks; none for nothing, as a header alone is an empty stream (COD-S6). A chunk ends behind the first `front` bytes.
    pub(in crate::codec) fn pack(&mut self, (plain, front): (&[u8], usize), out: &mut Sink) -> Result<()> {
        out.put(&MAGIC);
        out.put(&VERSIONS);
        let (front, rest) = plain.split_at_checked(front).unwrap_or((plain, &[]));
        for chunk in front.chunks(CHUNK).chain(rest.chunks(CHUNK)) {
            self.pack_chunk(chunk, out)?;
        }
        Ok(())
    }

    fn pack_chunk(&mut self, chunk: &[u8], out: &mut Sink) -> Result<()> {
        let length_at = out.len();
        out.put(&[0; LENGTH_LEN]);
        let packed = elements::pack(&mut self.0, chunk, out.room(bound(chunk.len())));
        // The bound is the most that a chunk packs to.
        let packed = packed.ok_or_else(|| ErrorKind::Internal { what: "a chunk of snappy is longer than its bound".to_owned() })?;
        out.fill(packed);
        out.patch(length_at, &i32::try_from(packed).unwrap_or(i32::MAX).to_be_bytes());
        Ok(())
    }
}

/// The most bytes that `len` bytes pack to, as snappy itself reckons.
fn bound(len: usize) -> usize {
    32 + len + len / 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cod_s1_s7_chunks_of_64_kib_behind_one_header() {
        let mut out = Sink::default();
        Encoder::default().pack((&[0; CHUNK + 1], 0), &mut out).unwrap();
        assert!(out.bytes().starts_with(b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0"));
        assert!(out.bytes().ends_with(b"\0\0\0\x03\x01\0\0"));
    }

    #[test]
    fn cod_s6_nothing_is_a_header_alone() {
        let mut out = Sink::default();
        Encoder::default().pack((b"", 0), &mut out).unwrap();
        assert_eq!(out.bytes(), b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    }
}
