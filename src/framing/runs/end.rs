//! The end of the runs: what the bytes after the last whole entry mean, given what follows the source.

use std::ops::Range;

use super::{Cut, Damage, FrameEvent, Runs};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::entry::{first_offset, last_offset};
use crate::framing::search::EntrySearch;
use crate::framing::successor::TornEntry;
use crate::framing::{Before, Ending, Tail};
use crate::wire::as_u64;

impl Runs {
    /// The piece after the last whole entry.
    pub(super) fn end(&mut self, tail: Tail) -> Result<Option<FrameEvent>> {
        let start = self.source.position();
        let before = Before { last: self.last_offset, is_v07: self.formats.is_v07() };
        let error = self.source.ending().error_of(tail, before);
        if let (Some(error), None) = (&error, &self.search) {
            self.tail = Some(Tail::Damaged { position: start });
            return Err(error.clone());
        }
        self.ensure_nothing_hidden(tail)?;
        let successor = if matches!(tail, Tail::Torn { .. }) { self.successor()? } else { None };
        let first = successor.as_ref().filter(|_| !self.formats.is_v07()).and_then(|next| self.first_offset_at(next.start));
        self.doubtful_until = successor.as_ref().filter(|_| self.gives_doubtful).map_or(self.doubtful_until, |next| next.start);
        let next = successor.map(|next| self.first_doubtful().unwrap_or(next));
        if let Some(next) = &next {
            self.source.discard_to(next.start);
            self.has_searched = true;
        }
        match (error, next) {
            (Some(error), Some(next)) => {
                let error = error.missing_before(first);
                Ok(Some(FrameEvent::Damage(Damage { error, bytes: start..next.start })))
            }
            (Some(error), None) => {
                self.source.discard_to(u64::MAX);
                let bytes = start..tail.end().unwrap_or(start);
                Ok(Some(FrameEvent::Damage(Damage { error, bytes })))
            }
            (None, Some(next)) => Ok(Some(FrameEvent::Swallowed(start..next.start))),
            (None, None) => {
                self.tail = Some(tail);
                self.next_piece()
            }
        }
    }

    /// The offset of the first record of the entry at a position that is at hand.
    fn first_offset_at(&self, position: u64) -> Option<i64> {
        let at = usize::try_from(position.saturating_sub(self.source.position())).ok()?;
        first_offset(self.source.front().get(at..)?)
    }

    /// The first valid entry after the front, with any offset, if the caller of the walk checks offsets.
    fn first_doubtful(&self) -> Option<Range<u64>> {
        self.search.as_ref().filter(|_| self.gives_doubtful).and_then(|search| search.found().next().cloned())
    }

    /// Fails if valid entries are in the bytes of a torn tail, for a walk without recovery that refuses them.
    fn ensure_nothing_hidden(&mut self, tail: Tail) -> Result<()> {
        let (Tail::Torn { position, needed, available }, None) = (tail, &self.search) else { return Ok(()) };
        let Some(verifier) = self.hidden.take() else { return Ok(()) };
        self.search = Some(EntrySearch::new(verifier, position));
        let next = self.successor();
        self.search = None;
        if next?.is_none() {
            return Ok(());
        }
        self.tail = Some(Tail::Damaged { position });
        let (declared, expected) = (needed.cast_signed(), available.cast_signed());
        Err(Error::from(ErrorKind::Length { rule: "SWALLOWED", declared, expected }).at_byte(position))
    }

    /// Remembers the offset of the last entry of a cut, which decides what is missing before the next segment, and what follows a torn entry.
    pub(super) fn note_offset(&mut self) {
        let is_needed = matches!(self.source.ending(), Ending::Segment { .. }) || self.search.is_some() || self.hidden.is_some();
        if is_needed && !self.formats.is_v07() {
            let (at, magic) = self.last_entry;
            let last = last_offset(self.source.front().get(at..).unwrap_or_default(), magic);
            self.last_offset = self.last_offset.max(last);
        }
    }

    /// The tail in an entry that needs more bytes than there are.
    pub(super) fn torn(&self, needed: usize) -> Tail {
        let (position, front) = (self.source.position(), self.source.front());
        let available = as_u64(front.len());
        if front.is_empty() {
            Tail::Complete
        } else if front.iter().all(|byte| *byte == 0) {
            Tail::Zeros { position, bytes: available }
        } else {
            Tail::Torn { position, needed: as_u64(needed), available }
        }
    }

    /// A size of 0 is the beginning of a zero tail when nothing but zeros follow.
    pub(super) fn zeros_or(&mut self, error: Error) -> Result<Cut> {
        if !matches!(error.kind(), ErrorKind::Length { declared: 0, .. }) {
            return Ok(Cut::Error(error));
        }
        match self.source.zeros_to_end()? {
            Some(bytes) => Ok(Cut::End(Tail::Zeros { position: self.source.position(), bytes })),
            None => Ok(Cut::Error(error)),
        }
    }

    /// The valid entry that follows the torn entry at the front, when recovering: the length of the torn entry is damaged.
    fn successor(&mut self) -> Result<Option<Range<u64>>> {
        if self.valid_before(u64::MAX)?.is_none() {
            return Ok(None);
        }
        let Some(search) = &self.search else { return Ok(None) };
        let torn = TornEntry {
            front: self.source.front(),
            position: self.source.position(),
            formats: self.formats,
            limits: self.limits,
            ending: self.source.ending(),
            previous_last: self.last_offset,
        };
        Ok(torn.successor(search))
    }
}
