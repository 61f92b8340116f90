//! One frame, packed in one go. It declares its size, which Java's streams do not and all readers take (COD-Z2): zstd packs small
//! inputs better and faster when it knows how long they are.

use zstd_safe::CCtx;

use crate::error::{Error, ErrorKind, Result};
use crate::wire::Sink;

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

    fn context(&mut self) -> Result<&mut CCtx<'static>> {
        if self.0.is_none() {
            self.0 = CCtx::try_create();
        }
        self.0.as_mut().ok_or_else(|| failed("no memory for a context"))
    }
}

#[cold]
fn failed(what: &str) -> Error {
    ErrorKind::Internal { what: format!("zstd: {what}") }.into()
}
