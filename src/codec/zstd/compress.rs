//! One frame, compressed in one go. It declares its size, which Java's streams do not, and all readers accept (COD-Z2): zstd compresses small
//! inputs better and faster when it knows how long they are.

use ::zstd::zstd_safe;
use ::zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use ::zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective};

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Sink, as_u64};

/// The compression context, made when the first data comes.
#[derive(Default)]
pub struct ZstdCompressor(Option<CCtx<'static>>);

impl ZstdCompressor {
    /// Compresses `input` as one frame without a checksum.
    pub(in crate::codec) fn compress(&mut self, input: &[u8], level: i32, out: &mut Sink) -> Result<()> {
        let context = self.context()?;
        let output = out.unfilled(zstd_safe::compress_bound(input.len()));
        let compressed = context.compress(output, input, level).map_err(|code| failed(zstd_safe::get_error_name(code)))?;
        out.fill(compressed);
        Ok(())
    }

    /// Compresses like `compress`, but ends a block after the first `front` bytes, so that readers can decompress them alone.
    pub(in crate::codec) fn compress_in_two(&mut self, (input, front): (&[u8], usize), level: i32, out: &mut Sink) -> Result<()> {
        let named = |code| failed(zstd_safe::get_error_name(code));
        let context = self.context()?;
        context.reset(ResetDirective::SessionOnly).map_err(named)?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(named)?;
        context.set_pledged_src_size(Some(as_u64(input.len()))).map_err(named)?;
        let (front, rest) = input.split_at_checked(front).unwrap_or((input, &[]));
        let compressed = stream(context, front, ZSTD_EndDirective::ZSTD_e_flush, out).and_then(|()| {
            // After a flush there may be nothing more.
            stream(context, rest, ZSTD_EndDirective::ZSTD_e_end, out)
        });
        compressed.map_err(named)
    }

    fn context(&mut self) -> Result<&mut CCtx<'static>> {
        if self.0.is_none() {
            self.0 = CCtx::try_create();
        }
        self.0.as_mut().ok_or_else(|| failed("no memory for a context"))
    }
}

/// Compresses all of `input`, then flushes or ends as the directive says.
fn stream(context: &mut CCtx<'static>, input: &[u8], directive: ZSTD_EndDirective, out: &mut Sink) -> std::result::Result<(), usize> {
    let mut source = InBuffer::around(input);
    loop {
        let mut output = OutBuffer::around(out.unfilled(zstd_safe::compress_bound(input.len())));
        let left = context.compress_stream2(&mut output, &mut source, directive)?;
        let written = output.pos();
        out.fill(written);
        if left == 0 {
            return Ok(());
        }
    }
}

#[cold]
fn failed(what: &str) -> Error {
    ErrorKind::Internal { what: format!("zstd: {what}") }.into()
}
