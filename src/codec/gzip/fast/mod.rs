//! Deflated data (RFC 1951) from a compressor of our own, which makes of records what libdeflate's level 6 makes of them in two thirds of the time.
//!
//! `matches` finds what repeats, `block` weighs how to write it, `huffman` and `header` make the codes, `write` and `bits` write.

mod bits;
mod block;
mod header;
mod huffman;
mod matches;
mod symbols;
mod write;

use crate::codec::room::Room;
use bits::Bits;
use block::Block;
use matches::{BLOCK, Matcher};

/// The packing contexts, made when the first data comes.
#[derive(Default)]
pub(super) struct Compressor(Option<Box<Scratch>>);

#[derive(Default)]
struct Scratch {
    matcher: Matcher,
    block: Block,
}

/// The most bytes that `len` bytes pack to.
pub(super) fn bound(len: usize) -> usize {
    /// A block is stored in two pieces at most, each of which has 5 bytes more, and a byte for the bits before it.
    const STORED: usize = 12;
    len + (len / BLOCK + 1) * STORED
}

impl Compressor {
    /// Packs all of `plain`; the bytes written, or nothing when they do not fit into `room`.
    pub(super) fn pack(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        let scratch = self.0.get_or_insert_default();
        scratch.matcher.clear();
        let (mut room, mut bits, mut at) = (Room::new(room), Bits::default(), 0);
        loop {
            scratch.block.clear();
            let end = scratch.matcher.fill(plain, at, &mut scratch.block);
            let is_last = end >= plain.len();
            scratch.block.write(plain.get(at..end).unwrap_or_default(), is_last, &mut bits, &mut room);
            at = end;
            if is_last {
                bits.align(&mut room);
                return room.written();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{all_to_pack, hard_to_pack};
    use flate2::{Decompress, FlushDecompress, Status};

    /// What zlib and libdeflate make of it, in no more than the bound.
    fn ensure_unpacks(compressor: &mut Compressor, plain: &[u8]) -> usize {
        let mut room = vec![0; bound(plain.len())];
        let written = compressor.pack(plain, &mut room).unwrap();
        let mut found = vec![0; plain.len() + 1];
        let mut zlib = Decompress::new(false);
        let status = zlib.decompress(&room[..written], &mut found, FlushDecompress::Finish).unwrap();
        assert_eq!((status, zlib.total_in()), (Status::StreamEnd, u64::try_from(written).unwrap()));
        assert!(&found[..usize::try_from(zlib.total_out()).unwrap()] == plain, "{} bytes", plain.len());
        let inflated = crate::codec::gzip::oneshot::Inflater::default().inflate(&room[..written], &mut found).unwrap();
        assert_eq!((inflated.read, inflated.written), (written, plain.len()));
        assert!(&found[..plain.len()] == plain);
        written
    }

    #[test]
    fn other_decoders_unpack_whatever_was_packed() {
        all_to_pack(|compressor, plain| {
            ensure_unpacks(compressor, plain);
        });
    }

    #[test]
    fn the_same_bytes_are_packed_the_same_way_whatever_came_before() {
        let plain = b"order 1 of customer 7; order 2 of customer 7; order 3 of customer 17; ".repeat(2000);
        let (mut fresh, mut used) = (vec![0; bound(plain.len())], vec![0; bound(plain.len())]);
        let written = Compressor::default().pack(&plain, &mut fresh).unwrap();
        let mut compressor = Compressor::default();
        hard_to_pack(|other| {
            compressor.pack(&other[..other.len().min(1000)], &mut vec![0; 2000]).unwrap();
        });
        assert_eq!(compressor.pack(&plain, &mut used), Some(written));
        assert!(fresh == used && written < plain.len() / 100);
    }

    #[test]
    fn few_bytes_take_no_codes_of_their_own_and_noise_is_stored() {
        let mut compressor = Compressor::default();
        assert_eq!(ensure_unpacks(&mut compressor, b""), 2);
        assert_eq!(ensure_unpacks(&mut compressor, b"a"), 3);
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        });
        let noise: Vec<u8> = noise.take(200_000).collect();
        assert!(ensure_unpacks(&mut compressor, &noise) < noise.len() + 40);
    }

    #[test]
    fn data_that_does_not_fit_is_none() {
        assert_eq!(Compressor::default().pack(&[1; 100], &mut [0; 5]), Some(5));
        assert_eq!(Compressor::default().pack(&[1; 100], &mut [0; 4]), None);
    }
}
