//! What an append is asked for, and what comes of it.

use super::origin::AppendOrigin;
use crate::codec::Plugins;
use crate::compat::Release;
use crate::limits::Limits;
use crate::model::{CompressionType, RecordFormat, TimestampType};

/// A Produce request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProduceRequest {
    /// Its version.
    pub version: i16,
    /// The release of the broker; `None` for those up to 3.9.
    pub release: Option<Release>,
}

/// What the topic and the log say.
#[derive(Clone, Debug)]
pub struct AppendOptions {
    /// Who appends.
    pub origin: AppendOrigin,
    /// The request of a client, if its version is checked.
    pub request: Option<ProduceRequest>,
    /// Offset of the first record; of those that have offsets, the least that it may have.
    pub first_offset: i64,
    /// Format of the topic.
    pub to: RecordFormat,
    /// Codec of the topic; `None` keeps the producer's.
    pub compression: Option<CompressionType>,
    /// Level of the codec; `None` for Kafka's default.
    pub level: Option<i32>,
    /// Whether all brokers know zstd (`inter.broker.protocol.version` 2.1 or newer).
    pub has_zstd: bool,
    /// Timestamp type of the topic.
    pub timestamp_type: TimestampType,
    /// The broker's clock, ms.
    pub now: i64,
    /// How far timestamps may lie before that; `None` for any distance.
    pub before_max_ms: Option<i64>,
    /// How far timestamps may lie after that.
    pub after_max_ms: Option<i64>,
    /// The topic is compacted: records need keys.
    pub is_compacted: bool,
    /// Most bytes of a batch.
    pub max_message_bytes: u64,
    /// Epoch of the leader.
    pub partition_leader_epoch: i32,
    /// What an entry may claim.
    pub limits: Limits,
    /// Codecs that are not built in.
    pub plugins: Plugins,
}

/// What is appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The entries; empty for a duplicate.
    pub data: Vec<u8>,
    /// Offset of the first record; of the earlier batch, for a duplicate.
    pub first_offset: i64,
    /// Offset of the last record.
    pub last_offset: i64,
    /// Largest timestamp, or the append time; -1 where there is none.
    pub max_timestamp: i64,
    /// The batch was appended before, and is not again.
    pub is_duplicate: bool,
}
