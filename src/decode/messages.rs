//! Message sets of magic 0 and 1: uncompressed messages, and wrappers, whose inner messages tell its base offset.

use super::decoder::Decoder;
use super::message_codec::codec_of_wrapper;
use super::opened::{DecodedBatch, RecordsSource};
use super::record_filter::WantedRecords;
use super::{RecordIter, header};
use crate::codec::{Codec, CodecFinding};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v0_v1::parse::{self, V0V1Message};
use crate::format::v0_v1::records::{self, MessageScan};
use crate::framing::Frame;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::wire::as_u64;

/// True for an entry that may be a batch of several offsets whose magic byte is damaged: its lengths are not those of a message.
fn may_be_batch(entry: &[u8]) -> bool {
    V0V1Message::parse(entry).map_or(true, |message| message.end() != entry.len())
}

impl Decoder {
    /// Opens an uncompressed message, or a wrapper.
    #[inline(never)]
    pub(super) fn open_message(
        &mut self,
        frame: Frame<'_>,
        header: &BatchHeader,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<Option<DecodedBatch>> {
        let is_uncompressed = header.compression() == CompressionType::None;
        let is_unwanted = self.is_message_unwanted(header);
        if !is_unwanted || may_be_batch(frame.bytes) {
            self.count_compared(header::checksummed(header));
            if self.verifies_entries() {
                parse::verify(frame.bytes, header.crc)?;
            }
        }
        if is_unwanted {
            self.stats.entries_skipped += 1;
            return Ok(None);
        }
        let message = V0V1Message::parse(frame.bytes)?;
        if is_uncompressed {
            let opened = DecodedBatch::new(*header, RecordsSource::Input, walk_of_uncompressed(header, 1));
            return Ok(Some(DecodedBatch { filter: self.options.filter_of_times(), ..opened }));
        }
        self.open_wrapper(frame, header, &message, findings).map(Some)
    }

    /// True for a message that is good, wanted, and of the magic and attributes of `header`.
    #[inline]
    pub(super) fn belongs(&mut self, entry: &[u8], header: &BatchHeader) -> bool {
        let Ok(message) = V0V1Message::parse(entry) else { return false };
        let is_same = message.magic == header.magic && i16::from(message.attributes) == header.attributes.0;
        if !is_same || !self.options.wants(message.offset) || !self.options.segment.contains(message.offset) {
            return false;
        }
        self.count_compared(as_u64(entry.len().saturating_sub(crate::format::v0_v1::layout::CHECKSUMMED)));
        !self.verifies_entries() || parse::verify(entry, message.crc).is_ok()
    }

    /// True for a message without wanted offsets.
    ///
    /// A wrapper's offset is that of its last message; one of 0 may be a producer's who did not set it (L8-27), and tells nothing.
    fn is_message_unwanted(&self, header: &BatchHeader) -> bool {
        if header.compression() == CompressionType::None {
            return !self.options.wants(header.base_offset);
        }
        header.last_offset != 0 && header.last_offset < self.options.offsets.start.max(self.options.share.start)
    }

    fn open_wrapper(
        &mut self,
        frame: Frame<'_>,
        header: &BatchHeader,
        message: &V0V1Message,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<DecodedBatch> {
        let codec = codec_of_wrapper(header)?;
        let compressed = message.value(frame.bytes).ok_or_else(|| {
            Error::from(ErrorKind::Invalid { rule: "L8-22", what: "the value of a compressed message is null" }).in_field("value")
        })?;
        // KIP-57: a produce request with a bad LZ4 frame is answered as a corrupt message (ERR-4).
        let answer = |error: Error| if matches!(codec, Codec::Lz4(..)) && error.is_about_codec() { error.answered(2) } else { error };
        self.decompress(codec, compressed, findings).map_err(answer)?;
        let options = &self.options;
        let scan = MessageScan::of_inner(self.decompressed().bytes(), options.check_crc, &options.limits)?;
        if scan.count == 0 {
            return Err(ErrorKind::Invalid { rule: "L8-22", what: "a compressed message holds no inner message" }.into());
        }
        let base = absolute_base(header, &scan)?;
        let first = scan.first_offset.wrapping_add(base);
        let header = BatchHeader { base_offset: first, count: Some(i32::try_from(scan.count).unwrap_or(i32::MAX)), ..*header };
        // The wrapper's own offset may be unset.
        let filter = match self.options.wanted(&BatchHeader { last_offset: scan.last_offset.wrapping_add(base), ..header }) {
            WantedRecords::Everything => None,
            WantedRecords::Some(filter) => Some(filter),
            WantedRecords::Nothing => Some(self.options.filter()),
        };
        let walk = records::V0V1RecordIter::of_inner(&scan, base.wrapping_sub(first), header.base_timestamp, header.append_time());
        let opened = DecodedBatch::new(header, RecordsSource::Decompressed, RecordIter::Messages(walk));
        Ok(DecodedBatch { filter, ..opened })
    }
}

/// The records of so many messages that follow each other.
pub(super) fn walk_of_uncompressed(header: &BatchHeader, count: usize) -> RecordIter {
    RecordIter::Messages(records::V0V1RecordIter::of_uncompressed(count, header.base_offset, header.base_timestamp))
}

/// The offset that the stored inner offsets count from (L8-24 to L8-27).
fn absolute_base(header: &BatchHeader, scan: &MessageScan) -> Result<i64> {
    let wrapper = header.last_offset;
    if header.format == RecordFormat::V0 || wrapper == 0 {
        return Ok(0);
    }
    if wrapper < scan.last_offset {
        let what = "the offset of a compressed message is below that of its last inner message";
        return Err(Error::from(ErrorKind::Invalid { rule: "L8-27", what }).in_field("offset"));
    }
    Ok(wrapper.wrapping_sub(scan.last_offset))
}
