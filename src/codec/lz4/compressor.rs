//! Blocks packed at a level by liblz4's high compressor, which Kafka's Java clients call too: the same compressor gives the same sizes.
#![expect(unsafe_code, reason = "liblz4 is C")]

use std::ffi::{c_char, c_int, c_void};

// In liblz4, which lz4-sys builds and links; its binding leaves these out.
use lz4_sys as _;

unsafe extern "C" {
    fn LZ4_sizeofStateHC() -> c_int;
    fn LZ4_compress_HC_extStateHC(
        state: *mut c_void,
        from: *const c_char,
        to: *mut c_char,
        from_len: c_int,
        to_len: c_int,
        level: c_int,
    ) -> c_int;
}

/// Memory of the compressor, aligned as it must be. Its content is of no meaning between two blocks.
#[derive(Default)]
pub(super) struct Blocks(Vec<u64>);

impl Blocks {
    /// Packs a block; the bytes written, or nothing when they do not fit into `room`.
    pub(super) fn pack(&mut self, plain: &[u8], level: u8, room: &mut [u8]) -> Option<usize> {
        // SAFETY: it only computes.
        let state = state(&mut self.0, unsafe { LZ4_sizeofStateHC() })?;
        let (from_len, to_len) = (c_int::try_from(plain.len()).ok()?, c_int::try_from(room.len()).ok()?);
        let level = c_int::from(level);
        // SAFETY: `state` has the bytes that liblz4 asked for and an alignment of 8, and is initialised by the call. It reads `from_len` bytes
        // and writes `to_len` bytes at most; the slices have these lengths and are borrowed for the call, one alone, so they do not overlap.
        let written =
            unsafe { LZ4_compress_HC_extStateHC(state, plain.as_ptr().cast(), room.as_mut_ptr().cast(), from_len, to_len, level) };
        usize::try_from(written).ok().filter(|written| (1..=room.len()).contains(written))
    }
}

/// `bytes` bytes of memory, made at the first call.
fn state(memory: &mut Vec<u64>, bytes: c_int) -> Option<*mut c_void> {
    if memory.is_empty() {
        memory.resize(usize::try_from(bytes).ok()?.div_ceil(size_of::<u64>()), 0);
    }
    Some(memory.as_mut_ptr().cast())
}
