//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message, record};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    record(0, "SHARE_SNAPSHOT", Some(&SHARE_SNAPSHOT_KEY), &SHARE_SNAPSHOT_VALUE),
    record(1, "SHARE_UPDATE", Some(&SHARE_UPDATE_KEY), &SHARE_UPDATE_VALUE),
];

static SHARE_SNAPSHOT_KEY: Message = message("ShareSnapshotKey", 0, 0, 32767).of(&[
    field("groupId", Text).since(0, 0),
    field("topicId", Uuid).since(0, 0),
    field("partition", Int32).since(0, 0),
]);

static SHARE_SNAPSHOT_VALUE: Message = message("ShareSnapshotValue", 0, 0, 0).of(&[
    field("snapshotEpoch", Int32),
    field("stateEpoch", Int32),
    field("leaderEpoch", Int32),
    field("startOffset", Int64),
    field("deliveryCompleteCount", Int32).tagged(0, 0, 32767).otherwise(-1),
    field("createTimestamp", Int64),
    field("writeTimestamp", Int64),
    field(
        "stateBatches",
        array(&group(&[
            field("firstOffset", Int64),
            field("lastOffset", Int64),
            field("deliveryState", Int8),
            field("deliveryCount", Int16),
        ])),
    ),
]);

static SHARE_UPDATE_KEY: Message = message("ShareUpdateKey", 0, 0, 32767).of(&[
    field("groupId", Text).since(0, 0),
    field("topicId", Uuid).since(0, 0),
    field("partition", Int32).since(0, 0),
]);

static SHARE_UPDATE_VALUE: Message = message("ShareUpdateValue", 0, 0, 0).of(&[
    field("snapshotEpoch", Int32),
    field("leaderEpoch", Int32),
    field("startOffset", Int64),
    field("deliveryCompleteCount", Int32).tagged(0, 0, 32767).otherwise(-1),
    field(
        "stateBatches",
        array(&group(&[
            field("firstOffset", Int64),
            field("lastOffset", Int64),
            field("deliveryState", Int8),
            field("deliveryCount", Int16),
        ])),
    ),
]);
