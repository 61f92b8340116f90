//! Data deflated in one go by libdeflate, which packs better than zlib at the same level in half the time.
#![expect(unsafe_code, reason = "libdeflate's safe binding brings nothing else")]

use libdeflate_sys::{
    libdeflate_alloc_compressor, libdeflate_compressor, libdeflate_free_compressor, libdeflate_gzip_compress,
    libdeflate_gzip_compress_bound,
};
use std::ptr::NonNull;

use crate::error::{ErrorKind, Result};
use crate::wire::Sink;

/// libdeflate's context for one level, made when the first data comes and made again when the level changes.
#[derive(Default)]
pub(super) struct Deflater(Option<Context>);

struct Context {
    compressor: NonNull<libdeflate_compressor>,
    level: u8,
}

// SAFETY: the context is memory of its own, made by malloc; libdeflate keeps nothing by thread, and every call takes `&mut self`.
unsafe impl Send for Context {}

impl Deflater {
    /// Packs `plain` as one member without name and time (COD-G1).
    pub(super) fn pack(&mut self, plain: &[u8], level: u8, out: &mut Sink) -> Result<()> {
        if self.0.as_ref().is_none_or(|context| context.level != level) {
            self.0 = Context::make(level);
        }
        let packed = self.0.as_mut().and_then(|context| {
            let bound = context.bound(plain.len());
            context.pack(plain, out.room(bound))
        });
        let Some(packed) = packed else {
            return Err(ErrorKind::Internal { what: "libdeflate has no memory for a context".to_owned() }.into());
        };
        out.fill(packed);
        Ok(())
    }
}

impl Context {
    fn make(level: u8) -> Option<Self> {
        // SAFETY: plain data in; null for an unknown level or when memory is short.
        let compressor = NonNull::new(unsafe { libdeflate_alloc_compressor(i32::from(level)) })?;
        Some(Self { compressor, level })
    }

    /// The most bytes that `len` bytes pack to.
    fn bound(&mut self, len: usize) -> usize {
        // SAFETY: the context lives until drop; the call only computes.
        unsafe { libdeflate_gzip_compress_bound(self.compressor.as_ptr(), len) }
    }

    /// Packs into `room`; nothing when it does not fit.
    fn pack(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        // SAFETY: the context lives until drop and is borrowed alone. libdeflate reads `plain.len()` bytes and writes `room.len()` bytes at
        // most; both slices are borrowed for the call, one of them alone, so they do not overlap and nobody changes them meanwhile.
        let written = unsafe {
            libdeflate_gzip_compress(self.compressor.as_ptr(), plain.as_ptr().cast(), plain.len(), room.as_mut_ptr().cast(), room.len())
        };
        (written > 0).then_some(written)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by `make`, freed once, and not used after.
        unsafe { libdeflate_free_compressor(self.compressor.as_ptr()) }
    }
}
