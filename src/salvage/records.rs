//! What can be read of the records of a batch whose checksum is wrong, written into a batch of its own in which every record says so.

use crate::codec::Compressor;
use crate::decode::{DecodeOptions, Decoder, Opened};
use crate::encode::{BatchBuilder, BatchSettings};
use crate::error::{Error, Result};
use crate::framing::Frame;
use crate::model::{HeaderRef, NewHeader, NewRecord, RecordFormat, RecordRef, RecordSink, Section};
use crate::wire::Sink;

/// The header that marks a record of a damaged batch; its value is the rule that the batch breaks.
const MARK: &[u8] = b"logsegment.salvaged";

/// Reads records that no checksum vouches for.
pub struct Rescue {
    decoder: Decoder,
    builder: BatchBuilder,
    compressor: Compressor,
}

impl Rescue {
    /// Inner messages of magic 0 and 1 have checksums of their own, which are compared.
    ///
    /// # Errors
    /// None that an input causes.
    pub fn new(decode: DecodeOptions) -> Result<Self> {
        let decoder = Decoder::new(DecodeOptions { is_control_wanted: true, ..decode }).trusting_framing();
        Ok(Self { decoder, builder: BatchBuilder::new(BatchSettings::new(RecordFormat::V2, None))?, compressor: Compressor::default() })
    }

    /// Writes the records before the first one that cannot be read; gives how many. Markers of transactions are no one's data.
    pub fn rescue(&mut self, frame: Frame<'_>, rule: &'static str, aside: &mut Sink) -> u64 {
        let start = aside.len();
        let Ok(Some(opened)) = self.decoder.open(frame) else { return 0 };
        if opened.header.is_control() {
            return 0;
        }
        let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
        if opened.walk.ensure_placed(&section).is_err() {
            return 0;
        }
        self.builder.discard();
        let (headers, failed) = (Vec::new(), None);
        let mut taker = Taker { builder: &mut self.builder, opened: &opened, section, rule, aside, headers, failed };
        let mut walk = opened.walk;
        // How it ends is of no interest: what was read until then is all there is.
        let _ = walk.advance(&section, walk.left(), &mut taker);
        let count = u64::try_from(self.builder.count()).unwrap_or(0);
        if self.builder.close(&mut self.compressor, aside).is_err() {
            aside.truncate(start);
            return 0;
        }
        count
    }
}

struct Taker<'a, 'b> {
    builder: &'b mut BatchBuilder,
    opened: &'a Opened,
    section: Section<'a>,
    rule: &'static str,
    aside: &'b mut Sink,
    headers: Vec<NewHeader<'a>>,
    failed: Option<Error>,
}

impl RecordSink for Taker<'_, '_> {
    fn header(&mut self, header: HeaderRef) {
        let section = self.section;
        let run = |(start, len)| section.run(start, len);
        self.headers.push(NewHeader { key: run(header.key()), value: header.value().map(run) });
    }

    fn record(&mut self, record: RecordRef) {
        let section = self.section;
        let run = |(start, len)| section.run(start, len);
        self.headers.push(NewHeader { key: MARK, value: Some(self.rule.as_bytes()) });
        let new = NewRecord {
            offset: self.opened.header.base_offset.wrapping_add(record.offset_delta),
            timestamp: self.opened.timestamp(&record),
            key: record.key().map(run),
            value: record.value().map(run),
            headers: &self.headers,
            ..NewRecord::default()
        };
        if self.failed.is_none() {
            // A record that no batch can hold is no record.
            self.failed = self.builder.append(&new, self.aside).err();
        }
        self.headers.clear();
    }
}
