//! A log that can be read by position to the headers of its entries, hopping over the records. Compares no checksum: what a header says is
//! as good as its bits, and whoever asks for an entry can have it compared.

use std::borrow::Cow;
use std::ops::Range;

use super::ReadAt;
use crate::decode::transactions::marker;
use crate::decode::{parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{record_batch, v0_v1};
use crate::framing::{Before, Ending, Frame, Step, Tail, step};
use crate::limits::Limits;
use crate::model::{BatchHeader, Formats, Marker};
use crate::wire::as_u64;

/// The headers of a log, one after the other, from a position on. The records between them are not read, where they are long.
///
/// Of a message set entry (magic 0, 1) `base_offset` is its stored offset as well: the start of a wrapper is known only after decompression.
pub struct BatchHeaders<L> {
    log: L,
    limits: Limits,
    formats: Formats,
    position: u64,
    end: u64,
    window: Vec<u8>,
    window_at: u64,
    filled: usize,
    least_window: usize,
    most_window: usize,
    bytes_read: u64,
    zeros: Range<u64>,
    tail: Option<Tail>,
    ending: Ending,
    last_offset: Option<i64>,
}

/// In all formats since Kafka 0.8 (MAP-2).
const MAGIC_AT: usize = v0_v1::layout::MAGIC;
/// Smallest read: a page.
const LEAST_WINDOW: usize = 4 << 10;
/// Smallest read when nothing but the headers is wanted: the largest header fits.
const SPARING_WINDOW: usize = 64;
/// Entries up to this size are read into memory to find out whether their checksum matches.
const MOST_CHECKED: u64 = 256 << 20;
/// Largest read, when batches are so small that they come one after the other.
const MOST_WINDOW: usize = 256 << 10;

impl<L: ReadAt> BatchHeaders<L> {
    /// From `start` to `end` (exclusive), both where an entry starts; `end` is the length of the log or less.
    pub fn new(log: L, limits: Limits, start: u64, end: u64) -> Self {
        let (window, least_window) = (Vec::new(), LEAST_WINDOW);
        Self {
            log,
            limits,
            formats: Formats::Every,
            position: start,
            end,
            window,
            window_at: 0,
            filled: 0,
            least_window,
            most_window: MOST_WINDOW,
            bytes_read: 0,
            zeros: 0..0,
            tail: None,
            ending: Ending::Open,
            last_offset: None,
        }
    }

    /// Gives headers of these formats only; without it, of all formats since Kafka 0.8: where entries lie is no reading of them.
    #[must_use]
    pub fn of(self, formats: Formats) -> Self {
        Self { formats, ..self }
    }

    /// Fails where the log ends inside an entry although something follows it.
    #[must_use]
    pub fn before(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    /// Reads as few bytes as it can, for a walk over all of a log that lies near.
    #[must_use]
    pub fn sparing(self) -> Self {
        Self { least_window: SPARING_WINDOW, ..self }
    }

    /// Reads no more than each header: `RecordedHeaders` has no other bytes of the log.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        Self { least_window: SPARING_WINDOW, most_window: SPARING_WINDOW, ..self }
    }

    /// Does not look again at bytes that were zeros: a broker fills a preallocated log from the front on, so that after a header of zeros
    /// there is nothing yet.
    #[must_use]
    pub fn knowing_zeros(self, zeros: Range<u64>) -> Self {
        Self { zeros, ..self }
    }

    /// Bytes taken from the log so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The highest offset of the headers so far; `None` before the first one.
    pub fn last_offset(&self) -> Option<i64> {
        self.last_offset
    }

    /// How the log ended; `None` before it did.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Where the next entry starts.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next header; `None` at the end, or where an entry is cut short. No checksum is compared.
    ///
    /// # Errors
    /// `Length`, `Magic`, `Limit` where no entry can be framed, `Unfinished` at an end that hides entries, `UnsupportedFormat` for magics of other formats, `LostBytes` where the storage
    /// has lost it, `Io`.
    pub fn next_header(&mut self) -> Result<Option<BatchHeader>> {
        if self.tail.is_some() {
            return Ok(None);
        }
        let position = self.position;
        let lost = self.look_at(position, record_batch::longest_header(self.formats))?;
        let front = self.front(position);
        let (len, magic) = match step(front, self.formats, &self.limits) {
            Step::Entry { len, magic } => (as_u64(len), magic),
            Step::Incomplete { needed } => match (front.get(MAGIC_AT), lost.as_ref()) {
                (Some(magic), _) if as_u64(needed) <= self.end - position => (as_u64(needed), magic.cast_signed()),
                (_, Some(lost)) => return Err(lost.clone()),
                _ => {
                    return self.end(self.torn(needed));
                }
            },
            Step::Error(_) if lost.is_none() && self.is_zero_to_end()? => {
                return self.end(Tail::Zeros { position, bytes: self.end - position });
            }
            Step::Error(error) => return Err(self.in_valid_batch(error).at_byte(position)),
        };
        // Bytes after an entry that is too short for a header are not part of it.
        let bytes = self.front(position);
        let bytes = usize::try_from(len).ok().and_then(|len| bytes.get(..len)).unwrap_or(bytes);
        let header = parse_header(Frame { position, magic, bytes }, self.formats, 0);
        let header = header.map_err(|error| lost.unwrap_or_else(|| error.at_byte(position)))?;
        self.position = position.saturating_add(len);
        self.last_offset = self.last_offset.max(Some(header.last_offset));
        Ok(Some(BatchHeader { size: len, ..header }))
    }

    fn end(&mut self, tail: Tail) -> Result<Option<BatchHeader>> {
        let error = self.ending.error_of(tail, Before { last: self.last_offset, is_v07: self.formats.is_v07() });
        error.map_or_else(
            || {
                self.tail = Some(tail);
                Ok(None)
            },
            Err,
        )
    }

    /// Adds the base offset of an entry over `max_batch_bytes` whose checksum matches: it is not damaged.
    #[cold]
    fn in_valid_batch(&self, error: Error) -> Error {
        let ErrorKind::Limit { limit: "max_batch_bytes", asked, .. } = error.kind() else { return error };
        let is_there = self.position.checked_add(*asked).is_some_and(|end| end <= self.end);
        if !is_there || *asked > MOST_CHECKED {
            return error;
        }
        let mut bytes = vec![0; usize::try_from(*asked).unwrap_or(0)];
        let is_read = self.log.fill_at(&mut bytes, self.position).is_ok_and(|len| len == bytes.len());
        let Some(magic) = bytes.get(MAGIC_AT).filter(|_| is_read) else { return error };
        let frame = Frame { position: self.position, magic: magic.cast_signed(), bytes: &bytes };
        match parse_header(frame, self.formats, 0) {
            Ok(header) if is_valid(&header, &bytes) => error.in_batch(header.base_offset),
            _ => error,
        }
    }

    /// The bytes of the entry that a header belongs to.
    ///
    /// # Errors
    /// `Io`.
    pub fn entry(&self, header: &BatchHeader) -> Result<Vec<u8>> {
        // The length was held against the limits and the end of the log before the header was given.
        let mut bytes = vec![0; usize::try_from(header.size).unwrap_or(0)];
        let len = self.log.fill_at(&mut bytes, header.position)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// The same when its checksum matches; `None` when it does not, and where the storage has lost some of them.
    ///
    /// # Errors
    /// `Io`.
    pub fn valid_entry(&self, header: &BatchHeader) -> Result<Option<Cow<'_, [u8]>>> {
        let len = usize::try_from(header.size).unwrap_or(usize::MAX);
        let at_hand = if header.position < self.window_at { None } else { self.front(header.position).get(..len) };
        let entry = match at_hand {
            Some(bytes) => Cow::Borrowed(bytes),
            None => match self.entry(header) {
                Err(error) if error.lost_bytes().is_some() => return Ok(None),
                entry => Cow::Owned(entry?),
            },
        };
        Ok(is_valid(header, &entry).then_some(entry))
    }

    /// The transaction marker of a batch; `None` for data, and for a marker that is damaged or cannot be read.
    ///
    /// # Errors
    /// `Io`.
    pub fn marker(&self, header: &BatchHeader) -> Result<Option<Marker>> {
        if !header.is_control() {
            return Ok(None);
        }
        Ok(self.valid_entry(header)?.and_then(|entry| marker(header, &entry).ok().flatten()))
    }

    /// Reads so that `len` bytes from `position` on are in the window, or all up to the end; or those before bytes that the storage has
    /// lost, with the error that says so.
    fn look_at(&mut self, position: u64, len: usize) -> Result<Option<Error>> {
        let wanted = len.min(usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX));
        if position >= self.window_at && self.front(position).len() >= wanted {
            return Ok(None);
        }
        let is_near = position < self.window_at.saturating_add(as_u64(self.filled));
        let size = if is_near { self.window.len() * 2 } else { self.window.len() / 2 };
        let least = self.least_window.max(len);
        self.window.resize(size.clamp(least, self.most_window.max(least)), 0);
        let mut most = self.window.len().min(usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX));
        let lost = match self.fill(most, position) {
            Ok(()) => None,
            Err(error) => {
                let Some(lost) = error.lost_bytes() else { return Err(error) };
                most = most.min(usize::try_from(lost.start.saturating_sub(position)).unwrap_or(usize::MAX));
                self.fill(most, position)?;
                Some(error)
            }
        };
        self.bytes_read = self.bytes_read.saturating_add(as_u64(self.filled));
        self.window_at = position;
        if self.filled < most {
            // The file is shorter than it was.
            self.end = position.saturating_add(as_u64(self.filled));
        }
        // More than is wanted was only asked for since it lies near.
        Ok(lost.filter(|_| self.filled < wanted))
    }

    fn fill(&mut self, len: usize, position: u64) -> Result<()> {
        self.filled = self.log.fill_at(self.window.get_mut(..len).unwrap_or_default(), position)?;
        Ok(())
    }

    fn front(&self, position: u64) -> &[u8] {
        let from = usize::try_from(position.saturating_sub(self.window_at)).unwrap_or(usize::MAX);
        self.window.get(..self.filled).and_then(|window| window.get(from..)).unwrap_or_default()
    }

    fn torn(&self, needed: usize) -> Tail {
        let (position, available) = (self.position, self.end.saturating_sub(self.position));
        let front = self.front(position);
        match available {
            0 => Tail::Complete,
            _ if as_u64(front.len()) == available && front.iter().all(|byte| *byte == 0) => Tail::Zeros { position, bytes: available },
            _ => Tail::Torn { position, needed: as_u64(needed), available },
        }
    }

    fn is_zero_to_end(&mut self) -> Result<bool> {
        if self.front(self.position).iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let mut at = if self.zeros.contains(&self.position) { self.zeros.end } else { self.position };
        let mut buffer = Vec::new();
        while at < self.end {
            buffer.resize(MOST_WINDOW, 0);
            let most = buffer.len().min(usize::try_from(self.end - at).unwrap_or(usize::MAX));
            let len = match self.log.fill_at(buffer.get_mut(..most).unwrap_or_default(), at).map_err(Error::from) {
                Err(error) if error.lost_bytes().is_some() => return Ok(false),
                len => len?,
            };
            self.bytes_read = self.bytes_read.saturating_add(as_u64(len));
            if len == 0 {
                break;
            }
            if buffer.iter().take(len).any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += as_u64(len);
        }
        Ok(true)
    }
}

/// True when the checksum of a whole entry matches.
pub fn is_valid(header: &BatchHeader, entry: &[u8]) -> bool {
    u64::try_from(entry.len()) == Ok(header.size) && verify(entry, header).is_ok()
}
