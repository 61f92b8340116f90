use super::untold_times::{UntoldTimes, may_have_times};
use super::{Headers, ReadAt};
use crate::error::Result;
use crate::format::v2;
use crate::limits::Limits;
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::{OffsetEntry, TimeEntry};
use crate::wire::checksum;

/// A log of `len` bytes and the entries of its indexes, as far as they are sound.
///
/// An entry is a hint. It is taken only when an intact batch stands where it points, and the headers from there on must agree with it;
/// otherwise an earlier entry is tried, and then the beginning of the log.
pub struct Lookup<'a> {
    /// The log.
    pub log: &'a dyn ReadAt,
    /// Its bytes.
    pub len: u64,
    /// What an entry may claim.
    pub limits: Limits,
    /// Entries of the `.index`, in order.
    pub offsets: &'a [OffsetEntry],
    /// Entries of the `.timeindex`, in order.
    pub times: &'a [TimeEntry],
}

/// The batch that a look-up found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its header; `None` when no batch of the log is meant.
    pub header: Option<BatchHeader>,
    /// Where it starts; the end of the whole entries when there is none.
    pub position: u64,
    /// Whether an index led the way; else the headers were read from the beginning on.
    pub by_index: bool,
}

/// Entries of an index that are tried before the headers are read from the beginning on.
pub(super) const TRIES: usize = 3;

impl Lookup<'_> {
    /// The first batch that ends at or behind `offset`.
    ///
    /// # Errors
    /// As `Headers::next_header`.
    pub fn offset(&self, offset: i64) -> Result<Place> {
        self.offset_from(offset, 0)
    }

    /// As `offset`, of the batches from position `from` on, where one begins.
    pub(super) fn offset_from(&self, offset: i64, from: u64) -> Result<Place> {
        let below = self.offsets.partition_point(|entry| entry.offset <= offset);
        for entry in self.offsets.get(..below).unwrap_or_default().iter().rev().take(TRIES) {
            let Some(position) = self.start_for(*entry, offset)?.filter(|position| *position >= from) else { continue };
            if let Ok(place) = self.scan(position, |header| header.last_offset >= offset) {
                return Ok(Place { by_index: true, ..place });
            }
        }
        self.scan(from, |header| header.last_offset >= offset)
    }

    /// The first batch with a record of `timestamp` (ms) or later, as headers tell, and the messages of a wrapper of which the header cannot.
    ///
    /// # Errors
    /// As `Headers::next_header`.
    pub fn timestamp(&self, timestamp: i64) -> Result<Place> {
        if let Some(position) = self.time_hint(timestamp)?
            && let Ok(place) = self.scan_times(position, timestamp)
        {
            return Ok(Place { by_index: true, ..place });
        }
        self.scan_times(0, timestamp)
    }

    /// Where an intact batch begins to which an entry near the end leads; the beginning of the log when none does.
    ///
    /// # Errors
    /// `Io`.
    pub fn near_end(&self) -> Result<u64> {
        for entry in self.offsets.iter().rev().take(TRIES) {
            let Ok(position) = u64::try_from(entry.position) else { continue };
            if self.intact_at(position)?.is_some() {
                return Ok(position);
            }
        }
        Ok(0)
    }

    /// Reads headers from `position` on up to the first that is wanted.
    pub(super) fn scan(&self, position: u64, is_wanted: impl Fn(&BatchHeader) -> bool) -> Result<Place> {
        self.scan_reading(position, |_, header| Ok(is_wanted(header)))
    }

    fn scan_times(&self, position: u64, timestamp: i64) -> Result<Place> {
        let mut untold = UntoldTimes::new(self.limits);
        self.scan_reading(position, |headers, header| {
            Ok(header.max_timestamp >= timestamp || (may_have_times(header) && untold.reach(header, &headers.entry(header)?, timestamp)))
        })
    }

    /// The same; entries can be read meanwhile.
    fn scan_reading(&self, position: u64, mut is_wanted: impl FnMut(&Headers<&dyn ReadAt>, &BatchHeader) -> Result<bool>) -> Result<Place> {
        let mut headers = Headers::new(self.log, self.limits, position, self.len);
        while let Some(header) = headers.next_header()? {
            if is_wanted(&headers, &header)? {
                return Ok(Place { header: Some(header), position: header.position, by_index: false });
            }
        }
        Ok(Place { header: None, position: headers.position(), by_index: false })
    }

    /// Where the entry points, when an intact batch begins there and a search for `offset` may begin with it. Whatever offset the entry
    /// tells, no batch before this one can reach the wanted one then.
    fn start_for(&self, entry: OffsetEntry, offset: i64) -> Result<Option<u64>> {
        let Ok(position) = u64::try_from(entry.position) else { return Ok(None) };
        let Some(header) = self.intact_at(position)? else { return Ok(None) };
        // Where a wrapper of magic 0 and 1 begins is known to its inner messages only.
        let first = if header.format >= RecordFormat::V2 { header.base_offset } else { header.last_offset };
        Ok((first <= offset).then_some(position))
    }

    /// The header of an intact batch at `position`.
    pub(super) fn intact_at(&self, position: u64) -> Result<Option<BatchHeader>> {
        if position >= self.len {
            return Ok(None);
        }
        let mut headers = Headers::new(self.log, self.limits, position, self.len);
        let Some(header) = no_data_error(headers.next_header())?.flatten() else { return Ok(None) };
        let entry = headers.entry(&header)?;
        Ok(is_intact(&header, &entry).then_some(header))
    }

    /// The position of a batch before which no record is of `timestamp` or later, when the time index tells one that holds.
    fn time_hint(&self, timestamp: i64) -> Result<Option<u64>> {
        let below = self.times.partition_point(|entry| entry.timestamp < timestamp);
        let pair = self.times.get(below.saturating_sub(2)..below).and_then(|pair| pair.first_chunk::<2>());
        let Some([before, entry]) = pair.filter(|_| !self.begins_before_v2()) else { return Ok(None) };
        self.agreed(*before, *entry)
    }

    /// Where the first batch before `until` begins that is later than a time entry and all before it.
    pub(super) fn later_than(&self, entry: TimeEntry, until: u64) -> Result<Option<u64>> {
        if until == 0 {
            return Ok(None);
        }
        let own = self.offset(entry.offset)?;
        let is_wanted = |header: &BatchHeader| header.position >= until || header.max_timestamp > entry.timestamp;
        Ok(Some(self.scan(own.position, is_wanted)?.position).filter(|position| *position < until))
    }

    /// True when the log may hold wrappers of magic 0 before a place to which an index leads. What brokers since 0.11 wrote holds none.
    pub(super) fn begins_before_v2(&self) -> bool {
        let first = Headers::new(self.log, self.limits, 0, self.len).next_header();
        first.is_ok_and(|header| header.is_some_and(|header| header.format < RecordFormat::V2))
    }

    /// Where the batch of `before` stands, when the headers from there on to the batch of `entry` say the same as both entries.
    fn agreed(&self, before: TimeEntry, entry: TimeEntry) -> Result<Option<u64>> {
        let start = self.offset(before.offset)?;
        let is_told =
            |header: &BatchHeader, entry: TimeEntry| header.last_offset == entry.offset && header.max_timestamp == entry.timestamp;
        if !start.by_index || !start.header.is_some_and(|header| is_told(&header, before)) {
            return Ok(None);
        }
        let mut headers = Headers::new(self.log, self.limits, start.position, self.len);
        while let Some(header) = no_data_error(headers.next_header())?.flatten() {
            if is_told(&header, entry) {
                return Ok(Some(header.position));
            }
            if header.last_offset >= entry.offset || header.max_timestamp >= entry.timestamp {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// True when the checksum of a whole entry matches.
pub fn is_intact(header: &BatchHeader, entry: &[u8]) -> bool {
    let is_whole = u64::try_from(entry.len()) == Ok(header.size);
    is_whole
        && match header.format {
            RecordFormat::V2 | RecordFormat::V3 => v2::parse::verify(entry, header.crc).is_ok(),
            _ => entry.get(crate::format::v0_v1::layout::CHECKSUMMED..).is_some_and(|bytes| checksum::crc32(bytes) == header.crc),
        }
}

/// Bytes that are no entry make a hint useless, not a look-up.
pub(super) fn no_data_error<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_about_data() => Ok(None),
        Err(error) => Err(error),
    }
}
