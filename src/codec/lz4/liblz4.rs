//! One block, compressed and decompressed by liblz4, which Kafka's Java clients call too: the same compressor gives the same bytes.
#![expect(unsafe_code, reason = "liblz4 is C")]

use std::ffi::{c_char, c_int, c_void};

use lz4_sys::{LZ4_compress_default, LZ4_decompress_safe};

// In liblz4, which lz4-sys builds and links; its binding leaves these out.
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

/// Decompresses a block into `output` and returns the bytes written; `None` if the block is corrupt or does not fit.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let (input_len, output_len) = lengths(input, output)?;
    // SAFETY: LZ4_decompress_safe reads at most `input_len` bytes and writes at most `output_len`, whatever the input is; both slices have
    // these lengths, are initialised and are borrowed for the call, one of them alone, so they do not overlap. It keeps no state.
    let written = unsafe { LZ4_decompress_safe(input.as_ptr().cast(), output.as_mut_ptr().cast(), input_len, output_len) };
    usize::try_from(written).ok().filter(|written| *written <= output.len())
}

/// Compresses a block by the fast compressor and returns the bytes written; `None` if they do not fit into `output`.
pub(super) fn compress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let (input_len, output_len) = lengths(input, output)?;
    // SAFETY: LZ4_compress_default reads `input_len` bytes and writes at most `output_len`; both slices have these lengths, are initialised
    // and are borrowed for the call, one of them alone, so they do not overlap. It keeps no state.
    let written = unsafe { LZ4_compress_default(input.as_ptr().cast(), output.as_mut_ptr().cast(), input_len, output_len) };
    written_len(written, output)
}

/// The high compressor, with its memory. A block never refers to the blocks before it.
#[derive(Default)]
pub(super) struct HighCompressor(Vec<u64>);

impl HighCompressor {
    /// Compresses a block at a level and returns the bytes written; `None` if they do not fit into `output`.
    pub(super) fn compress(&mut self, input: &[u8], level: u8, output: &mut [u8]) -> Option<usize> {
        let state = self.state()?;
        let (input_len, output_len) = lengths(input, output)?;
        let level = c_int::from(level);
        // SAFETY: `state` was initialised by liblz4 and is borrowed alone. liblz4 reads `input_len` bytes and writes `output_len` bytes at most;
        // the slices have these lengths and are borrowed for the call, one alone, so they do not overlap. It keeps their addresses, but
        // does not read from them: each call begins with a reset, which moves on all positions.
        let written = unsafe {
            LZ4_compress_HC_extStateHC_fastReset(state, input.as_ptr().cast(), output.as_mut_ptr().cast(), input_len, output_len, level)
        };
        written_len(written, output)
    }

    /// Returns the memory of liblz4, initialised at the first call: 256 KiB, which would be too much to clear for every block.
    fn state(&mut self) -> Option<*mut c_void> {
        if self.0.is_empty() {
            // SAFETY: it only computes.
            let bytes = usize::try_from(unsafe { LZ4_sizeofStateHC() }).ok()?;
            self.0.resize(bytes.div_ceil(size_of::<u64>()), 0);
            // SAFETY: the vector has so many bytes, aligned to 8, and is borrowed alone.
            let state = unsafe { LZ4_initStreamHC(self.0.as_mut_ptr().cast(), bytes) };
            debug_assert!(!state.is_null(), "liblz4 wants other memory");
        }
        Some(self.0.as_mut_ptr().cast())
    }
}

/// Returns both lengths as C's; `None` if one does not fit.
fn lengths(input: &[u8], output: &[u8]) -> Option<(c_int, c_int)> {
    Some((c_int::try_from(input.len()).ok()?, c_int::try_from(output.len()).ok()?))
}

/// Returns the length that a compressor reported; 0 is its error.
fn written_len(written: c_int, output: &[u8]) -> Option<usize> {
    usize::try_from(written).ok().filter(|written| (1..=output.len()).contains(written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::hard_to_compress;

    fn ensure_decompresses(block: &[u8], input: &[u8]) {
        let mut output = vec![0; input.len()];
        assert_eq!(decompress(block, &mut output), Some(input.len()));
        assert!(output == input);
        assert!(lz4_flex::block::decompress(block, input.len()).unwrap() == input, "{} bytes", input.len());
    }

    #[test]
    fn decompression_restores_every_compressed_block() {
        hard_to_compress(|input| {
            let mut block = vec![0; bound(input.len())];
            let len = compress(input, &mut block).unwrap();
            ensure_decompresses(&block[..len], input);
        });
    }

    #[test]
    fn a_block_is_compressed_the_same_whatever_came_before() {
        let mut used = HighCompressor::default();
        let mut count = 0;
        hard_to_compress(|input| {
            for level in [1, 2, 4, 9, 12] {
                // Every length and every distance takes too long at a high level.
                count += 1;
                if input.len() > 64 << 10 || count % 31 != 0 {
                    continue;
                }
                let (mut again, mut fresh) = (vec![0; bound(input.len())], vec![0; bound(input.len())]);
                let len = used.compress(input, level, &mut again);
                assert_eq!(len, HighCompressor::default().compress(input, level, &mut fresh));
                assert_eq!(again, fresh, "{} bytes, level {level}", input.len());
                ensure_decompresses(&again[..len.unwrap()], input);
            }
        });
        assert!(count > 1000);
    }

    fn bound(len: usize) -> usize {
        len + len / 255 + 16
    }
}
