//! Look-ups of times: by headers as far as they say, and by records where they do not.

use super::lookup::{BatchLookup, Lookup};
use crate::decode::{DecodeOptions, Decoder};
use crate::error::Result;
use crate::framing::Frame;
use crate::limits::Limits;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, HeaderRef, RecordFormat, RecordRef, RecordSink};

impl Lookup<'_> {
    /// The first batch with a record of `timestamp` (ms) or later, by the headers, and by the records of a batch whose header has no time.
    ///
    /// # Errors
    /// As `Headers::next_header`; `LostBytes` when lost bytes may have had such a record.
    pub fn timestamp(&self, timestamp: i64) -> Result<BatchLookup> {
        let mut records = RecordTimes::new(self.limits);
        self.scan_reading(0, |headers, header| {
            Ok(header.max_timestamp >= timestamp || (hides_times(header) && records.reach(header, &headers.entry(header)?, timestamp)))
        })
    }
}

/// True for a batch whose header has no time, although its records may have times: that of a wrapper of magic 0 has no field for it, and messages
/// of magic 1 may be in one (L8-33, KAFKA-4298); others may have -1 there (FND-16).
pub fn hides_times(header: &BatchHeader) -> bool {
    if header.max_timestamp != NO_TIMESTAMP || header.append_time().is_some() {
        return false;
    }
    match header.format {
        RecordFormat::V07 => false,
        RecordFormat::V0 | RecordFormat::V1 => header.compression() != CompressionType::None,
        RecordFormat::V2 | RecordFormat::V3 => header.count != Some(0),
    }
}

/// Opens batches for the times of their records.
struct RecordTimes {
    decoder: Decoder,
}

impl RecordTimes {
    /// Nothing is read before a batch is met whose header hides the times.
    fn new(limits: Limits) -> Self {
        // The decode of what the look-up finds compares checksums.
        Self { decoder: Decoder::new(DecodeOptions { limits, check_crc: false, is_control_wanted: true, ..DecodeOptions::default() }) }
    }

    /// True when a record of the entry is of `timestamp` (ms) or later; also when the entry cannot be opened, so that its decode raises the
    /// error.
    fn reach(&mut self, header: &BatchHeader, entry: &[u8], timestamp: i64) -> bool {
        self.latest(header, entry).map_or(true, |latest| latest.is_some_and(|latest| latest >= timestamp))
    }

    fn latest(&mut self, header: &BatchHeader, entry: &[u8]) -> Result<Option<i64>> {
        let frame = Frame { position: header.position, magic: header.magic, bytes: entry };
        let Some(opened) = self.decoder.open(frame)? else { return Ok(None) };
        let section = self.decoder.section(&opened, entry, entry);
        let mut latest = LatestTime { header: opened.header, timestamp: None };
        let mut walk = opened.walk;
        walk.advance(&section, walk.left(), &mut latest)?;
        Ok(latest.timestamp)
    }
}

struct LatestTime {
    header: BatchHeader,
    timestamp: Option<i64>,
}

impl RecordSink for LatestTime {
    fn header(&mut self, _: HeaderRef) {}
    fn record(&mut self, record: RecordRef) {
        self.timestamp = self.timestamp.max(Some(self.header.timestamp(record.timestamp_delta)));
    }
}
