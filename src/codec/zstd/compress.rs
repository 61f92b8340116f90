//! One frame, packed in one go. It declares its size, which Java's streams do not and all readers take (COD-Z2): zstd packs small
//! inputs better and faster when it knows how long they are.

use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective};

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Sink, as_u64};

/// The packing context, made when the first data comes.
#[derive(Default)]
pub struct Compressor(Option<CCtx<'static>>);

impl Compressor {
    /// Packs `plain` as one frame without a checksum.
    pub(in crate::codec) fn pack(&mut self, plain: &[u8], level: i32, out: &mut Sink) -> Result<()> {
        let context = self.context()?;
        let room = out.room(zstd_safe::compress_bound(plain.len()));
        let packed = context.compress(room, plain, level).map_err(|code| failed(zstd_safe::get_error_name(code)))?;
        out.fill(packed);
        Ok(())
    }

    /// The same; a block ends behind the first `front` bytes, so that they can be had without what follows.
    pub(in crate::codec) fn pack_in_two(&mut self, (plain, front): (&[u8], usize), level: i32, out: &mut Sink) -> Result<()> {
        let named = |code| failed(zstd_safe::get_error_name(code));
        let context = self.context()?;
        context.reset(ResetDirective::SessionOnly).map_err(named)?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(named)?;
        context.set_pledged_src_size(Some(as_u64(plain.len()))).map_err(named)?;
        let (front, rest) = plain.split_at_checked(front).unwrap_or((plain, &[]));
        let packed = stream(context, front, ZSTD_EndDirective::ZSTD_e_flush, out).and_then(|()| {
            // Behind a flush there may be nothing more.
            stream(context, rest, ZSTD_EndDirective::ZSTD_e_end, out)
        });
        packed.map_err(named)
    }

    fn context(&mut self) -> Result<&mut CCtx<'static>> {
        if self.0.is_none() {
            self.0 = CCtx::try_create();
        }
        self.0.as_mut().ok_or_else(|| failed("no memory for a context"))
    }
}

/// Packs all of `plain`, and what the directive says.
fn stream(context: &mut CCtx<'static>, plain: &[u8], directive: ZSTD_EndDirective, out: &mut Sink) -> std::result::Result<(), usize> {
    let mut input = InBuffer::around(plain);
    loop {
        let mut output = OutBuffer::around(out.room(zstd_safe::compress_bound(plain.len())));
        let left = context.compress_stream2(&mut output, &mut input, directive)?;
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
