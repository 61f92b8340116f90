//! The memory that blocks are decompressed into.

use crate::codec::output::Output;
use crate::error::{ErrorKind, Result};
use crate::wire::as_u64;

/// Receives blocks one after the other.
pub(in crate::codec) trait BlockTarget {
    /// Has `decompress` fill all of the `len` bytes that a block declares.
    ///
    /// # Errors
    /// `Limit` when they do not fit, and the errors of `decompress`.
    fn take(&mut self, len: usize, decompress: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()>;

    /// True when the decompressed bytes are enough.
    fn is_enough(&mut self) -> bool {
        false
    }
}

impl BlockTarget for Output<'_> {
    #[inline]
    fn take(&mut self, len: usize, decompress: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        self.ensure(len)?;
        decompress(self.unfilled(len)?.get_mut(..len).unwrap_or_default())?;
        self.fill(len);
        Ok(())
    }

    fn is_enough(&mut self) -> bool {
        Output::is_enough(self)
    }
}

/// Memory that does not grow.
pub(super) struct Within<'a> {
    output: &'a mut [u8],
    len: usize,
}

impl<'a> Within<'a> {
    pub(super) fn new(output: &'a mut [u8]) -> Self {
        Self { output, len: 0 }
    }

    /// Bytes decompressed.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl BlockTarget for Within<'_> {
    fn take(&mut self, len: usize, decompress: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let end = self.len.saturating_add(len);
        let (asked, allowed) = (as_u64(end), as_u64(self.output.len()));
        let output = self.output.get_mut(self.len..end).ok_or(ErrorKind::Limit { limit: "output", asked, allowed })?;
        decompress(output)?;
        self.len = end;
        Ok(())
    }
}

/// Sums the lengths that the blocks declare, and decompresses none.
#[derive(Default)]
pub(super) struct Declared {
    len: usize,
}

impl Declared {
    /// Bytes declared.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl BlockTarget for Declared {
    fn take(&mut self, len: usize, _: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        self.len = self.len.saturating_add(len);
        Ok(())
    }
}
