//! How far share groups have read, from the records of one partition of `__share_group_state`. Source: `ShareCoordinatorShard` in Kafka.

use std::collections::BTreeMap;

use super::metadata_objects::Uuid;
use crate::internal_topics::{MessageValue, Topic, Undecoded, identify};

/// What a share group reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharePartition {
    /// Id of the group.
    pub group: String,
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Partition.
    pub partition: i32,
}

/// How far a share group has read a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareOffset {
    /// Offset of the newest record about it.
    pub record_offset: i64,
    /// The first offset that is not finished; -1 if the group has not begun.
    pub start_offset: i64,
    /// Records from there on that are finished; -1 if that is not known.
    pub delivery_complete_count: i32,
    /// Leader epoch of the partition.
    pub leader_epoch: i32,
    /// When the newest snapshot was written, ms.
    pub write_timestamp: i64,
}

/// The state of share groups.
#[derive(Clone, Debug, Default)]
pub struct ShareOffsets {
    /// By group and partition.
    pub offsets: BTreeMap<SharePartition, ShareOffset>,
}

impl ShareOffsets {
    /// Adds a record that is not a marker. Returns why it cannot be read.
    pub fn add(&mut self, record_offset: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Option<Undecoded> {
        self.replay(record_offset, key, value).err()
    }

    fn replay(&mut self, record_offset: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), Undecoded> {
        let Some(record) = identify(Some(Topic::ShareGroupState), false, key, value) else { return Ok(()) };
        if let Some(undecoded) = record.undecoded {
            return Err(undecoded);
        }
        let key = MessageValue::of(&record, &record.key)?;
        let place = SharePartition {
            group: key.text("groupId").unwrap_or_default().to_owned(),
            topic_id: key.uuid("topicId").unwrap_or_default(),
            partition: key.int("partition").unwrap_or(-1),
        };
        if record.value.is_null() {
            self.offsets.remove(&place);
            return Ok(());
        }
        let fields = MessageValue::of(&record, &record.value)?;
        let own =
            self.offsets.entry(place).or_insert(ShareOffset { start_offset: -1, delivery_complete_count: -1, ..ShareOffset::default() });
        let is_snapshot = record.name == Some("SHARE_SNAPSHOT");
        own.record_offset = record_offset;
        own.leader_epoch = fields.int("leaderEpoch").filter(|epoch| *epoch >= 0).unwrap_or(own.leader_epoch);
        // An update has only what changed.
        if let Some(start) = fields.long("startOffset").filter(|start| is_snapshot || *start >= 0) {
            own.start_offset = start;
        }
        match fields.int("deliveryCompleteCount") {
            Some(count) => own.delivery_complete_count = count,
            None if is_snapshot => own.delivery_complete_count = -1,
            None => {}
        }
        own.write_timestamp = fields.long("writeTimestamp").unwrap_or(own.write_timestamp);
        Ok(())
    }
}
