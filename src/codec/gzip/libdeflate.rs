//! Whole members compressed, and deflated data decompressed in one call, by libdeflate.
#![expect(unsafe_code, reason = "libdeflate has no safe binding that reports how much of the input was read")]

use libdeflate_sys::{
    libdeflate_alloc_compressor, libdeflate_alloc_decompressor, libdeflate_compressor, libdeflate_decompressor,
    libdeflate_deflate_decompress_ex, libdeflate_free_compressor, libdeflate_free_decompressor, libdeflate_gzip_compress,
    libdeflate_gzip_compress_bound, libdeflate_result_LIBDEFLATE_SUCCESS as SUCCESS,
};
use std::ptr::NonNull;

use crate::error::{ErrorKind, Result};
use crate::wire::Sink;

/// The decompression context of libdeflate, made at the first call.
#[derive(Default)]
pub(super) struct OneShotInflater(Option<InflateContext>);

/// The bytes that a call read and wrote.
#[derive(Debug, PartialEq)]
pub(super) struct Inflated {
    /// Bytes of deflated data.
    pub(super) read: usize,
    /// Bytes of decompressed data.
    pub(super) written: usize,
}

impl OneShotInflater {
    /// Decompresses the deflated data that `input` begins with; `None` if it is corrupt or does not fit into `output`.
    pub(super) fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Option<Inflated> {
        if self.0.is_none() {
            self.0 = InflateContext::new();
        }
        self.0.as_mut()?.inflate(input, output)
    }
}

struct InflateContext(NonNull<libdeflate_decompressor>);

// SAFETY: the context is memory of its own from malloc; libdeflate keeps nothing by thread, and every call takes `&mut self`.
unsafe impl Send for InflateContext {}

impl InflateContext {
    fn new() -> Option<Self> {
        // SAFETY: no arguments; null when memory is short.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Self)
    }

    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Option<Inflated> {
        let mut inflated = Inflated { read: 0, written: 0 };
        // SAFETY: the context lives until drop and is borrowed alone. libdeflate reads `input.len()` bytes at most and writes `output.len()`
        // bytes at most; both slices are borrowed for the call, one of them alone, so they do not overlap and nothing changes them during the call.
        // The two counts are written to before a success is returned, and outlive the call.
        let result = unsafe {
            libdeflate_deflate_decompress_ex(
                self.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                output.len(),
                &raw mut inflated.read,
                &raw mut inflated.written,
            )
        };
        (result == SUCCESS).then_some(inflated)
    }
}

impl Drop for InflateContext {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once, and not used after.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

/// The compression context of libdeflate for one level, made at the first call and again when the level changes.
#[derive(Default)]
pub struct GzipCompressor(Option<DeflateContext>);

struct DeflateContext {
    compressor: NonNull<libdeflate_compressor>,
    level: u8,
}

// SAFETY: as for `InflateContext`.
unsafe impl Send for DeflateContext {}

impl GzipCompressor {
    /// Compresses `input` as one member without name and time, as Java writes it (COD-G1), and appends it to `out`.
    pub(in crate::codec) fn compress(&mut self, input: &[u8], level: u8, out: &mut Sink) -> Result<()> {
        if self.0.as_ref().is_none_or(|context| context.level != level) {
            self.0 = DeflateContext::new(level);
        }
        let compressed = self.0.as_mut().and_then(|context| {
            let bound = context.bound(input.len());
            context.compress(input, out.unfilled(bound))
        });
        let Some(compressed) = compressed else {
            return Err(ErrorKind::Internal { what: "libdeflate has no memory for a context".to_owned() }.into());
        };
        out.fill(compressed);
        Ok(())
    }
}

impl DeflateContext {
    fn new(level: u8) -> Option<Self> {
        // The level of libdeflate whose output is as small as zlib's at 6 is 5.
        let of_libdeflate = if level == 6 { 5 } else { i32::from(level) };
        // SAFETY: a number in; null for an unknown level or when memory is short.
        let compressor = NonNull::new(unsafe { libdeflate_alloc_compressor(of_libdeflate) })?;
        Some(Self { compressor, level })
    }

    /// Returns the most bytes that a member of `len` decompressed bytes has.
    fn bound(&mut self, len: usize) -> usize {
        // SAFETY: the context lives until drop; the call only computes.
        unsafe { libdeflate_gzip_compress_bound(self.compressor.as_ptr(), len) }
    }

    /// Compresses `input` into `output`; `None` if it does not fit.
    fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        // SAFETY: the context lives until drop and is borrowed alone. libdeflate reads `input.len()` bytes and writes `output.len()` bytes at
        // most; both slices are borrowed for the call, one of them alone, so they do not overlap and nothing changes them during the call.
        let written = unsafe {
            libdeflate_gzip_compress(self.compressor.as_ptr(), input.as_ptr().cast(), input.len(), output.as_mut_ptr().cast(), output.len())
        };
        (written > 0).then_some(written)
    }
}

impl Drop for DeflateContext {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once, and not used after.
        unsafe { libdeflate_free_compressor(self.compressor.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &[u8] = b"\xcb\x48\xcd\xc9\xc9\x07\0behind";

    #[test]
    fn inflate_reports_what_it_read_and_wrote() {
        let mut output = [0; 8];
        assert_eq!(OneShotInflater::default().inflate(HELLO, &mut output), Some(Inflated { read: 7, written: 5 }));
        assert_eq!(&output, b"hello\0\0\0");
    }

    #[test]
    fn inflate_refuses_corrupt_data_and_small_buffers() {
        let mut inflater = OneShotInflater::default();
        assert_eq!(inflater.inflate(HELLO, &mut [0; 4]), None);
        assert_eq!(inflater.inflate(HELLO, &mut []), None);
        assert_eq!(inflater.inflate(b"\xff\xff", &mut [0; 8]), None);
        assert_eq!(inflater.inflate(b"", &mut [0; 8]), None);
        assert_eq!(inflater.inflate(HELLO, &mut [0; 5]), Some(Inflated { read: 7, written: 5 }));
    }

    #[test]
    fn cod_g1_the_header_has_neither_name_nor_time_at_any_level() {
        for level in 1..=9 {
            let mut out = Sink::default();
            GzipCompressor::default().compress(b"hello", level, &mut out).unwrap();
            let (header, _) = out.bytes().split_at(10);
            // libdeflate writes its best levels into the hints, which no reader uses.
            assert_eq!((&header[..8], header[9]), (b"\x1f\x8b\x08\0\0\0\0\0".as_slice(), 0xff), "{level}");
        }
    }
}
