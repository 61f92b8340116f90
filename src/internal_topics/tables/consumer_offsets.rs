//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::consumer_groups::*;
use super::share_groups::*;
use super::streams_groups::*;
use super::{Kind::*, Message, Record, array, field, group, message};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    Record { id: 0, name: "LEGACY_OFFSET_COMMIT", key: Some(&LEGACY_OFFSET_COMMIT_KEY), value: &LEGACY_OFFSET_COMMIT_VALUE },
    Record { id: 1, name: "OFFSET_COMMIT", key: Some(&OFFSET_COMMIT_KEY), value: &OFFSET_COMMIT_VALUE },
    Record { id: 2, name: "GROUP_METADATA", key: Some(&GROUP_METADATA_KEY), value: &GROUP_METADATA_VALUE },
    Record { id: 3, name: "CONSUMER_GROUP_METADATA", key: Some(&CONSUMER_GROUP_METADATA_KEY), value: &CONSUMER_GROUP_METADATA_VALUE },
    Record {
        id: 4,
        name: "CONSUMER_GROUP_PARTITION_METADATA",
        key: Some(&CONSUMER_GROUP_PARTITION_METADATA_KEY),
        value: &CONSUMER_GROUP_PARTITION_METADATA_VALUE,
    },
    Record {
        id: 5,
        name: "CONSUMER_GROUP_MEMBER_METADATA",
        key: Some(&CONSUMER_GROUP_MEMBER_METADATA_KEY),
        value: &CONSUMER_GROUP_MEMBER_METADATA_VALUE,
    },
    Record {
        id: 6,
        name: "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
        key: Some(&CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY),
        value: &CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    },
    Record {
        id: 7,
        name: "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
        key: Some(&CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY),
        value: &CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    },
    Record {
        id: 8,
        name: "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        key: Some(&CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY),
        value: &CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    },
    Record {
        id: 10,
        name: "SHARE_GROUP_MEMBER_METADATA",
        key: Some(&SHARE_GROUP_MEMBER_METADATA_KEY),
        value: &SHARE_GROUP_MEMBER_METADATA_VALUE,
    },
    Record { id: 11, name: "SHARE_GROUP_METADATA", key: Some(&SHARE_GROUP_METADATA_KEY), value: &SHARE_GROUP_METADATA_VALUE },
    Record {
        id: 12,
        name: "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
        key: Some(&SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_KEY),
        value: &SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    },
    Record {
        id: 13,
        name: "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
        key: Some(&SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY),
        value: &SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    },
    Record {
        id: 14,
        name: "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        key: Some(&SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY),
        value: &SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    },
    Record {
        id: 15,
        name: "SHARE_GROUP_STATE_PARTITION_METADATA",
        key: Some(&SHARE_GROUP_STATE_PARTITION_METADATA_KEY),
        value: &SHARE_GROUP_STATE_PARTITION_METADATA_VALUE,
    },
    Record {
        id: 16,
        name: "CONSUMER_GROUP_REGULAR_EXPRESSION",
        key: Some(&CONSUMER_GROUP_REGULAR_EXPRESSION_KEY),
        value: &CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE,
    },
    Record { id: 17, name: "STREAMS_GROUP_METADATA", key: Some(&STREAMS_GROUP_METADATA_KEY), value: &STREAMS_GROUP_METADATA_VALUE },
    Record {
        id: 19,
        name: "STREAMS_GROUP_MEMBER_METADATA",
        key: Some(&STREAMS_GROUP_MEMBER_METADATA_KEY),
        value: &STREAMS_GROUP_MEMBER_METADATA_VALUE,
    },
    Record {
        id: 20,
        name: "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
        key: Some(&STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_KEY),
        value: &STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    },
    Record {
        id: 21,
        name: "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
        key: Some(&STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY),
        value: &STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    },
    Record {
        id: 22,
        name: "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        key: Some(&STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY),
        value: &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    },
    Record { id: 23, name: "STREAMS_GROUP_TOPOLOGY", key: Some(&STREAMS_GROUP_TOPOLOGY_KEY), value: &STREAMS_GROUP_TOPOLOGY_VALUE },
];

static LEGACY_OFFSET_COMMIT_KEY: Message = message(
    "LegacyOffsetCommitKey",
    0,
    0,
    32767,
    &[field("group", Text).since(0, 0), field("topic", Text).since(0, 0), field("partition", Int32).since(0, 0)],
);

static LEGACY_OFFSET_COMMIT_VALUE: Message = message(
    "LegacyOffsetCommitValue",
    0,
    0,
    32767,
    &[field("offset", Int64).since(0, 0), field("metadata", Text).since(0, 0), field("commitTimestamp", Int64).since(0, 0)],
);

static OFFSET_COMMIT_KEY: Message = message(
    "OffsetCommitKey",
    0,
    0,
    32767,
    &[field("group", Text).since(0, 0), field("topic", Text).since(0, 0), field("partition", Int32).since(0, 0)],
);

static OFFSET_COMMIT_VALUE: Message = message(
    "OffsetCommitValue",
    0,
    4,
    4,
    &[
        field("offset", Int64),
        field("leaderEpoch", Int32).since(3, 32767),
        field("metadata", Text),
        field("commitTimestamp", Int64),
        field("expireTimestamp", Int64).since(1, 1),
        field("topicId", Uuid).since(4, 32767).tagged(0, 4, 32767),
    ],
);

static GROUP_METADATA_KEY: Message = message("GroupMetadataKey", 0, 0, 32767, &[field("group", Text).since(0, 0)]);

static GROUP_METADATA_VALUE: Message = message(
    "GroupMetadataValue",
    0,
    4,
    4,
    &[
        field("protocolType", Text),
        field("generation", Int32),
        field("protocol", Text).nullable(0, 32767),
        field("leader", Text).nullable(0, 32767),
        field("currentStateTimestamp", Int64).since(2, 32767),
        field(
            "members",
            array(&group(&[
                field("memberId", Text),
                field("groupInstanceId", Text).since(3, 32767).nullable(3, 32767),
                field("clientId", Text),
                field("clientHost", Text),
                field("rebalanceTimeout", Int32).since(1, 32767),
                field("sessionTimeout", Int32),
                field("subscription", Bytes),
                field("assignment", Bytes),
            ])),
        ),
    ],
);
