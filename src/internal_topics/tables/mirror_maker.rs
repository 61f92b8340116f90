//! The records of MirrorMaker 2. They have no schema files; a key has no version, and the value of an offset sync has none either.
//!
//! Source: `Checkpoint`, `Heartbeat` and `OffsetSync` in `org.apache.kafka.connect.mirror`.

use super::{Kind::*, Message, Record, field, message, record};

/// The type of the records of a topic of checkpoints.
pub static CHECKPOINTS: &[Record] = &[record(0, "CHECKPOINT", Some(&CHECKPOINT_KEY), &CHECKPOINT_VALUE)];
/// The type of the records of a topic of heartbeats.
pub static HEARTBEATS: &[Record] = &[record(0, "HEARTBEAT", Some(&HEARTBEAT_KEY), &HEARTBEAT_VALUE)];
/// The type of the records of a topic of offset syncs.
pub static OFFSET_SYNCS: &[Record] = &[record(0, "OFFSET_SYNC", Some(&OFFSET_SYNC_KEY), &OFFSET_SYNC_VALUE)];

static CHECKPOINT_KEY: Message =
    message("CheckpointKey", 0, 0, i16::MAX).of(&[field("group", Text), field("topic", Text), field("partition", Int32)]);

static CHECKPOINT_VALUE: Message =
    message("CheckpointValue", 0, 0, i16::MAX).of(&[field("upstreamOffset", Int64), field("offset", Int64), field("metadata", Text)]);

static HEARTBEAT_KEY: Message =
    message("HeartbeatKey", 0, 0, i16::MAX).of(&[field("sourceClusterAlias", Text), field("targetClusterAlias", Text)]);

static HEARTBEAT_VALUE: Message = message("HeartbeatValue", 0, 0, i16::MAX).of(&[field("timestamp", Int64)]);

static OFFSET_SYNC_KEY: Message = message("OffsetSyncKey", 0, 0, i16::MAX).of(&[field("topic", Text), field("partition", Int32)]);

static OFFSET_SYNC_VALUE: Message =
    message("OffsetSyncValue", 0, 0, i16::MAX).of(&[field("upstreamOffset", Int64), field("offset", Int64)]);
