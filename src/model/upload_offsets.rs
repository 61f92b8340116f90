//! The offsets that the batches of an upload in tiered storage may have. No checksum covers a base offset.

use super::{BatchHeader, RecordFormat};
use crate::error::{Error, ErrorKind, Result};

/// First and last offset of an upload, of which compaction may have removed the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadOffsets {
    /// The first offset.
    pub start: i64,
    /// The last offset; `None` where no manifest has it.
    pub end: Option<i64>,
}

impl UploadOffsets {
    /// Checks that a batch is inside of the upload, and starts after the last offset of the batch before it.
    ///
    /// # Errors
    /// `OutsideUpload` (TS-23), `OutOfOrder` (ORD-1).
    pub fn ensure_next(self, previous_last: Option<i64>, header: &BatchHeader) -> Result<()> {
        let (first, last) = (header.base_offset, header.last_offset);
        let kind = match previous_last {
            _ if !self.holds(header) => ErrorKind::OutsideUpload { first, last, start: self.start, end: self.end },
            Some(previous_last) if first <= previous_last => ErrorKind::OutOfOrder { last, previous_last },
            _ => return Ok(()),
        };
        Err(Error::from(kind).in_batch(first).in_field("baseOffset"))
    }

    /// True for a batch that is inside of the upload. Offsets of Kafka 0.7 are positions.
    pub fn holds(self, header: &BatchHeader) -> bool {
        header.format == RecordFormat::V07 || header.base_offset >= self.start && self.end.is_none_or(|end| header.last_offset <= end)
    }
}
