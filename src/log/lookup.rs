use super::headers::is_valid;
use super::index_search::{from_last, position};
use super::{BatchHeaders, ReadAt};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Ending, LOG_OVERHEAD};
use crate::limits::Limits;
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::OffsetEntry;

/// A log of `len` bytes and the entries of its `.index`, as far as they are sound.
///
/// An entry is a hint: it counts only if a valid batch starts at its position. Otherwise an earlier entry is tried, and then the beginning of
/// the log. Since offsets increase, one header proves that no earlier batch holds an offset. No header proves that no earlier batch is of a
/// time, so a `.timeindex` is not used: a look-up of a time reads every header before the batch that it finds.
///
/// Bytes that the storage has lost, and entries that cannot be framed, fail only a look-up of an offset that may have been in them.
pub struct Lookup<'a> {
    /// The log.
    pub log: &'a dyn ReadAt,
    /// Its bytes.
    pub len: u64,
    /// What an entry may claim.
    pub limits: Limits,
    /// Entries of the `.index`, in order.
    pub offsets: &'a [OffsetEntry],
    /// What follows the log.
    pub ending: Ending,
}

/// The batch that a look-up found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchLookup {
    /// Its header; `None` when no batch of the log is meant.
    pub header: Option<BatchHeader>,
    /// Where it starts; the end of the whole entries when there is none.
    pub position: u64,
    /// Whether an index led the way; else the headers were read from the beginning on.
    pub by_index: bool,
}

impl Lookup<'_> {
    /// The first batch that ends at or after `offset`, or the batch before it if that has a doubtful header and may hold the offset.
    ///
    /// # Errors
    /// As `BatchHeaders::next_header`; `LostBytes` when no batch before lost bytes reaches the offset, and those after them begin after it.
    pub fn offset(&self, offset: i64) -> Result<BatchLookup> {
        self.offset_from(offset, 0)
    }

    /// Return false if the base offset of the entry at `position` is not above `last_offset`, the last offset before it. No checksum covers base
    /// offsets, so one of the two entries has a damaged one. At zeros it reads twelve bytes: a preallocated file may end in a GiB of them.
    ///
    /// # Errors
    /// `Io`.
    pub fn offsets_increase_at(&self, position: u64, last_offset: i64) -> Result<bool> {
        let mut front = [0; LOG_OVERHEAD];
        let read = no_data_error(self.log.fill_at(&mut front, position).map_err(Error::from))?;
        if read.is_none() || front == [0; LOG_OVERHEAD] {
            return Ok(true);
        }
        let next = no_data_error(self.headers(position).next_header())?.flatten();
        Ok(next.is_none_or(|next| first_known(&next) > last_offset))
    }

    /// As `offset`, of the batches from position `from` on, where one begins.
    pub(super) fn offset_from(&self, offset: i64, from: u64) -> Result<BatchLookup> {
        let below = self.offsets.partition_point(|entry| entry.offset <= offset);
        match from_last(self.offsets.get(..below).unwrap_or_default(), |hint| self.led_by(hint, offset, from))? {
            Some(found) => found.map(|place| BatchLookup { by_index: true, ..place }),
            None => self.scan_offset(self.headers(from), offset, None),
        }
    }

    /// The end of a search for `offset` that an entry begins; `None` when the entry leads nowhere.
    fn led_by(&self, hint: &OffsetEntry, offset: i64, from: u64) -> Result<Option<Result<BatchLookup>>> {
        let (headers, lost) = match self.start_for(*hint, offset) {
            Ok(Some(position)) if position >= from => (self.headers(position), None),
            Ok(_) => return Ok(None),
            Err(error) => (self.headers_after(error.clone())?, Some(error)),
        };
        let found = self.scan_offset(headers, offset, lost.clone());
        match (&found, lost) {
            // What is wanted is lost, or stands before it.
            (Err(_), Some(lost)) => Err(lost),
            _ => Ok(Some(found).filter(is_final)),
        }
    }

    /// Where a valid batch begins to which an entry near the end leads; the beginning of the log when none does.
    ///
    /// # Errors
    /// `Io`.
    pub fn near_end(&self) -> Result<u64> {
        let found = from_last(self.offsets, |hint| {
            let header = position(hint).map_or(Ok(None), |position| self.valid_at(position))?;
            Ok(header.map(|header| header.position))
        });
        Ok(found?.unwrap_or(0))
    }

    /// Reads headers from `position` on up to the first that is wanted.
    pub(super) fn scan(&self, position: u64, is_wanted: impl Fn(&BatchHeader) -> bool) -> Result<BatchLookup> {
        self.scan_reading(position, |_, header| Ok(is_wanted(header)))
    }

    /// The same; entries can be read meanwhile.
    pub(super) fn scan_reading(
        &self,
        position: u64,
        mut is_wanted: impl FnMut(&BatchHeaders<&dyn ReadAt>, &BatchHeader) -> Result<bool>,
    ) -> Result<BatchLookup> {
        let mut headers = self.headers(position);
        while let Some(header) = headers.next_header()? {
            if is_wanted(&headers, &header)? {
                return Ok(BatchLookup { header: Some(header), position: header.position, by_index: false });
            }
        }
        Ok(BatchLookup { header: None, position: headers.position(), by_index: false })
    }

    /// Where the entry points, when a valid batch begins there and a search for `offset` may begin with it. For any offset of the entry,
    /// no batch before this one can then reach the requested offset.
    fn start_for(&self, entry: OffsetEntry, offset: i64) -> Result<Option<u64>> {
        let Ok(position) = u64::try_from(entry.position) else { return Ok(None) };
        let header = self.valid_at(position)?;
        Ok(header.filter(|header| first_known(header) <= offset).map(|_| position))
    }

    /// Reads headers up to the first batch that ends at or after `offset`, and past bytes that are lost or damaged unless it may have been
    /// among them; `lost` has such bytes before the first header.
    fn scan_offset<'a>(&'a self, mut headers: BatchHeaders<&'a dyn ReadAt>, offset: i64, mut lost: Option<Error>) -> Result<BatchLookup> {
        let mut before: Option<BatchHeader> = None;
        loop {
            match headers.next_header() {
                Ok(Some(header)) if header.last_offset < offset => (lost, before) = (None, Some(header)),
                Ok(header) => {
                    let is_known = header.is_none_or(|header| first_known(&header) <= offset);
                    let has_gap = header.is_none_or(|header| first_known(&header) > offset);
                    if let Some(before) = before.filter(|_| has_gap)
                        && self.is_doubtful(&before)?
                    {
                        return Ok(BatchLookup { header: Some(before), position: before.position, by_index: false });
                    }
                    let position = header.map_or(headers.position(), |header| header.position);
                    return lost.filter(|_| !is_known).map_or(Ok(BatchLookup { header, position, by_index: false }), Err);
                }
                Err(error) => {
                    headers = self.headers_past(headers.position(), error.clone())?;
                    lost = Some(error);
                }
            }
        }
    }

    /// True for a header that may hide the last offsets of its batch: it contradicts itself, or its magic byte may be the damaged one, since a
    /// message has one offset.
    fn is_doubtful(&self, header: &BatchHeader) -> Result<bool> {
        Ok(header.is_contradictory() || (header.format < RecordFormat::V2 && self.valid_at(header.position)?.is_none()))
    }

    /// The headers from a position on, where a batch begins.
    pub(super) fn headers(&self, position: u64) -> BatchHeaders<&dyn ReadAt> {
        BatchHeaders::new(self.log, self.limits, position, self.len).before(self.ending)
    }

    /// The headers from the first valid batch after lost bytes on.
    ///
    /// # Errors
    /// The error itself, when it is about something else or nothing is valid after them; `Io`, `Interrupted`.
    pub(super) fn headers_after(&self, error: Error) -> Result<BatchHeaders<&dyn ReadAt>> {
        let Some(lost) = error.lost_bytes() else { return Err(error) };
        let next = self.log.valid_from(lost.end, &self.limits)?;
        next.filter(|next| *next >= lost.end).map_or(Err(error), |next| Ok(self.headers(next)))
    }

    /// The same after an entry at `position` that is damaged, too; a format that is not read is no damage.
    ///
    /// # Errors
    /// As `headers_after`.
    fn headers_past(&self, position: u64, error: Error) -> Result<BatchHeaders<&dyn ReadAt>> {
        if error.lost_bytes().is_some() || !error.is_about_data() || matches!(error.kind(), ErrorKind::UnsupportedFormat { .. }) {
            return self.headers_after(error);
        }
        let next = self.log.valid_from(position.saturating_add(1), &self.limits)?;
        next.filter(|next| *next > position).map_or(Err(error), |next| Ok(self.headers(next)))
    }

    /// The header of a valid batch at `position`; `LostBytes` when some of its bytes are lost.
    ///
    /// # Errors
    /// `Io`, `LostBytes`.
    pub fn valid_at(&self, position: u64) -> Result<Option<BatchHeader>> {
        if position >= self.len {
            return Ok(None);
        }
        let mut headers = self.headers(position);
        let Some(header) = no_entry(headers.next_header())?.flatten() else { return Ok(None) };
        let entry = headers.entry(&header)?;
        Ok(is_valid(&header, &entry).then_some(header))
    }
}

/// The first offset of a batch, if its header has it; that of a wrapper of magic 0 and 1 is in its inner messages.
pub(super) fn first_known(header: &BatchHeader) -> i64 {
    if header.format >= RecordFormat::V2 { header.base_offset } else { header.last_offset }
}

/// True for what ends a look-up that a hint began: bytes that are lost are so for every hint.
pub(super) fn is_final<T>(found: &Result<T>) -> bool {
    found.as_ref().err().is_none_or(|error| error.lost_bytes().is_some())
}

/// Bytes that are no entry; what is lost may have been one.
fn no_entry<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.lost_bytes().is_some() => Err(error),
        other => no_data_error(other),
    }
}

/// Bytes that are no entry make a hint useless, not a look-up.
pub fn no_data_error<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_about_data() => Ok(None),
        Err(error) => Err(error),
    }
}
