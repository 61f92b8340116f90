//! Wrappers of magic 0: their header has no time, and the messages in them have none either, unless a cleaner of Kafka 0.10 left messages of
//! magic 1 in there (L8-33, KAFKA-4298). Only unpacking tells.

use crate::decode::{DecodeOptions, Decoder};
use crate::error::Result;
use crate::framing::Frame;
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, HeaderRef, RecordFormat, RecordRef, RecordSink};

/// Unpacks one wrapper after the other.
pub struct WrapperTimes {
    decoder: Decoder,
}

/// True for a wrapper whose messages may have times that its header does not tell.
pub fn may_have_times(header: &BatchHeader) -> bool {
    header.format == RecordFormat::V0 && header.compression() != CompressionType::None
}

impl WrapperTimes {
    /// Nothing is read before a wrapper is met.
    pub fn new(limits: Limits) -> Self {
        // Who decodes what the look-up finds compares checksums.
        Self { decoder: Decoder::new(DecodeOptions { limits, check_crc: false, ..DecodeOptions::default() }) }
    }

    /// True when a message of the entry is of `timestamp` (ms) or later; also when it cannot be unpacked, so that whoever decodes it says so.
    pub fn reach(&mut self, header: &BatchHeader, entry: &[u8], timestamp: i64) -> bool {
        self.latest(header, entry).map_or(true, |latest| latest.is_some_and(|latest| latest >= timestamp))
    }

    fn latest(&mut self, header: &BatchHeader, entry: &[u8]) -> Result<Option<i64>> {
        let frame = Frame { position: header.position, magic: header.magic, bytes: entry };
        let Some(opened) = self.decoder.open(frame)? else { return Ok(None) };
        let section = self.decoder.section(&opened, entry, entry);
        let mut latest = Latest { header: opened.header, timestamp: None };
        let mut walk = opened.walk;
        walk.advance(&section, walk.left(), &mut latest)?;
        Ok(latest.timestamp)
    }
}

struct Latest {
    header: BatchHeader,
    timestamp: Option<i64>,
}

impl RecordSink for Latest {
    fn header(&mut self, _: HeaderRef) {}
    fn record(&mut self, record: RecordRef) {
        self.timestamp = self.timestamp.max(Some(self.header.timestamp(record.timestamp_delta)));
    }
}
