//! Where blocks are unpacked to.

use crate::codec::output::Output;
use crate::error::{ErrorKind, Result};
use crate::wire::as_u64;

/// Takes blocks one after the other.
pub(in crate::codec) trait Target {
    /// Has `unpack` fill all of the `len` bytes that a block declares.
    ///
    /// # Errors
    /// `Limit` when there is no room for them, and what `unpack` fails with.
    fn take(&mut self, len: usize, unpack: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()>;

    /// True when nobody wants more than what was unpacked.
    fn is_enough(&mut self) -> bool {
        false
    }
}

impl Target for Output<'_> {
    #[inline]
    fn take(&mut self, len: usize, unpack: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        self.ensure(len)?;
        unpack(self.room(len)?.get_mut(..len).unwrap_or_default())?;
        self.fill(len);
        Ok(())
    }

    fn is_enough(&mut self) -> bool {
        Output::is_enough(self)
    }
}

/// Memory that does not grow.
pub(super) struct Within<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl<'a> Within<'a> {
    pub(super) fn new(room: &'a mut [u8]) -> Self {
        Self { room, len: 0 }
    }

    /// Bytes unpacked.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl Target for Within<'_> {
    fn take(&mut self, len: usize, unpack: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let end = self.len.saturating_add(len);
        let (asked, allowed) = (as_u64(end), as_u64(self.room.len()));
        let room = self.room.get_mut(self.len..end).ok_or(ErrorKind::Limit { limit: "room", asked, allowed })?;
        unpack(room)?;
        self.len = end;
        Ok(())
    }
}

/// Sums what the blocks declare, and unpacks none.
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

impl Target for Declared {
    fn take(&mut self, len: usize, _: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        self.len = self.len.saturating_add(len);
        Ok(())
    }
}
