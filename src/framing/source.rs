//! Where the bytes come from: counted memory, or a reader whose bytes go into pooled storage.

use std::io::{ErrorKind as IoKind, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};

use super::lost_ranges::LostRanges;
use super::tail::Ending;
use crate::error::Result;
use crate::model::UploadOffsets;
use crate::pool::Pool;
use crate::wire::as_u64;

/// Bytes of an input, from a position on.
pub struct Source {
    inner: SourceBytes,
    position: u64,
    needs_caller: bool,
    losses: Option<Arc<LostRanges>>,
    upload: Option<UploadOffsets>,
    ending: Ending,
    previous_last: Option<i64>,
}

enum SourceBytes {
    Memory(Bytes),
    Reader(SourceReader),
}

/// A reader that also gives bytes at other positions of its input, which it has not come to yet.
pub trait Positioned: Read + Send {
    /// Reads bytes at a position of the input; 0 at its end.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_ahead(&mut self, buffer: &mut [u8], position: u64) -> std::io::Result<usize>;
}

/// Where a reader gets its bytes.
enum Input {
    Sequential(Box<dyn Read + Send>),
    Positioned(Box<dyn Positioned>),
}

struct SourceReader {
    reader: Input,
    pool: Pool<u8>,
    storage: Vec<u8>,
    filled: usize,
    taken: usize,
    at_end: bool,
    /// An error after the buffered bytes, returned when more bytes are requested.
    failed: Option<std::io::Error>,
    read: u64,
}

/// How much is asked of a reader at once when little is needed.
const READ_LEN: usize = 1 << 20;

impl Source {
    /// The bytes themselves; nothing is copied.
    pub fn memory(bytes: Bytes) -> Self {
        Self {
            inner: SourceBytes::Memory(bytes),
            position: 0,
            needs_caller: false,
            losses: None,
            upload: None,
            ending: Ending::Open,
            previous_last: None,
        }
    }

    /// What a reader gives, one read after the other, from `position` of the input on.
    pub fn reader(reader: Box<dyn Read + Send>, position: u64) -> Self {
        Self::of(Input::Sequential(reader), position)
    }

    /// The same of a reader that can look ahead.
    pub fn positioned(reader: Box<dyn Positioned>, position: u64) -> Self {
        Self::of(Input::Positioned(reader), position)
    }

    fn of(reader: Input, position: u64) -> Self {
        let pool = Pool::new(4);
        let reader = SourceReader { reader, pool, storage: Vec::new(), filled: 0, taken: 0, at_end: false, failed: None, read: 0 };
        Self {
            inner: SourceBytes::Reader(reader),
            position,
            needs_caller: false,
            losses: None,
            upload: None,
            ending: Ending::Open,
            previous_last: None,
        }
    }

    /// The same source, to be read on the thread that asks for its records only: another one might wait for a lock that thread holds
    /// (Python's interpreter).
    #[must_use]
    pub fn read_by_caller(self) -> Self {
        Self { needs_caller: true, ..self }
    }

    /// The same source, whose reader gives other bytes for those that it has lost, and says so.
    #[must_use]
    pub fn with_lost_ranges(self, losses: Arc<LostRanges>) -> Self {
        Self { losses: Some(losses), ..self }
    }

    /// The same source, of an upload whose batches must have these offsets, in increasing order.
    #[must_use]
    pub fn of_upload(self, upload: Option<UploadOffsets>) -> Self {
        Self { upload, ..self }
    }

    /// The same source, with what follows its last byte.
    #[must_use]
    pub fn before(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    /// The same source, with the last offset of the entries before its first byte.
    #[must_use]
    pub fn after(self, previous_last: Option<i64>) -> Self {
        Self { previous_last, ..self }
    }

    /// The last offset of the entries before the first byte, if it is known.
    pub fn previous_last(&self) -> Option<i64> {
        self.previous_last
    }

    /// What follows the last byte.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The offsets that the batches of an upload must have.
    pub fn upload(&self) -> Option<UploadOffsets> {
        self.upload
    }

    /// Lost bytes of which some are in this range of the input, all of which is at hand.
    pub fn lost_among(&self, bytes: &Range<u64>) -> Option<Range<u64>> {
        self.losses.as_ref()?.among(bytes)
    }

    /// True when only the thread that asks for records may read.
    pub fn needs_caller(&self) -> bool {
        self.needs_caller
    }

    /// Position of the front.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that are at hand.
    pub fn front(&self) -> &[u8] {
        match &self.inner {
            SourceBytes::Memory(bytes) => bytes,
            SourceBytes::Reader(reader) => reader.front(),
        }
    }

    /// Bytes read so far; for memory, bytes passed.
    pub fn bytes_read(&self) -> u64 {
        match &self.inner {
            SourceBytes::Memory(_) => self.position,
            SourceBytes::Reader(reader) => reader.read,
        }
    }

    /// True when nothing follows what is at hand.
    pub fn is_at_end(&self) -> bool {
        match &self.inner {
            SourceBytes::Memory(_) => true,
            SourceBytes::Reader(reader) => reader.at_end,
        }
    }

    /// Brings more bytes to the front, up to about `wanted`; false when there are none.
    ///
    /// # Errors
    /// `Io`, once all that came before it was given.
    pub fn fill(&mut self, wanted: usize) -> Result<bool> {
        match &mut self.inner {
            SourceBytes::Memory(_) => Ok(false),
            SourceBytes::Reader(reader) => reader.fill(wanted),
        }
    }

    /// True if bytes after those at hand can be read without being kept.
    pub fn looks_ahead(&self) -> bool {
        matches!(&self.inner, SourceBytes::Reader(SourceReader { reader: Input::Positioned(_), .. }))
    }

    /// Reads bytes at a position, wherever the front is; 0 at the end, or if the source cannot look ahead.
    ///
    /// # Errors
    /// `Io`.
    pub fn read_ahead(&mut self, buffer: &mut [u8], position: u64) -> Result<usize> {
        match &mut self.inner {
            SourceBytes::Reader(SourceReader { reader: Input::Positioned(reader), .. }) => Ok(reader.read_ahead(buffer, position)?),
            _ => Ok(0),
        }
    }

    /// True when the bytes are in memory already, so that small pieces cost nothing.
    pub fn is_memory(&self) -> bool {
        matches!(self.inner, SourceBytes::Memory(_))
    }

    /// Takes `len` bytes off the front as counted memory; the result may be longer.
    pub fn take(&mut self, len: usize) -> Bytes {
        self.position = self.position.saturating_add(as_u64(len));
        match &mut self.inner {
            SourceBytes::Memory(bytes) => {
                let whole = bytes.clone();
                bytes.advance(len.min(whole.len()));
                whole
            }
            SourceBytes::Reader(reader) => reader.take(len),
        }
    }

    /// Drops `len` bytes off the front.
    pub fn discard(&mut self, len: usize) {
        match &mut self.inner {
            SourceBytes::Memory(bytes) => {
                let len = len.min(bytes.len());
                bytes.advance(len);
                self.position = self.position.saturating_add(as_u64(len));
            }
            SourceBytes::Reader(reader) => {
                let len = len.min(reader.front().len());
                reader.taken += len;
                self.position = self.position.saturating_add(as_u64(len));
            }
        }
    }

    /// Drops what lies before `position`, as far as it is at hand.
    pub fn discard_to(&mut self, position: u64) {
        self.discard(usize::try_from(position.saturating_sub(self.position)).unwrap_or(usize::MAX));
    }

    /// How many zeros follow, when nothing else does up to the end. Otherwise the zeros stay at the front, but for long runs of them,
    /// of which all but the last 64 KiB are dropped.
    ///
    /// # Errors
    /// `Io`.
    pub fn zeros_to_end(&mut self) -> Result<Option<u64>> {
        const KEPT: usize = 64 << 10;
        let start = self.position;
        loop {
            let front = self.front();
            if front.iter().any(|byte| *byte != 0) {
                return Ok(None);
            }
            let have = front.len();
            if self.is_at_end() {
                let zeros = self.position.saturating_sub(start).saturating_add(as_u64(have));
                self.discard(have);
                self.position = start;
                return Ok(Some(zeros));
            }
            self.discard(have.saturating_sub(KEPT));
            self.fill(READ_LEN)?;
        }
    }
}

impl Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Sequential(reader) => reader.read(buffer),
            Self::Positioned(reader) => reader.read(buffer),
        }
    }
}

impl SourceReader {
    fn front(&self) -> &[u8] {
        self.storage.get(self.taken..self.filled).unwrap_or_default()
    }

    fn fill(&mut self, wanted: usize) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        if self.at_end {
            return Ok(false);
        }
        self.make_room(wanted);
        let before = self.filled;
        while self.filled < self.storage.len() {
            let room = self.storage.get_mut(self.filled..).unwrap_or_default();
            match self.reader.read(room) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(len) => self.filled += len.min(room.len()),
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) if self.filled > before => {
                    self.failed = Some(error);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            if self.front().len() >= wanted {
                break;
            }
        }
        self.read = self.read.saturating_add(as_u64(self.filled - before));
        Ok(self.filled > before)
    }

    /// Room for at least one more byte. Storage doubles as bytes arrive, so a claim of 200 MB costs nothing by itself.
    fn make_room(&mut self, wanted: usize) {
        let have = self.filled - self.taken;
        if self.taken > 0 {
            self.storage.copy_within(self.taken..self.filled, 0);
            (self.filled, self.taken) = (have, 0);
        }
        let most = have.saturating_mul(2).max(READ_LEN);
        let len = wanted.max(READ_LEN).min(most);
        if self.storage.len() < len.max(have + 1) {
            self.storage.resize(len.max(have + 1), 0);
        }
    }

    fn take(&mut self, len: usize) -> Bytes {
        let (start, stop) = (self.taken, (self.taken + len).min(self.filled));
        let rest = self.filled - stop;
        let mut storage = self.pool.take();
        if storage.len() < rest {
            storage.resize(rest.max(READ_LEN), 0);
        }
        if let (Some(to), Some(from)) = (storage.get_mut(..rest), self.storage.get(stop..self.filled)) {
            to.copy_from_slice(from);
        }
        let full = std::mem::replace(&mut self.storage, storage);
        (self.filled, self.taken) = (rest, 0);
        Bytes::from_owner(self.pool.guard(full)).slice(start..)
    }
}
