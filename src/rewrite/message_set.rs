//! Messages of Kafka 0.7, magic 0 and 1: uncompressed ones, and wrappers without some of their inner messages.

use super::batch::RecordActions;
use crate::codec::Compressor;
use crate::decode::DecodedBatch;
use crate::encode::{BatchBuilder, BatchSettings};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{CompressionType, RecordFormat, Section, TimestampType};
use crate::wire::Sink;

/// Writes message sets; keeps the storage between them.
pub struct MessageWriter {
    builder: BatchBuilder,
    hash: Vec<u8>,
}

impl MessageWriter {
    /// A writer without anything yet.
    ///
    /// # Errors
    /// None: the settings are legal.
    pub fn new() -> Result<Self> {
        Ok(Self { builder: BatchBuilder::new(BatchSettings::new(RecordFormat::V1, None))?, hash: Vec::new() })
    }

    /// Writes the messages that stay, with the offsets and timestamps of before. A wrapper gets the offset of the last of them (CMP-4).
    ///
    /// # Errors
    /// What is wrong with a message, `Unwritable` for a value that the format does not have.
    pub fn write(
        &mut self,
        (opened, section): (&DecodedBatch, &Section<'_>),
        kept: RecordActions<'_>,
        (compressor, out): (&mut Compressor, &mut Sink),
    ) -> Result<()> {
        let header = opened.header;
        // One uncompressed message makes no wrapper.
        let compression = kept.compression.filter(|_| header.compression() != CompressionType::None);
        let plain = BatchSettings::new(header.format, compression);
        let is_stamped = header.timestamp_type() == TimestampType::LogAppendTime;
        let timestamp_type = if is_stamped { TimestampType::LogAppendTime } else { plain.timestamp_type };
        self.builder.open(BatchSettings { timestamp_type, log_append_time: header.append_time(), ..plain })?;
        let Self { builder, hash } = self;
        opened.rewrite::<false>(section, |record, new| match kept.record(record.index, new, hash) {
            Some(new) => builder.append(&new, out).map_err(unwritable),
            None => Ok(()),
        })?;
        builder.close(compressor, out).map(|_| ())
    }
}

/// What Kafka's builder refuses is an error of the bytes, where the bytes were written by someone else.
fn unwritable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Refused { rule, reason } => ErrorKind::Unwritable { rule, reason: reason.clone() }.into(),
        _ => error,
    }
}
