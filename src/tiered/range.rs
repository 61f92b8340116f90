//! A range of a segment, read front to back while the next chunks of it are fetched, decrypted and decompressed.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};

use super::chunk_table::Chunk;
use super::chunks::{ChunkedFile, MOST_CHUNKS, MOST_FETCHED};
use super::directory::open_ahead;
use super::error::{TieredError, TieredResult};
use super::file::{Content, TieredFile};
use super::objects::without_ring;
use super::part::FetchedBytes;
use super::uri::Uri;
use crate::interrupt::Interrupt;
use crate::stores::{Pending, PlacedFile, StoredFile, StoredRange, in_background};
use crate::wire::as_u64;

/// Bytes of the segment in a request, unless one chunk has more.
const REQUEST_LEN: u64 = 4 << 20;
/// Requests that are in flight, or answered and not read.
const MOST_PENDING: usize = 8;
/// Requests of a file that is opened ahead: several such files are in memory.
const FIRST_PENDING: usize = 4;
/// Bytes of the segment in them, or of the object if those are more.
const MOST_BYTES: u64 = 64 << 20;

/// Bytes of a file of uploaded segments. At the end it asks whether the object is still the same.
pub struct TieredRange {
    file: TieredFile,
    interrupt: Interrupt,
    at: u64,
    end: u64,
    current: Bytes,
    ahead: RangeAhead,
    is_checked: bool,
}

/// How bytes are fetched before they are asked for. A directory of this machine needs it not.
enum RangeAhead {
    None,
    /// An object that is read as it is, up to a position, and what was counted of it.
    Plain(Box<StoredRange>, u64, (u64, u64)),
    Chunks(Box<ChunksAhead>),
}

impl TieredRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file. The first request is made by the first read.
    pub fn new(file: TieredFile, start: u64, end: Option<u64>, interrupt: Interrupt) -> Self {
        let end = end.unwrap_or(u64::MAX);
        // The bytes of a lost segment are those of its object, so that a range of the segment may begin after them.
        let end = if matches!(file.content(), Content::Lost(_)) { end } else { end.min(file.size()) };
        let plain = |stored: &StoredFile, stop: u64| {
            let range = StoredRange::new(stored.clone(), start, Some(end.min(stop)), interrupt.clone());
            RangeAhead::Plain(Box::new(range), end.min(stop), (0, 0))
        };
        let ahead = match file.content() {
            Content::Plain(PlacedFile::Stored(stored)) => plain(stored, file.size()),
            Content::Chunks(chunks) => match &chunks.stored {
                PlacedFile::Stored(stored) if start < chunks.stored_end => plain(stored, chunks.stored_end),
                PlacedFile::Stored(stored) => RangeAhead::Chunks(Box::new(ChunksAhead::new(chunks, stored, start..end))),
                PlacedFile::Local(_) => RangeAhead::None,
            },
            _ => RangeAhead::None,
        };
        Self { file, interrupt, at: start, end, current: Bytes::new(), ahead, is_checked: false }
    }

    /// Begin to open a file in a store and to fetch its first chunks: all of the range is wanted.
    ///
    /// # Errors
    /// Those of the key ring. An error of the answer may be one of a key that only the caller has.
    pub fn begin(uri: &Uri, start: u64, end: Option<u64>) -> TieredResult<Pending<TieredResult<Self>>> {
        let uri = without_ring(uri)?;
        let pending = in_background(&uri.place.to_string(), move |interrupt| {
            // The reader that takes the range has its own interrupt.
            let mut range = Self::new(open_ahead(&uri, interrupt)?, start, end, Interrupt::default());
            range.ahead = match range.ahead {
                RangeAhead::Plain(stored, stop, counted) => RangeAhead::Plain(Box::new(stored.in_flight()?), stop, counted),
                RangeAhead::Chunks(mut chunks) => {
                    chunks.begin_all()?;
                    RangeAhead::Chunks(chunks)
                }
                RangeAhead::None => RangeAhead::None,
            };
            Ok(range)
        });
        Ok(pending?)
    }

    /// The same, which ends when it is not wanted any more.
    #[must_use]
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        let ahead = match self.ahead {
            RangeAhead::Plain(stored, stop, counted) => {
                RangeAhead::Plain(Box::new(stored.with_interrupt(interrupt.clone())), stop, counted)
            }
            ahead => ahead,
        };
        Self { interrupt, ahead, ..self }
    }

    /// The open file.
    pub fn file(&self) -> &TieredFile {
        &self.file
    }

    /// Reads some bytes, as `Read::read` does, and what fetching them took. A reader that skips damage gets other bytes for those of a damaged
    /// chunk, and a finding.
    ///
    /// # Errors
    /// As `TieredFile::read`.
    pub fn read_part(&mut self, to: &mut [u8], skips_damage: bool) -> TieredResult<(usize, FetchedBytes)> {
        let mut part = FetchedBytes::default();
        if self.current.is_empty() && !to.is_empty() {
            if let RangeAhead::Plain(range, stop, counted) = &mut self.ahead
                && self.at < *stop
            {
                let len = range.read(to).map_err(|error| stored_error(&error))?;
                let (requests, fetched) = range.fetched();
                (part.requests, part.fetched) = (requests.saturating_sub(counted.0), fetched.saturating_sub(counted.1));
                *counted = (requests, fetched);
                self.at = self.at.saturating_add(as_u64(len));
                return Ok((len, part));
            }
            let wanted = self.wanted();
            if let RangeAhead::Chunks(chunks) = &mut self.ahead {
                chunks.advance(self.at, &mut part, &self.interrupt)?;
            }
            if self.at < self.end {
                let read = self.file.read(self.at, wanted, skips_damage, &self.interrupt)?;
                part.requests += read.requests;
                part.fetched += read.fetched;
                part.findings = read.findings;
                self.current = read.bytes;
                self.at = self.at.saturating_add(as_u64(self.current.len()));
            }
        }
        let len = self.current.len().min(to.len());
        if let Some(to) = to.get_mut(..len) {
            self.current.copy_to_slice(to);
        }
        if len == 0 && !to.is_empty() && !self.is_checked {
            self.is_checked = true;
            if !self.file.is_checked_by_requests() {
                self.file.ensure_same(&self.interrupt)?;
            }
        }
        Ok((len, part))
    }

    /// Bytes up to the end of the chunk, so that they need not be joined.
    fn wanted(&self) -> u64 {
        let end = match self.file.content() {
            Content::Chunks(chunks) if self.at >= chunks.stored_end => chunks.end_of_chunk(self.at),
            _ => self.at.saturating_add(REQUEST_LEN),
        };
        end.min(self.at.saturating_add(REQUEST_LEN * 2)).min(self.end).saturating_sub(self.at)
    }
}

impl Read for TieredRange {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        Ok(self.read_part(to, false)?.0)
    }
}

/// The error of a store in one of a reader.
fn stored_error(error: &io::Error) -> TieredError {
    use crate::stores::{StoreError, StoreErrorKind};
    let found = error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>());
    TieredError::Store(found.cloned().unwrap_or_else(|| StoreError::new(StoreErrorKind::Other, "", error.to_string())))
}

/// Opened chunks, and stored bytes that they came from.
type Answer = (Vec<(Chunk, std::result::Result<Bytes, String>)>, u64);

/// Chunks that are fetched and opened before they are asked for.
struct ChunksAhead {
    file: Arc<ChunkedFile>,
    stored: StoredFile,
    /// Where the next request begins, and where the last one ends, in the segment.
    next: u64,
    end: u64,
    /// The bytes of the segment, the most of those and of the object, and the answer.
    pending: VecDeque<(Range<u64>, u64, Pending<Answer>)>,
    /// Requests that were answered: one more is made ahead for each.
    taken: usize,
}

impl ChunksAhead {
    fn new(file: &Arc<ChunkedFile>, stored: &StoredFile, bytes: Range<u64>) -> Self {
        let (file, stored) = (Arc::clone(file), stored.clone());
        Self { file, stored, next: bytes.start, end: bytes.end, pending: VecDeque::new(), taken: 0 }
    }

    /// Takes the answers up to the chunk at a position, which the file keeps then, and begins to fetch those after it.
    fn advance(&mut self, at: u64, part: &mut FetchedBytes, interrupt: &Interrupt) -> TieredResult<()> {
        self.begin()?;
        while self.pending.front().is_some_and(|(bytes, ..)| bytes.start <= at) {
            let Some((_, _, answer)) = self.pending.pop_front() else { break };
            let (opened, fetched) = answer.answer(&self.file.name, interrupt)?;
            for (chunk, data) in opened {
                self.file.kept(&chunk, data);
            }
            part.requests += 1;
            part.fetched += fetched;
            self.taken += 1;
        }
        self.begin()
    }

    /// Begins to fetch the first chunks, all of which are wanted.
    fn begin_all(&mut self) -> TieredResult<()> {
        self.taken = FIRST_PENDING - 1;
        self.begin()
    }

    fn begin(&mut self) -> TieredResult<()> {
        let waiting = |pending: &VecDeque<(_, u64, _)>| pending.iter().map(|(_, len, _)| *len).sum::<u64>();
        while self.next < self.end && self.pending.len() <= self.taken.min(MOST_PENDING - 1) && waiting(&self.pending) < MOST_BYTES {
            let run = self.run();
            let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
            let (bytes, stored) = (first.position..last.bytes().end, first.stored_position..last.stored().end);
            let len = (bytes.end - bytes.start).max(stored.end.saturating_sub(stored.start));
            let file = Arc::clone(&self.file);
            let pending = self.stored.begin_work(stored.clone(), move |found: Bytes| {
                let at = |position: u64| usize::try_from(position - stored.start).unwrap_or(usize::MAX).min(found.len());
                let opened = |chunk: Chunk| {
                    let own = found.slice(at(chunk.stored_position)..at(chunk.stored().end));
                    (chunk, file.opened(&chunk, &own))
                };
                (run.into_iter().map(opened).collect(), as_u64(found.len()))
            })?;
            self.next = bytes.end;
            self.pending.push_back((bytes, len, pending));
        }
        Ok(())
    }

    /// The chunks of the next request: those that are known or cannot be read are passed over.
    fn run(&mut self) -> Vec<Chunk> {
        let mut run: Vec<Chunk> = Vec::new();
        while self.next < self.end {
            let Some(chunk) = self.file.chunk_at(self.next) else { break };
            let is_known = self.file.is_lost(&chunk) || self.file.cached(&chunk).is_some();
            let len = |end: u64, begin: fn(&Chunk) -> u64| run.first().map_or(0, |first| end.saturating_sub(begin(first)));
            let is_large = len(chunk.bytes().end, |first| first.position) > REQUEST_LEN
                || len(chunk.stored().end, |first| first.stored_position) > MOST_FETCHED
                || run.len() >= MOST_CHUNKS;
            if !run.is_empty() && (is_known || is_large) {
                break;
            }
            self.next = chunk.bytes().end;
            if !is_known {
                run.push(chunk);
            }
        }
        run
    }
}
