//! What can be read of the records of a batch whose checksum is wrong, written into a batch of its own in which every record says so.

use crate::codec::Compressor;
use crate::decode::{DecodeOptions, Decoder};
use crate::encode::{BatchBuilder, BatchSettings};
use crate::error::Result;
use crate::framing::Frame;
use crate::model::{NewHeader, NewRecord, RecordFormat};
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
        // How it ends is of no interest: what was read until then is all there is. A record that no batch can hold ends it too.
        let _ = opened.rewrite::<true>(&section, |_, record| {
            let mark = NewHeader { key: MARK, value: Some(rule.as_bytes()) };
            let headers = [record.headers, &[mark]].concat();
            self.builder.append(&NewRecord { headers: &headers, ..record }, aside)
        });
        let count = u64::try_from(self.builder.count()).unwrap_or(0);
        if self.builder.close(&mut self.compressor, aside).is_err() {
            aside.truncate(start);
            return 0;
        }
        count
    }
}
