//! Cuts a source into runs of whole entries, and says how the source ends.
//!
//! A run is counted memory: a slice of the caller's buffer, or pooled storage filled by a reader. Memory follows the bytes that
//! are really there: a claimed length never reserves anything.

mod broken;
mod end;

use std::ops::Range;

use bytes::Bytes;

use super::search::EntrySearch;
use super::source::Source;
use super::verifier::{SourceCheck, Verifier};
use super::{Step, Tail, step};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::model::Formats;
use crate::wire::{as_u64, prefetch};

/// Whole entries, one after the other.
#[derive(Clone, Debug)]
pub struct Run {
    /// Position of the first byte in the input.
    pub position: u64,
    /// The entries, and bytes after them that may be read but have no meaning.
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
    /// What is at `at`, up to the end of the entries.
    #[inline]
    pub fn entries_from(&self, at: usize) -> &[u8] {
        self.bytes.get(at..self.len).unwrap_or_default()
    }
}

/// What comes next out of a source.
#[derive(Debug)]
pub enum FrameEvent {
    /// Whole entries.
    Run(Run),
    /// Damage that was stepped over; only when recovering.
    Damage(Damage),
    /// The bytes of an entry that claims to go on past the end of the source, up to a valid entry that lies inside of it; only when
    /// recovering. Its length was made larger, or it holds entries in its records.
    Swallowed(Range<u64>),
    /// A whole entry that the verifier does not trust, but whose length fits; only when asked for.
    Broken(Run),
    /// A valid entry over `max_batch_bytes`; only when asked for.
    Oversized(Run),
    /// Bytes that claim to be entries so often that not all of the claims were looked into; only when recovering, at the end.
    Unsearched(Range<u64>),
}

impl FrameEvent {
    /// True for a batch that was left out since it starts before the batch before it ends.
    pub fn is_out_of_order(&self) -> bool {
        matches!(self, Self::Damage(damage) if matches!(damage.error.kind(), ErrorKind::OutOfOrder { .. }))
    }
}

/// An iterator over the runs of a source.
pub struct Runs {
    source: Source,
    formats: Formats,
    limits: Limits,
    target: usize,
    search: Option<EntrySearch>,
    source_check: Option<Box<dyn SourceCheck>>,
    oversized: Option<OversizedCheck>,
    gives_broken: bool,
    gives_doubtful: bool,
    doubtful_until: u64,
    /// Finds valid entries inside a torn tail, which are an error then.
    hidden: Option<Box<dyn Verifier>>,
    is_skimmed: bool,
    /// The front was found by a search, since no length leads to it.
    has_searched: bool,
    tail: Option<Tail>,
    /// Where the last entry of a cut begins, from the front on, and its magic.
    last_entry: (usize, i8),
    /// The highest offset so far; `None` where the end does not need it.
    last_offset: Option<i64>,
}

/// The check of entries over `max_batch_bytes`: a damaged length is over the limit too.
struct OversizedCheck {
    verifier: Box<dyn Verifier>,
    /// Give valid ones as `Oversized`.
    gives: bool,
    /// Bytes that were compared with a checksum that did not match.
    in_vain: u64,
}

/// Entries up to this size are read into memory for the check. The check of memory has no such bound.
const MOST_CHECKED: usize = 256 << 20;

enum Cut {
    Entries(usize),
    Error(Error),
    Broken {
        len: usize,
        magic: i8,
        error: Error,
    },
    /// The guard refuses the entry at the front.
    Refused {
        len: usize,
        magic: i8,
        error: Error,
    },
    End(Tail),
}

/// From this magic on an entry is a batch.
const BATCH: i8 = 2;
/// Messages are small, and uncompressed ones are opened many at a time: runs of them hold at least about so many bytes.
const MESSAGES: usize = 64 << 10;

impl Runs {
    /// Runs of about `target` bytes.
    pub fn new(source: Source, limits: Limits, target: usize) -> Self {
        let (formats, last_offset) = (Formats::default(), source.previous_last());
        Self {
            source,
            formats,
            limits,
            target: target.max(1),
            search: None,
            source_check: None,
            oversized: None,
            gives_broken: false,
            gives_doubtful: false,
            doubtful_until: 0,
            hidden: None,
            is_skimmed: false,
            has_searched: false,
            tail: None,
            last_entry: (0, 0),
            last_offset,
        }
    }

    /// Runs of entries of these formats.
    #[must_use]
    pub fn of(self, formats: Formats) -> Self {
        Self { formats, ..self }
    }

    /// Goes on past damage: the next valid entry is searched for. Entries that the verifier does not trust count as damage,
    /// and their length is trusted only when a valid entry, or the end, follows it.
    #[must_use]
    pub fn with_recovery(mut self, verifier: Box<dyn Verifier>) -> Self {
        self.search = Some(EntrySearch::new(verifier, self.source.position()));
        self
    }

    /// Fails at a torn tail that hides valid entries: a copy without it would not have them. A walk with recovery gives them instead.
    #[must_use]
    pub fn refusing_hidden(self, verifier: Box<dyn Verifier>) -> Self {
        Self { hidden: Some(verifier), ..self }
    }

    /// Treats entries that the guard refuses as damage.
    #[must_use]
    pub fn with_source_check(self, source_check: Option<Box<dyn SourceCheck>>) -> Self {
        Self { source_check, ..self }
    }

    /// Leaves out an entry over `max_batch_bytes` as `Damage` if its checksum matches, also without recovery: its error has the base offset.
    #[must_use]
    pub fn checking_oversized(mut self, verifier: Box<dyn Verifier>) -> Self {
        self.oversized = Some(OversizedCheck { verifier, gives: false, in_vain: 0 });
        self
    }

    /// Gives valid entries over `max_batch_bytes`, which are to be kept and not opened.
    #[must_use]
    pub fn giving_oversized(mut self) -> Self {
        if let Some(check) = &mut self.oversized {
            check.gives = true;
        }
        self
    }

    /// Asked now and then while a valid entry is searched for.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        if let Some(search) = &mut self.search {
            search.with_interrupt(interrupt);
        }
        self
    }

    /// Gives entries with a wrong checksum, or with bytes that the storage has lost, whose length is trusted as `Broken`, not as damage.
    #[must_use]
    pub fn giving_broken(mut self) -> Self {
        self.gives_broken = true;
        self
    }

    /// After a torn entry that valid entries follow, continue at the first valid entry, with any offset. A reader continues at the first entry
    /// with an offset that may follow; `doubtful_until` is its position.
    #[must_use]
    pub fn giving_doubtful(self, gives_doubtful: bool) -> Self {
        Self { gives_doubtful, ..self }
    }

    /// Position before which entries are doubtful: a reader that skips damage does not read them.
    pub fn doubtful_until(&self) -> u64 {
        self.doubtful_until
    }

    /// Nothing but the headers of the entries will be looked at, so that memory is worth asking for them early.
    #[must_use]
    pub fn skimmed(self) -> Self {
        Self { is_skimmed: true, ..self }
    }

    /// How the source ended; `None` before it did.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// After a piece that is damage: the next entry was searched for, since no length leads to it.
    pub fn has_searched(&self) -> bool {
        self.has_searched
    }

    /// After the end: the bytes of the torn tail.
    pub fn left(&self) -> &[u8] {
        self.source.front()
    }

    /// Bytes taken from the source so far.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// True when only the thread that asks for records may call `next_piece`: a long search must be where a signal is noticed.
    pub fn needs_caller(&self) -> bool {
        self.source.needs_caller() || self.search.is_some()
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// What framing met (`Length`, `Magic`, `Limit`), unless recovering; `Io` when the source cannot be read; `Interrupted`.
    pub fn next_piece(&mut self) -> Result<Option<FrameEvent>> {
        if self.tail.is_some() {
            return Ok(self.search.as_mut().and_then(EntrySearch::take_unsearched).map(FrameEvent::Unsearched));
        }
        let position = self.source.position();
        self.has_searched = false;
        let cut = self.cut()?;
        if let Cut::Error(error) = &cut
            && let Some(len) = self.oversized_at_front(error)?
        {
            return Ok(Some(self.leave_out_oversized(error.clone(), len)));
        }
        match cut {
            Cut::Entries(len) => {
                self.note_offset();
                Ok(Some(FrameEvent::Run(self.take(len))))
            }
            Cut::Error(error) if self.search.is_none() => {
                self.tail = Some(Tail::Damaged { position });
                Err(error.at_byte(position))
            }
            Cut::Error(error) => self.step_over_unreadable(error.at_byte(position), position).map(Some),
            Cut::Broken { len, magic, error } => self.step_over_broken(error.at_byte(position), len, magic).map(Some),
            // A checksum proves the length, whatever follows the entry or lies inside of it.
            Cut::Refused { len, error, .. } if self.is_valid(len) => Ok(Some(self.leave_out(error.at_byte(position), len))),
            Cut::Refused { len, magic, error } => self.step_over_broken(error.at_byte(position), len, magic).map(Some),
            Cut::End(tail) => self.end(tail),
        }
    }

    /// Finds how many bytes of whole entries are at the front, reading more as long as there is not one.
    fn cut(&mut self) -> Result<Cut> {
        let mut len = 0;
        loop {
            let front = self.source.front().get(len..).unwrap_or_default();
            let next = match step(front, self.formats, &self.limits) {
                Step::Entry { len: entry, magic } => {
                    if self.is_skimmed {
                        ask_for_headers(front, entry);
                    }
                    if let Some(error) = self.damage_at(len, entry, magic) {
                        if len > 0 {
                            return Ok(Cut::Entries(len));
                        }
                        return Ok(Cut::Broken { len: entry, magic, error });
                    }
                    if let Some(error) = self.pass_guard(len, entry, magic) {
                        return Ok(match (len, &self.search) {
                            (0, None) => Cut::Error(error),
                            (0, Some(_)) => Cut::Refused { len: entry, magic, error },
                            _ => Cut::Entries(len),
                        });
                    }
                    self.last_entry = (len, magic);
                    len += entry;
                    if len < self.target || magic < BATCH && len < MESSAGES {
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
                Step::Error(error) => return self.zeros_or(error),
                Step::Entry { .. } => {}
            }
        }
    }

    /// When recovering: why the entry of this length, `at` bytes after the front, is not trusted.
    fn damage_at(&mut self, at: usize, len: usize, magic: i8) -> Option<Error> {
        let search = self.search.as_mut()?;
        let position = self.source.position().saturating_add(as_u64(at));
        if let Some(bytes) = self.source.lost_among(&(position..position.saturating_add(as_u64(len)))) {
            // Whatever is compared: nobody wrote what stands there.
            return Some(ErrorKind::LostBytes { bytes, message: "the storage has lost bytes of the entry".to_owned() }.into());
        }
        let entry = self.source.front().get(at..)?.get(..len)?;
        search.damage_of(position, entry, magic)
    }

    /// Why the guard refuses the entry of this length, `at` bytes after the front; a refusal is final once the entry is at the front.
    fn pass_guard(&mut self, at: usize, len: usize, magic: i8) -> Option<Error> {
        let source_check = self.source_check.as_mut()?;
        let entry = self.source.front().get(at..)?.get(..len)?;
        let error = source_check.error_of(entry, magic);
        if error.is_none() || at == 0 {
            source_check.pass(entry, magic);
        }
        error
    }

    /// The length of the entry at the front, if it is over `max_batch_bytes` and its checksum matches.
    fn oversized_at_front(&mut self, error: &Error) -> Result<Option<usize>> {
        let ErrorKind::Limit { limit: "max_batch_bytes", asked, .. } = error.kind() else { return Ok(None) };
        let (asked, passed) = (*asked, self.source.position());
        let Some(check) = &mut self.oversized else { return Ok(None) };
        let len = usize::try_from(asked).unwrap_or(usize::MAX);
        let allowed = passed.saturating_mul(4).saturating_add(as_u64(MOST_CHECKED).saturating_mul(8));
        if (len > MOST_CHECKED && !self.source.is_memory()) || check.in_vain.saturating_add(asked) > allowed {
            return Ok(None);
        }
        while self.source.front().len() < len {
            if !self.source.fill(len)? {
                return Ok(None);
            }
        }
        let is_valid = self.source.front().get(..len).is_some_and(|entry| check.verifier.is_valid(entry));
        if !is_valid {
            check.in_vain = check.in_vain.saturating_add(asked);
        }
        Ok(is_valid.then_some(len))
    }

    fn leave_out_oversized(&mut self, error: Error, len: usize) -> FrameEvent {
        let position = self.source.position();
        if self.oversized.as_ref().is_some_and(|check| check.gives) {
            return FrameEvent::Oversized(self.take(len));
        }
        let stored = self.source.front().first_chunk::<8>().map_or(0, |offset| i64::from_be_bytes(*offset));
        let base_offset = if self.formats.is_v07() { i64::try_from(position).unwrap_or(i64::MAX) } else { stored };
        self.source.discard(len);
        FrameEvent::Damage(Damage {
            error: error.at_byte(position).in_batch(base_offset),
            bytes: position..position.saturating_add(as_u64(len)),
        })
    }

    fn take(&mut self, len: usize) -> Run {
        Run { position: self.source.position(), bytes: self.source.take(len), len }
    }

    /// Whether the checksum of the entry of this length at the front matches.
    fn is_valid(&self, len: usize) -> bool {
        let entry = self.source.front().get(..len);
        entry.zip(self.search.as_ref()).is_some_and(|(entry, search)| search.has_valid(entry))
    }

    fn valid_before(&mut self, end: u64) -> Result<Option<(Range<u64>, Range<u64>)>> {
        let Some(search) = &mut self.search else { return Ok(None) };
        search.within(&mut self.source, end, self.target)
    }

    /// Skips the bytes between `start` and the next valid entry. The first zeros may be skipped already.
    fn step_over(&mut self, error: Error, start: u64) -> Result<FrameEvent> {
        if let Some(search) = &mut self.search {
            search.skip(&mut self.source, self.target)?;
            self.has_searched = true;
        }
        Ok(FrameEvent::Damage(Damage { error, bytes: start..self.source.position() }))
    }

    fn leave_out(&mut self, error: Error, len: usize) -> FrameEvent {
        if self.gives_broken && matches!(error.kind(), ErrorKind::Checksum { .. } | ErrorKind::LostBytes { .. }) {
            return FrameEvent::Broken(self.take(len));
        }
        let start = self.source.position();
        self.source.discard(len);
        FrameEvent::Damage(Damage { error, bytes: start..start.saturating_add(as_u64(len)) })
    }
}

/// Asks for what is left of the header at the front, and for the one after the next: it is about where equal entries would have it.
/// A length is known only when the header before it is there, so that without a guess one wait follows the other.
#[inline]
fn ask_for_headers(front: &[u8], len: usize) {
    use prefetch::LINE;
    if len > 16 * LINE {
        prefetch::lines(front, LINE - 4, LINE);
        prefetch::lines(front, 2 * len - LINE, 2 * len + 3 * LINE);
    }
}
