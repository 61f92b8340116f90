use std::io;

use crate::error::Result;
use crate::limits::Limits;

/// Bytes that can be read by position.
pub trait ReadAt: Send + Sync {
    /// Reads some bytes from `position` on, as `Read::read` does: 0 only at the end.
    ///
    /// # Errors
    /// Those of the storage.
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize>;

    /// Reads until `to` is full or the end is met, and gives the number of bytes.
    ///
    /// # Errors
    /// Those of the storage.
    fn fill_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(room) = to.get_mut(filled..).filter(|room| !room.is_empty()) {
            match self.read_at(room, position.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX))) {
                Ok(0) => break,
                Ok(len) => filled += len.min(room.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// The start of the first valid entry at or after `position`, up to which bytes are lost (`LostBytes`) or damaged; `None` when none
    /// does, or where nobody can look for it.
    ///
    /// # Errors
    /// Those of the storage, `Interrupted`.
    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        let _ = (position, limits);
        Ok(None)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        (**self).read_at(to, position)
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        (**self).valid_from(position, limits)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Box<T> {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        (**self).read_at(to, position)
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        (**self).valid_from(position, limits)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        let tail = usize::try_from(position).ok().and_then(|position| self.get(position..)).unwrap_or_default();
        let len = tail.len().min(to.len());
        if let (Some(to), Some(from)) = (to.get_mut(..len), tail.get(..len)) {
            to.copy_from_slice(from);
        }
        Ok(len)
    }
}
