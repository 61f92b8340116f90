//! Blocks packed at a level by liblz4's high compressor, which Kafka's Java clients call too: the same compressor gives the same sizes.
#![expect(unsafe_code, reason = "liblz4 is C")]

use std::ffi::{c_char, c_int, c_void};

// In liblz4, which lz4-sys builds and links; its binding leaves these out.
use lz4_sys as _;

unsafe extern "C" {
    fn LZ4_sizeofStateHC() -> c_int;
    fn LZ4_initStreamHC(buffer: *mut c_void, size: usize) -> *mut c_void;
    fn LZ4_compress_HC_extStateHC_fastReset(
        state: *mut c_void,
        from: *const c_char,
        to: *mut c_char,
        from_len: c_int,
        to_len: c_int,
        level: c_int,
    ) -> c_int;
}

/// Memory of the compressor, aligned as it must be. What it remembers of one block is too far away to be found from the next.
#[derive(Default)]
pub(super) struct Blocks(Vec<u64>);

impl Blocks {
    /// Packs a block; the bytes written, or nothing when they do not fit into `room`.
    pub(super) fn pack(&mut self, plain: &[u8], level: u8, room: &mut [u8]) -> Option<usize> {
        let state = state(&mut self.0)?;
        let (from_len, to_len) = (c_int::try_from(plain.len()).ok()?, c_int::try_from(room.len()).ok()?);
        let level = c_int::from(level);
        // SAFETY: `state` was initialised by liblz4 and is borrowed alone. liblz4 reads `from_len` bytes and writes `to_len` bytes at most; the
        // slices have these lengths and are borrowed for the call, one alone, so they do not overlap. It keeps their addresses, not to
        // be read from: each call begins with a reset, which moves on all positions.
        let written = unsafe {
            LZ4_compress_HC_extStateHC_fastReset(state, plain.as_ptr().cast(), room.as_mut_ptr().cast(), from_len, to_len, level)
        };
        usize::try_from(written).ok().filter(|written| (1..=room.len()).contains(written))
    }
}

/// The memory of liblz4, made and initialised at the first call: 256 KiB, which would be too much to clear for every block.
fn state(memory: &mut Vec<u64>) -> Option<*mut c_void> {
    if memory.is_empty() {
        // SAFETY: it only computes.
        let bytes = usize::try_from(unsafe { LZ4_sizeofStateHC() }).ok()?;
        memory.resize(bytes.div_ceil(size_of::<u64>()), 0);
        // SAFETY: the vector has so many bytes, aligned to 8, and is borrowed alone.
        let state = unsafe { LZ4_initStreamHC(memory.as_mut_ptr().cast(), bytes) };
        debug_assert!(!state.is_null(), "liblz4 wants other memory");
    }
    Some(memory.as_mut_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::hard_to_pack;

    #[test]
    fn a_block_is_packed_the_same_whatever_was_packed_before() {
        let mut used = Blocks::default();
        let mut count = 0;
        hard_to_pack(|plain| {
            for level in [1, 2, 4, 9, 12] {
                // Every length and every distance is too much for a high level.
                count += 1;
                if plain.len() > 64 << 10 || count % 31 != 0 {
                    continue;
                }
                let bound = plain.len() + plain.len() / 255 + 16;
                let (mut again, mut fresh) = (vec![0; bound], vec![0; bound]);
                let len = used.pack(plain, level, &mut again);
                assert_eq!(len, Blocks::default().pack(plain, level, &mut fresh));
                assert_eq!(again, fresh, "{} bytes, level {level}", plain.len());
                let mut found = vec![0; plain.len()];
                assert_eq!(crate::codec::lz4::oneshot::inflate(again.get(..len.unwrap()).unwrap(), &mut found), Some(plain.len()));
                assert!(found == plain);
            }
        });
        assert!(count > 1000);
    }
}
