//! The end of a batch: records are compressed, and the header goes before them.

use super::BatchBuilder;
use crate::codec::Compressor;
use crate::encode::put_batch;
use crate::error::Result;
use crate::format::v0_v1::encode::{self as v0_v1, MessageHeader};
use crate::format::v2::encode as v2;
use crate::format::v07::encode as v07;
use crate::model::{BatchHeader, RecordFormat};
use crate::wire::Sink;

impl BatchBuilder {
    pub(super) fn seal(&mut self, compressor: &mut Compressor, out: &mut Sink) -> Result<()> {
        match (self.settings.format, self.settings.compression) {
            (RecordFormat::V2, None) => v2::seal(out, self.start, &self.header()),
            (RecordFormat::V2 | RecordFormat::V3, _) => self.put_collected(compressor, out),
            // A message set is sealed message by message.
            (_, None) => Ok(()),
            (RecordFormat::V07, Some(compression)) => {
                v07::open_message(out);
                compressor.compress(compression, self.records.bytes(), out)?;
                v07::seal_message(out, self.start, compression.compression_type().id())
            }
            (format, Some(compression)) => {
                v0_v1::open_wrapper(out, format);
                compressor.compress(compression, self.records.bytes(), out)?;
                let attributes = self.message_attributes(compression.compression_type().id());
                let wrapper = MessageHeader { format, offset: self.last_offset, timestamp: self.max_timestamp(), attributes };
                v0_v1::seal_wrapper(out, self.start, &wrapper)
            }
        }
    }

    fn put_collected(&mut self, compressor: &mut Compressor, out: &mut Sink) -> Result<()> {
        let metadata_len = if self.settings.is_metadata_first { self.records.len() } else { 0 };
        self.records.put(self.payloads.bytes());
        put_batch(&self.header(), out, |out| match self.settings.compression {
            Some(compression) => compressor.compress_owned(compression, (&mut self.records, metadata_len), out),
            None => {
                out.put(self.records.bytes());
                Ok(())
            }
        })
    }

    /// The header of a batch of magic 2 or 3.
    fn header(&self) -> BatchHeader {
        BatchHeader {
            base_offset: self.base_offset,
            last_offset: self.last_offset,
            count: Some(self.count),
            attributes: self.settings.attributes(),
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp(),
            partition_leader_epoch: self.settings.partition_leader_epoch,
            producer: self.settings.producer,
            ..BatchHeader::new(self.settings.format)
        }
    }
}
