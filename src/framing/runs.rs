//! Cuts a source into runs of whole entries, and says how the source ends.
//!
//! A run is counted memory: a slice of the caller's buffer, or pooled storage filled by a reader. Memory follows the bytes that
//! are really there: a claimed length never reserves anything.

use std::ops::Range;

use bytes::Bytes;

use super::plausible::{self, Claim, Effort, Found, Judge};
use super::source::Source;
use super::{Step, Tail, step};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::wire::as_u64;

/// Whole entries, one after the other.
#[derive(Clone, Debug)]
pub struct Run {
    /// Position of the first byte in the input.
    pub position: u64,
    /// The entries, and bytes behind them that may be read but mean nothing.
    pub bytes: Bytes,
    /// Bytes of the entries.
    pub len: usize,
}

/// Something that was stepped over.
#[derive(Clone, Debug)]
pub struct Damage {
    /// What is wrong, with its position.
    pub error: Error,
    /// The bytes that were left out.
    pub bytes: Range<u64>,
}

impl Run {
    /// What stands at `at`, up to the end of the entries.
    #[inline]
    pub fn entries_from(&self, at: usize) -> &[u8] {
        self.bytes.get(at..self.len).unwrap_or_default()
    }
}

/// What comes next out of a source.
#[derive(Debug)]
pub enum Piece {
    /// Whole entries.
    Run(Run),
    /// Damage that was stepped over; only when recovering.
    Damage(Damage),
    /// The bytes of an entry that claims to go on past the end of the source, up to an intact entry that lies inside of it; only when
    /// recovering. Its length was made larger, or it holds entries in its records.
    Swallowed(Range<u64>),
}

/// An iterator over the runs of a source.
pub struct Runs {
    source: Source,
    limits: Limits,
    target: usize,
    recover: Option<Recover>,
    tail: Option<Tail>,
}

struct Recover {
    judge: Box<dyn Judge>,
    effort: Effort,
}

enum Cut {
    Entries(usize),
    Fault(Error),
    Broken { len: usize, error: Error },
    End(Tail),
}

impl Runs {
    /// Runs of about `target` bytes.
    pub fn new(source: Source, limits: Limits, target: usize) -> Self {
        Self { source, limits, target: target.max(1), recover: None, tail: None }
    }

    /// Goes on past damage: the next intact entry is searched for. Entries that the judge does not believe count as damage,
    /// and their length is believed only when an intact entry, or the end, follows it.
    #[must_use]
    pub fn recovering(mut self, judge: Box<dyn Judge>) -> Self {
        self.recover = Some(Recover { judge, effort: Effort::default() });
        self
    }

    /// How the source ended; `None` before it did.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// After the end: the bytes of the torn tail.
    pub fn left(&self) -> &[u8] {
        self.source.front()
    }

    /// Bytes taken from the source so far.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// True when only the thread that asks for records may call `next_piece`.
    pub fn needs_caller(&self) -> bool {
        self.source.needs_caller()
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// What framing met (`Length`, `Magic`, `Limit`), unless recovering; `Io` when the source cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Piece>> {
        if self.tail.is_some() {
            return Ok(None);
        }
        let position = self.source.position();
        match self.cut()? {
            Cut::Entries(len) => Ok(Some(Piece::Run(Run { position, bytes: self.source.take(len), len }))),
            Cut::Fault(error) if self.recover.is_none() => {
                self.tail = Some(Tail::Complete);
                Err(error.at_byte(position))
            }
            Cut::Fault(error) => self.step_over(error.at_byte(position), 1).map(Some),
            Cut::Broken { len, error } => self.step_over_broken(error.at_byte(position), len).map(Some),
            Cut::End(tail) => {
                if let (Tail::Torn { position, .. }, Some(mut recover)) = (tail, self.recover.take()) {
                    let found = plausible::find(self.source.front(), 1, true, &*recover.judge, &mut recover.effort);
                    self.recover = Some(recover);
                    if let Found::At(len) = found {
                        self.source.discard(len);
                        return Ok(Some(Piece::Swallowed(position..self.source.position())));
                    }
                }
                self.tail = Some(tail);
                Ok(None)
            }
        }
    }

    /// Finds how many bytes of whole entries stand at the front, reading more as long as there is not one.
    fn cut(&mut self) -> Result<Cut> {
        let mut len = 0;
        loop {
            let front = self.source.front().get(len..).unwrap_or_default();
            let next = match step(front, &self.limits) {
                Step::Entry { len: entry, magic } => {
                    if let Some(error) = self.damage_of(front.get(..entry).unwrap_or_default(), magic) {
                        if len > 0 {
                            return Ok(Cut::Entries(len));
                        }
                        return Ok(Cut::Broken { len: entry, error });
                    }
                    len += entry;
                    if len < self.target {
                        continue;
                    }
                    return Ok(Cut::Entries(len));
                }
                other => other,
            };
            if len > 0 {
                return Ok(Cut::Entries(len));
            }
            match next {
                Step::Incomplete { needed } => {
                    if !self.source.fill(needed.max(self.target))? {
                        return Ok(Cut::End(self.torn(needed)));
                    }
                }
                Step::Fault(error) => return self.zeros_or(error),
                Step::Entry { .. } => {}
            }
        }
    }

    /// When recovering: why the entry cannot be believed.
    fn damage_of(&self, entry: &[u8], magic: i8) -> Option<Error> {
        self.recover.as_ref().and_then(|recover| recover.judge.damage_of(entry, magic))
    }

    fn torn(&self, needed: usize) -> Tail {
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
    fn zeros_or(&mut self, error: Error) -> Result<Cut> {
        if !matches!(error.kind(), ErrorKind::Length { declared: 0, .. }) {
            return Ok(Cut::Fault(error));
        }
        match self.source.zeros_to_end()? {
            Some(bytes) => Ok(Cut::End(Tail::Zeros { position: self.source.position(), bytes })),
            None => Ok(Cut::Fault(error)),
        }
    }

    /// A broken entry. Its length is believed when no intact entry contradicts it and what follows it fits.
    fn step_over_broken(&mut self, error: Error, len: usize) -> Result<Piece> {
        if let Some(found) = self.contradiction(len)? {
            return Ok(self.leave_out(error, found));
        }
        loop {
            let next = self.source.front().get(len..).unwrap_or_default();
            let ends = self.source.is_at_end();
            match step(next, &self.limits) {
                Step::Entry { len: entry, magic } => {
                    let is_believed = self.damage_of(next.get(..entry).unwrap_or_default(), magic).is_none();
                    return if is_believed { Ok(self.leave_out(error, len)) } else { self.step_over(error, 1) };
                }
                Step::Incomplete { .. } if ends => return Ok(self.leave_out(error, len)),
                Step::Incomplete { needed } => {
                    self.source.fill(len.saturating_add(needed))?;
                }
                Step::Fault(_) if ends && next.iter().all(|byte| *byte == 0) => return Ok(self.leave_out(error, len)),
                Step::Fault(_) => return self.step_over(error, 1),
            }
        }
    }

    /// Where an intact entry starts that the claimed length cuts through: it begins inside of the claim and ends at its end or behind it.
    /// (An entry that somebody stored in a value lies wholly inside: at least the count of headers follows it.)
    fn contradiction(&mut self, claimed: usize) -> Result<Option<usize>> {
        let Some(mut recover) = self.recover.take() else { return Ok(None) };
        let found = self.search_across(&mut recover, claimed);
        self.recover = Some(recover);
        found
    }

    fn search_across(&mut self, recover: &mut Recover, claimed: usize) -> Result<Option<usize>> {
        let mut from = 1;
        while from < claimed {
            let at_end = self.source.is_at_end();
            let front = self.source.front();
            match plausible::find(front, from, at_end, &*recover.judge, &mut recover.effort) {
                Found::At(at) if at >= claimed => return Ok(None),
                Found::At(at) => match recover.judge.claim(front.get(at..).unwrap_or_default()) {
                    Claim::Whole(len) if at.saturating_add(len) >= claimed => return Ok(Some(at)),
                    // Wholly inside: somebody's entry in a value, and what is in that one is its own affair.
                    Claim::Whole(len) => from = at.saturating_add(len.max(1)),
                    _ => from = at + 1,
                },
                Found::NotBefore(_) if at_end => return Ok(None),
                Found::NotBefore(at) => {
                    from = at.max(from);
                    let have = front.len();
                    self.source.fill(have.saturating_mul(2).max(self.target))?;
                }
            }
        }
        Ok(None)
    }

    /// Searches the next intact entry from `from` bytes on and leaves out what lies before it.
    fn step_over(&mut self, error: Error, from: usize) -> Result<Piece> {
        let start = self.source.position();
        if let Some(mut recover) = self.recover.take() {
            let found = self.search(&mut recover, from);
            self.recover = Some(recover);
            found?;
        }
        Ok(Piece::Damage(Damage { error, bytes: start..self.source.position() }))
    }

    fn search(&mut self, recover: &mut Recover, mut from: usize) -> Result<()> {
        loop {
            let at_end = self.source.is_at_end();
            match plausible::find(self.source.front(), from, at_end, &*recover.judge, &mut recover.effort) {
                Found::At(len) => {
                    self.source.discard(len);
                    return Ok(());
                }
                Found::NotBefore(_) if at_end => {
                    self.source.discard(usize::MAX);
                    return Ok(());
                }
                Found::NotBefore(len) => {
                    self.source.discard(len);
                    from = 0;
                    let have = self.source.front().len();
                    self.source.fill(have.saturating_mul(2).max(self.target))?;
                }
            }
        }
    }

    fn leave_out(&mut self, error: Error, len: usize) -> Piece {
        let start = self.source.position();
        self.source.discard(len);
        Piece::Damage(Damage { error, bytes: start..start.saturating_add(as_u64(len)) })
    }
}
