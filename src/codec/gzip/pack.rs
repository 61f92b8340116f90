//! One member without name and time, as Java writes it (COD-G1).

use super::deflate::Deflater;
use super::fast;
use super::member::HEADER;
use crate::error::{ErrorKind, Result};
use crate::wire::Sink;
use std::ops::RangeInclusive;

/// Levels that our own compressor packs, all alike: smaller than libdeflate at the first and sooner than it at the last.
const OWN_LEVELS: RangeInclusive<u8> = 3..=6;

/// The packing contexts.
#[derive(Default)]
pub struct Compressor {
    own: fast::Compressor,
    others: Deflater,
}

impl Compressor {
    /// Packs `plain`.
    pub(in crate::codec) fn pack(&mut self, plain: &[u8], level: u8, out: &mut Sink) -> Result<()> {
        if !OWN_LEVELS.contains(&level) {
            return self.others.pack(plain, level, out);
        }
        out.put(&HEADER);
        let Some(written) = self.own.pack(plain, out.room(fast::bound(plain.len()))) else {
            return Err(ErrorKind::Internal { what: "deflated data is larger than its bound".to_owned() }.into());
        };
        out.fill(written);
        out.put(&crc32fast::hash(plain).to_le_bytes());
        let [a, b, c, d, ..] = plain.len().to_le_bytes();
        out.put(&[a, b, c, d]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cod_g1_the_header_has_neither_name_nor_time_at_any_level() {
        for level in 1..=9 {
            let mut out = Sink::default();
            Compressor::default().pack(b"hello", level, &mut out).unwrap();
            let (header, _) = out.bytes().split_at(HEADER.len());
            // libdeflate tells of its best levels in the hints, which nobody reads.
            assert_eq!((&header[..8], header[9]), (b"\x1f\x8b\x08\0\0\0\0\0".as_slice(), 0xff), "{level}");
        }
    }
}
