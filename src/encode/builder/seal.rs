//! The end of a batch: records are compressed, and the header goes before them.

use super::BatchBuilder;
use crate::codec::Compressor;
use crate::error::Result;
use crate::format::v0_v1::encode::{self as v0_v1, MessageHeader};
use crate::format::v2::encode as v2;
use crate::format::v3::encode as v3;
use crate::format::v07::encode as v07;
use crate::model::{BatchHeader, RecordFormat};
use crate::wire::Sink;

impl BatchBuilder {
    pub(super) fn seal(&mut self, compressor: &mut Compressor, out: &mut Sink) -> Result<()> {
        if self.settings.format == RecordFormat::V3 {
            return self.seal_v3(compressor, out);
        }
        let Some(compression) = self.settings.compression else {
            // A message set is sealed message by message.
            return if self.settings.format == RecordFormat::V2 { v2::seal(out, self.start, &self.header()) } else { Ok(()) };
        };
        let (records, codec) = (self.records.bytes(), compression.compression_type().id());
        match self.settings.format {
            RecordFormat::V07 => {
                v07::open_message(out);
                compressor.compress(compression, records, out)?;
                v07::seal_message(out, self.start, codec)
            }
            format @ (RecordFormat::V0 | RecordFormat::V1) => {
                v0_v1::open_wrapper(out, format);
                compressor.compress(compression, records, out)?;
                let attributes = self.message_attributes(codec);
                let wrapper = MessageHeader { format, offset: self.last_offset, timestamp: self.max_timestamp(), attributes };
                v0_v1::seal_wrapper(out, self.start, &wrapper)
            }
            _ => {
                v2::open(out);
                compressor.compress_owned(compression, (&mut self.records, 0), out)?;
                v2::seal(out, self.start, &self.header())
            }
        }
    }

    fn seal_v3(&mut self, compressor: &mut Compressor, out: &mut Sink) -> Result<()> {
        v3::open(out, &self.header());
        let metadata_len = if self.settings.is_metadata_first { self.records.len() } else { 0 };
        self.records.put(self.payloads.bytes());
        match self.settings.compression {
            Some(compression) => compressor.compress_owned(compression, (&mut self.records, metadata_len), out)?,
            None => out.put(self.records.bytes()),
        }
        v3::seal(out, self.start)
    }

    /// The header of a batch of magic 2 or 3.
    fn header(&self) -> BatchHeader {
        BatchHeader {
            position: 0,
            size: 0,
            format: self.settings.format,
            magic: self.settings.format.magic(),
            base_offset: self.base_offset(),
            last_offset: self.last_offset,
            count: Some(self.count),
            attributes: self.settings.attributes(),
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp(),
            crc: 0,
            partition_leader_epoch: self.settings.partition_leader_epoch,
            producer: self.settings.producer,
        }
    }
}
