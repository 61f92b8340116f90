use super::table::relative;
use super::{OffsetEntry, TimeEntry};
use crate::model::BatchHeader;
use crate::model::timestamp::NO_TIMESTAMP;

/// Builds offset and time index of one segment as Kafka's recovery does (`LogSegment.recover`).
///
/// An offset entry is made for the first batch after more than `interval` bytes since the last entry; next to it goes the largest
/// timestamp so far, when it grew. The end brings one more time entry. A leader of Kafka 3.9 and older counts bytes by produce request
/// instead of by batch, and every broker begins to count anew when it opens a log: its own files may then have other entries that say
/// the same.
#[derive(Debug)]
pub struct IndexBuilder {
    base_offset: i64,
    interval: u64,
    last_entry: u64,
    largest: TimeEntry,
    offsets: Vec<OffsetEntry>,
    times: Vec<TimeEntry>,
}

/// Kafka's default `log.index.interval.bytes`.
pub const DEFAULT_INTERVAL: u64 = 4096;

impl IndexBuilder {
    /// For the segment that starts at `base_offset`.
    pub fn new(base_offset: i64, interval: u64) -> Self {
        let largest = TimeEntry { timestamp: NO_TIMESTAMP, offset: base_offset };
        Self { base_offset, interval, last_entry: 0, largest, offsets: Vec::new(), times: Vec::new() }
    }

    /// Looks at the next batch; positions count from the start of the segment.
    pub fn visit(&mut self, header: &BatchHeader) {
        if header.max_timestamp > self.largest.timestamp {
            self.largest = TimeEntry { timestamp: header.max_timestamp, offset: header.last_offset };
        }
        if header.position.saturating_sub(self.last_entry) <= self.interval {
            return;
        }
        let (Ok(position), Some(_)) = (i32::try_from(header.position), relative(header.last_offset, self.base_offset)) else { return };
        self.offsets.push(OffsetEntry { offset: header.last_offset, position });
        self.append_time();
        self.last_entry = header.position;
    }

    /// The entries of both files.
    pub fn finish(mut self) -> (Vec<OffsetEntry>, Vec<TimeEntry>) {
        self.append_time();
        (self.offsets, self.times)
    }

    fn append_time(&mut self) {
        let last = self.times.last().map_or(NO_TIMESTAMP, |entry| entry.timestamp);
        if self.largest.timestamp > last && relative(self.largest.offset, self.base_offset).is_some() {
            self.times.push(self.largest);
        }
    }
}
