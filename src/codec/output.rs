//! The decompressed bytes of one entry, in storage that is reused, and the side of it that codecs write, within a `Budget`.

use crate::error::{ErrorKind, Result};
use crate::limits::Budget;
use crate::wire::as_u64;

/// Readable bytes after the decompressed bytes, so that readers may load in fixed windows.
pub const SLACK: usize = 64;

/// A reused output buffer: initialised storage, and how many bytes of it are decompressed.
///
/// Storage is not zeroed again: the bytes after the decompressed bytes are initialised and have no meaning.
#[derive(Clone, Debug, Default)]
pub struct Decompressed {
    storage: Vec<u8>,
    len: usize,
}

impl Decompressed {
    /// Takes storage over; all its bytes are reused, none is kept as content.
    ///
    /// Pass what `into_vec` returned, not cleared: the vector's bytes need not be zeroed again.
    pub fn from_vec(storage: Vec<u8>) -> Self {
        Self { storage, len: 0 }
    }

    /// Takes bytes over as if they had been decompressed.
    pub fn holding(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        bytes.resize(len + SLACK, 0);
        Self { storage: bytes, len }
    }

    /// Returns the whole storage: the decompressed bytes are its first `len()`, and at least `SLACK` more follow.
    pub fn into_vec(self) -> Vec<u8> {
        self.storage
    }

    /// Forgets the decompressed bytes.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the decompressed bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.storage.get(..self.len).unwrap_or_default()
    }

    /// Returns the decompressed bytes and `SLACK` more; nothing before the first decompression.
    #[inline]
    pub fn readable(&self) -> &[u8] {
        self.storage.get(..self.len + SLACK).unwrap_or_default()
    }

    /// Returns how many bytes are decompressed.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when no byte is decompressed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The writing side of a `Decompressed`. Storage grows by doubling, never beyond the budget and the slack.
pub(super) struct Output<'a> {
    buffer: &'a mut Decompressed,
    budget: &'a Budget,
    allowed: usize,
    watch: Option<Watch<'a>>,
}

/// Reports whether the bytes that are decompressed so far are enough.
pub(super) type Watch<'a> = &'a mut dyn FnMut(&Decompressed) -> bool;

impl<'a> Output<'a> {
    /// Empties `buffer` for an entry that may decompress to `budget`.
    ///
    /// # Errors
    /// `Limit` when memory is short.
    pub(super) fn new(buffer: &'a mut Decompressed, budget: &'a Budget) -> Result<Self> {
        buffer.clear();
        // `SLACK` is added to it in several places.
        let allowed = budget.allowed().min(usize::MAX - SLACK);
        let mut output = Self { buffer, budget, allowed, watch: None };
        output.unfilled(0)?;
        Ok(output)
    }

    /// Sets a watch, for an entry of which the beginning may be enough.
    pub(super) fn watched(self, watch: Watch<'a>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// True when the beginning of the entry may be enough: decoders go in small steps then.
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// True when the decompressed bytes are enough. Decoders ask between two steps.
    #[inline]
    pub(super) fn is_enough(&mut self) -> bool {
        let buffer = &*self.buffer;
        self.watch.as_mut().is_some_and(|watch| watch(buffer))
    }

    /// Returns the buffer after the decompressed bytes: `wanted` bytes or more, or all that the budget leaves if that is less.
    ///
    /// Decoders are fastest far from the end of their output, so they get all of it.
    ///
    /// # Errors
    /// `Limit` when memory is short.
    pub(super) fn unfilled(&mut self, wanted: usize) -> Result<&mut [u8]> {
        let needed = self.buffer.len.saturating_add(wanted).min(self.allowed) + SLACK;
        if self.buffer.storage.len() < needed {
            self.grow(needed)?;
        }
        let end = self.allowed.min(self.buffer.storage.len() - SLACK);
        Ok(self.buffer.storage.get_mut(self.buffer.len..end).unwrap_or_default())
    }

    /// Counts the first `bytes` unfilled bytes as decompressed.
    pub(super) fn fill(&mut self, bytes: usize) {
        debug_assert!(self.buffer.len + bytes + SLACK <= self.buffer.storage.len(), "filled beyond the buffer");
        self.buffer.len += bytes;
    }

    /// Fails when `more` bytes are more than the budget leaves.
    ///
    /// # Errors
    /// `Limit`.
    pub(super) fn ensure(&self, more: usize) -> Result<()> {
        self.budget.ensure(self.buffer.len.saturating_add(more))
    }

    /// Returns how many more bytes the budget allows.
    pub(super) fn left(&self) -> usize {
        self.allowed.saturating_sub(self.buffer.len)
    }

    /// Returns the decompressed bytes from position `start` on.
    pub(super) fn from(&self, start: usize) -> &[u8] {
        self.buffer.bytes().get(start..).unwrap_or_default()
    }

    /// Returns how many bytes are decompressed.
    pub(super) fn len(&self) -> usize {
        self.buffer.len
    }

    /// Moves to storage of `needed` bytes or of twice the present size.
    #[cold]
    fn grow(&mut self, needed: usize) -> Result<()> {
        let held = self.buffer.storage.len();
        let wanted = needed.max(held.saturating_mul(2)).min(self.allowed + SLACK);
        ensure_memory(wanted, held)?;
        // A fresh zeroed vector and not `resize`: the system gives zero pages as they are touched.
        let mut storage = vec![0; wanted];
        if let Some(to) = storage.get_mut(..self.buffer.len) {
            to.copy_from_slice(self.buffer.bytes());
        }
        self.buffer.storage = storage;
        Ok(())
    }
}

/// Fails when `bytes` bytes cannot be allocated, as under Spark's memory cap: an allocation that fails would end the process.
fn ensure_memory(bytes: usize, held: usize) -> Result<()> {
    const LARGE: usize = 1 << 20;
    if bytes < LARGE || Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        return Ok(());
    }
    Err(ErrorKind::Limit { limit: "memory", asked: as_u64(bytes), allowed: as_u64(held) }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn budget(bytes: u64) -> Budget {
        Budget::for_entry(&Limits { max_decompressed_bytes: bytes, ..Limits::default() }, 1 << 20)
    }

    fn unfilled(output: &mut Output<'_>, wanted: usize) -> Result<usize> {
        output.unfilled(wanted).map(|unfilled| unfilled.len())
    }

    #[test]
    fn the_buffer_ends_at_the_budget_and_leaves_the_slack() -> Result<()> {
        let (mut buffer, budget) = (Decompressed::default(), budget(100));
        assert!(buffer.readable().is_empty());
        let mut output = Output::new(&mut buffer, &budget)?;
        assert_eq!(unfilled(&mut output, 1000)?, 100);
        output.fill(100);
        assert_eq!(unfilled(&mut output, 1)?, 0);
        assert!(output.ensure(0).is_ok());
        assert!(output.ensure(1).is_err());
        assert_eq!((buffer.bytes().len(), buffer.readable().len()), (100, 100 + SLACK));
        assert_eq!(buffer.into_vec().len(), 100 + SLACK);
        Ok(())
    }

    #[test]
    fn growing_doubles_and_keeps_the_content() -> Result<()> {
        let (mut buffer, budget) = (Decompressed::from_vec(vec![7; 1000]), budget(1 << 20));
        let mut output = Output::new(&mut buffer, &budget)?;
        output.fill(900);
        assert_eq!(unfilled(&mut output, 37)?, 2000 - SLACK - 900);
        assert_eq!(buffer.bytes(), &[7; 900]);
        Ok(())
    }

    #[test]
    fn storage_of_a_larger_entry_does_not_lift_the_budget() -> Result<()> {
        let (mut buffer, budget) = (Decompressed::from_vec(vec![0; 4096]), budget(10));
        assert_eq!(unfilled(&mut Output::new(&mut buffer, &budget)?, 4000)?, 10);
        Ok(())
    }

    #[test]
    fn slack_follows_no_bytes_too() -> Result<()> {
        let (mut buffer, budget) = (Decompressed::default(), budget(10));
        Output::new(&mut buffer, &budget)?;
        assert_eq!((buffer.len(), buffer.readable().len()), (0, SLACK));
        Ok(())
    }

    #[test]
    fn memory_that_is_not_there_is_an_error_and_no_abort() {
        assert_eq!(ensure_memory(usize::MAX / 4, 0).map_err(|error| error.rule()), Err("COD-6"));
    }
}
