use super::errors::{negative_timestamp, refused, too_old};
use crate::codec::{ChecksumForm, Compression};
use crate::error::Result;
use crate::model::batch::{NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_ID};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{Attributes, CompressionType, Producer, RecordFormat, TimestampType};

/// What a batch says about all its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// Which bytes to write.
    pub format: RecordFormat,
    /// How to compress; nothing for uncompressed records.
    pub compression: Option<Compression>,
    /// CreateTime or LogAppendTime. Magic 0 and Kafka 0.7 have neither, and it is not looked at.
    pub timestamp_type: TimestampType,
    /// The append time in ms, with LogAppendTime; without one, the largest timestamp of the records.
    pub log_append_time: Option<i64>,
    /// Idempotence: id, epoch and the sequence of the first record (magic 2).
    pub producer: Producer,
    /// Part of a transaction (magic 2).
    pub is_transactional: bool,
    /// Holds control records (magic 2).
    pub is_control: bool,
    /// The delete horizon in ms, which becomes the base timestamp (magic 2, V2-14).
    pub delete_horizon_ms: Option<i64>,
    /// The metadata of all records before their payloads (magic 3, S-H1).
    pub is_metadata_first: bool,
    /// Leader epoch, -1 for none; older formats have no room for it.
    pub partition_leader_epoch: i32,
}

impl BatchSettings {
    /// Plain settings: CreateTime, no producer. LZ4 in magic 0 gets the header checksum that its readers want (COD-L8).
    pub fn new(format: RecordFormat, compression: Option<Compression>) -> Self {
        let checksum = if format == RecordFormat::V0 { ChecksumForm::Broken } else { ChecksumForm::Correct };
        Self {
            format,
            compression: compression.map(|compression| compression.with_lz4_header_checksum(checksum)),
            timestamp_type: TimestampType::CreateTime,
            log_append_time: None,
            producer: Producer::default(),
            is_transactional: false,
            is_control: false,
            delete_horizon_ms: None,
            is_metadata_first: false,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        }
    }

    /// Fails on what Kafka's builder refuses.
    ///
    /// # Errors
    /// `Refused` with Kafka's reason (V2-60, V2-61, COD-Z1, L7-5).
    pub fn ensure_legal(&self) -> Result<()> {
        if self.format < RecordFormat::V2 {
            self.ensure_possible()?;
        }
        if self.is_metadata_first && self.format != RecordFormat::V3 {
            return Err(refused("S-H4", "metadata_first: only batches of format v3 can have the metadata of their records first"));
        }
        self.ensure_producer()?;
        let times = [self.log_append_time, self.delete_horizon_ms];
        match times.into_iter().flatten().find(|time| *time < NO_TIMESTAMP) {
            Some(time) => Err(negative_timestamp(time)),
            None => Ok(()),
        }
    }

    /// The compression type of the attributes.
    pub fn compression_type(&self) -> CompressionType {
        self.compression.map_or(CompressionType::None, Compression::compression_type)
    }

    /// The attribute bits of magic 2, and those of magic 3: records without an attributes byte (S-V2).
    pub(super) fn attributes(&self) -> Attributes {
        let is_proposed = self.format == RecordFormat::V3;
        Attributes::new(self.compression_type(), self.timestamp_type)
            .with_transactional(self.is_transactional)
            .with_control(self.is_control)
            .with_delete_horizon(self.delete_horizon_ms.is_some())
            .with_ignored_message_attributes(is_proposed)
            .with_metadata_first(is_proposed && self.is_metadata_first)
    }

    /// What came with magic 2, or for Kafka 0.7 later than it.
    fn ensure_possible(&self) -> Result<()> {
        let compression = self.compression_type();
        match self.format {
            _ if self.is_transactional => Err(too_old("Transactional records are", self.format)),
            _ if self.is_control => Err(too_old("Control records are", self.format)),
            RecordFormat::V07 if compression == CompressionType::Zstd => {
                Err(refused("L7-5", format!("{} is an unknown compression codec", compression.id())))
            }
            _ if compression == CompressionType::Zstd => Err(too_old("ZStandard compression is", self.format)),
            _ if compression.plugin_id().is_some() => Err(too_old("Plugin compression is", self.format)),
            _ if self.delete_horizon_ms.is_some() => Err(too_old("Delete horizon timestamp is", self.format)),
            _ => Ok(()),
        }
    }

    /// V2-61: who has a producer id has an epoch and a sequence, and a transaction has a producer.
    fn ensure_producer(&self) -> Result<()> {
        let Producer { id, epoch, base_sequence } = self.producer;
        if id == NO_PRODUCER_ID {
            // An epoch or a sequence without an id means nothing, and is found in batches of clients that copies must keep.
            return match self.is_transactional {
                true => Err(refused("V2-61", "Cannot write transactional messages without a valid producer ID")),
                false => Ok(()),
            };
        }
        match () {
            () if id < 0 => Err(refused("V2-61", "Invalid negative producer ID")),
            () if epoch < 0 => Err(refused("V2-61", "Invalid negative producer epoch")),
            () if base_sequence < 0 && !self.is_control => Err(refused("V2-61", "Invalid negative sequence number used")),
            () if self.format < RecordFormat::V2 => Err(too_old("Idempotent messages are", self.format)),
            () => Ok(()),
        }
    }
}
