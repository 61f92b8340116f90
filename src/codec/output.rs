//! Where the codecs write: a `Plain` that grows, within a `Budget`.

use super::plain::{Plain, SLACK};
use crate::error::{ErrorKind, Result};
use crate::limits::Budget;
use crate::wire::as_u64;

/// The writing side of a `Plain`. Storage grows by doubling, never beyond the budget and the slack.
pub(super) struct Output<'a> {
    plain: &'a mut Plain,
    budget: &'a Budget,
    allowed: usize,
    watch: Option<Watch<'a>>,
}

/// Looks at what was unpacked so far, and says whether that is enough.
pub(super) type Watch<'a> = &'a mut dyn FnMut(&Plain) -> bool;

impl<'a> Output<'a> {
    /// Empties `plain` for an entry that may unpack to `budget`.
    ///
    /// # Errors
    /// `Limit` when memory is short.
    pub(super) fn new(plain: &'a mut Plain, budget: &'a Budget) -> Result<Self> {
        plain.len = 0;
        // The slack is added to it in several places.
        let allowed = budget.allowed().min(usize::MAX - SLACK);
        let mut output = Self { plain, budget, allowed, watch: None };
        output.room(0)?;
        Ok(output)
    }

    /// The same for an entry of which the beginning may be enough.
    pub(super) fn watched(self, watch: Watch<'a>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// True when the beginning of the entry may be enough: decoders go in small steps then.
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// True when nobody wants more than what was unpacked. Asked between two steps.
    #[inline]
    pub(super) fn is_enough(&mut self) -> bool {
        let plain = &*self.plain;
        self.watch.as_mut().is_some_and(|watch| watch(plain))
    }

    /// Room behind the unpacked bytes: `wanted` bytes or more, or all that the budget leaves if that is less.
    ///
    /// Decoders are fastest far from the end of their output, so they get all there is.
    ///
    /// # Errors
    /// `Limit` when memory is short.
    pub(super) fn room(&mut self, wanted: usize) -> Result<&mut [u8]> {
        let needed = self.plain.len.saturating_add(wanted).min(self.allowed) + SLACK;
        if self.plain.storage.len() < needed {
            self.grow(needed)?;
        }
        let end = self.allowed.min(self.plain.storage.len() - SLACK);
        Ok(self.plain.storage.get_mut(self.plain.len..end).unwrap_or_default())
    }

    /// Counts `bytes` of the room as unpacked.
    pub(super) fn fill(&mut self, bytes: usize) {
        debug_assert!(self.plain.len + bytes + SLACK <= self.plain.storage.len(), "filled beyond the room");
        self.plain.len += bytes;
    }

    /// Fails when `more` bytes are more than the budget leaves.
    ///
    /// # Errors
    /// `Limit`.
    pub(super) fn ensure(&self, more: usize) -> Result<()> {
        self.budget.ensure(self.plain.len.saturating_add(more))
    }

    /// What the budget leaves.
    pub(super) fn left(&self) -> usize {
        self.allowed.saturating_sub(self.plain.len)
    }

    /// What was unpacked from position `start` on.
    pub(super) fn from(&self, start: usize) -> &[u8] {
        self.plain.bytes().get(start..).unwrap_or_default()
    }

    /// Bytes unpacked.
    pub(super) fn len(&self) -> usize {
        self.plain.len
    }

    /// Moves to storage of `needed` bytes or of twice the present size.
    #[cold]
    fn grow(&mut self, needed: usize) -> Result<()> {
        let held = self.plain.storage.len();
        let wanted = needed.max(held.saturating_mul(2)).min(self.allowed + SLACK);
        ensure_memory(wanted, held)?;
        // A fresh zeroed vector and not `resize`: the system gives zero pages as they are touched.
        let mut storage = vec![0; wanted];
        if let Some(to) = storage.get_mut(..self.plain.len) {
            to.copy_from_slice(self.plain.bytes());
        }
        self.plain.storage = storage;
        Ok(())
    }
}

/// Fails when `bytes` bytes cannot be had, as under Spark's memory cap: an allocation that fails would end the process.
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

    fn room(output: &mut Output<'_>, wanted: usize) -> Result<usize> {
        output.room(wanted).map(|room| room.len())
    }

    #[test]
    fn room_ends_at_the_budget_and_leaves_the_slack() -> Result<()> {
        let (mut plain, budget) = (Plain::default(), budget(100));
        assert!(plain.readable().is_empty());
        let mut output = Output::new(&mut plain, &budget)?;
        assert_eq!(room(&mut output, 1000)?, 100);
        output.fill(100);
        assert_eq!(room(&mut output, 1)?, 0);
        assert!(output.ensure(0).is_ok());
        assert!(output.ensure(1).is_err());
        assert_eq!((plain.bytes().len(), plain.readable().len()), (100, 100 + SLACK));
        assert_eq!(plain.into_vec().len(), 100 + SLACK);
        Ok(())
    }

    #[test]
    fn growing_doubles_and_keeps_the_content() -> Result<()> {
        let (mut plain, budget) = (Plain::from_vec(vec![7; 1000]), budget(1 << 20));
        let mut output = Output::new(&mut plain, &budget)?;
        output.fill(900);
        assert_eq!(room(&mut output, 37)?, 2000 - SLACK - 900);
        assert_eq!(plain.bytes(), &[7; 900]);
        Ok(())
    }

    #[test]
    fn storage_of_a_larger_entry_does_not_lift_the_budget() -> Result<()> {
        let (mut plain, budget) = (Plain::from_vec(vec![0; 4096]), budget(10));
        assert_eq!(room(&mut Output::new(&mut plain, &budget)?, 4000)?, 10);
        Ok(())
    }

    #[test]
    fn slack_is_there_behind_nothing() -> Result<()> {
        let (mut plain, budget) = (Plain::default(), budget(10));
        Output::new(&mut plain, &budget)?;
        assert_eq!((plain.len(), plain.readable().len()), (0, SLACK));
        Ok(())
    }

    #[test]
    fn memory_that_is_not_there_is_an_error_and_no_abort() {
        assert_eq!(ensure_memory(usize::MAX / 4, 0).map_err(|error| error.rule()), Err("COD-6"));
    }
}
