//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    Record { id: 0, name: "SHARE_SNAPSHOT", key: Some(&SHARE_SNAPSHOT_KEY), value: &SHARE_SNAPSHOT_VALUE },
    Record { id: 1, name: "SHARE_UPDATE", key: Some(&SHARE_UPDATE_KEY), value: &SHARE_UPDATE_VALUE },
];

static SHARE_SNAPSHOT_KEY: Message = message(
    "ShareSnapshotKey",
    0,
    0,
    32767,
    &[field("groupId", Text).since(0, 0), field("topicId", Uuid).since(0, 0), field("partition", Int32).since(0, 0)],
);

static SHARE_SNAPSHOT_VALUE: Message = message(
    "ShareSnapshotValue",
    0,
    0,
    0,
    &[
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
    ],
);

static SHARE_UPDATE_KEY: Message = message(
    "ShareUpdateKey",
    0,
    0,
    32767,
    &[field("groupId", Text).since(0, 0), field("topicId", Uuid).since(0, 0), field("partition", Int32).since(0, 0)],
);

static SHARE_UPDATE_VALUE: Message = message(
    "ShareUpdateValue",
    0,
    0,
    0,
    &[
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
    ],
);
