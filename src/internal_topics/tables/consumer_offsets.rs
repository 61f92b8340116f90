//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::consumer_groups::*;
use super::share_groups::*;
use super::streams_groups::*;
use super::{Field, Kind::*, Message, Record, array, field, group, message, record};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    record(0, "LEGACY_OFFSET_COMMIT", Some(&LEGACY_OFFSET_COMMIT_KEY), &LEGACY_OFFSET_COMMIT_VALUE),
    record(1, "OFFSET_COMMIT", Some(&OFFSET_COMMIT_KEY), &OFFSET_COMMIT_VALUE),
    record(2, "GROUP_METADATA", Some(&GROUP_METADATA_KEY), &GROUP_METADATA_VALUE),
    record(3, "CONSUMER_GROUP_METADATA", Some(&CONSUMER_GROUP_METADATA_KEY), &CONSUMER_GROUP_METADATA_VALUE),
    record(4, "CONSUMER_GROUP_PARTITION_METADATA", Some(&CONSUMER_GROUP_PARTITION_METADATA_KEY), &CONSUMER_GROUP_PARTITION_METADATA_VALUE),
    record(5, "CONSUMER_GROUP_MEMBER_METADATA", Some(&CONSUMER_GROUP_MEMBER_METADATA_KEY), &CONSUMER_GROUP_MEMBER_METADATA_VALUE),
    record(
        6,
        "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
        Some(&CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY),
        &CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ),
    record(
        7,
        "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
        Some(&CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY),
        &CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ),
    record(
        8,
        "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        Some(&CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY),
        &CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ),
    record(10, "SHARE_GROUP_MEMBER_METADATA", Some(&SHARE_GROUP_MEMBER_METADATA_KEY), &SHARE_GROUP_MEMBER_METADATA_VALUE),
    record(11, "SHARE_GROUP_METADATA", Some(&SHARE_GROUP_METADATA_KEY), &SHARE_GROUP_METADATA_VALUE),
    record(
        12,
        "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
        Some(&SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_KEY),
        &SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ),
    record(
        13,
        "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
        Some(&SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY),
        &SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ),
    record(
        14,
        "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        Some(&SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY),
        &SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ),
    record(
        15,
        "SHARE_GROUP_STATE_PARTITION_METADATA",
        Some(&SHARE_GROUP_STATE_PARTITION_METADATA_KEY),
        &SHARE_GROUP_STATE_PARTITION_METADATA_VALUE,
    ),
    record(16, "CONSUMER_GROUP_REGULAR_EXPRESSION", Some(&CONSUMER_GROUP_REGULAR_EXPRESSION_KEY), &CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE),
    record(17, "STREAMS_GROUP_METADATA", Some(&STREAMS_GROUP_METADATA_KEY), &STREAMS_GROUP_METADATA_VALUE),
    record(19, "STREAMS_GROUP_MEMBER_METADATA", Some(&STREAMS_GROUP_MEMBER_METADATA_KEY), &STREAMS_GROUP_MEMBER_METADATA_VALUE),
    record(
        20,
        "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
        Some(&STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_KEY),
        &STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ),
    record(
        21,
        "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
        Some(&STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY),
        &STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ),
    record(
        22,
        "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        Some(&STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY),
        &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ),
    record(23, "STREAMS_GROUP_TOPOLOGY", Some(&STREAMS_GROUP_TOPOLOGY_KEY), &STREAMS_GROUP_TOPOLOGY_VALUE),
];

static LEGACY_OFFSET_COMMIT_KEY: Message = message("LegacyOffsetCommitKey", 0, 0, 32767).of(&[
    field("group", Text).since(0, 0),
    field("topic", Text).since(0, 0),
    field("partition", Int32).since(0, 0),
]);

static LEGACY_OFFSET_COMMIT_VALUE: Message = message("LegacyOffsetCommitValue", 0, 0, 32767).of(&[
    field("offset", Int64).since(0, 0),
    field("metadata", Text).since(0, 0),
    field("commitTimestamp", Int64).since(0, 0),
]);

static OFFSET_COMMIT_KEY: Message = message("OffsetCommitKey", 0, 0, 32767).of(&[
    field("group", Text).since(0, 0),
    field("topic", Text).since(0, 0),
    field("partition", Int32).since(0, 0),
]);

static OFFSET_COMMIT_VALUE: Message = message("OffsetCommitValue", 0, 4, 4).of(&[
    field("offset", Int64),
    field("leaderEpoch", Int32).since(3, 32767),
    field("metadata", Text),
    field("commitTimestamp", Int64),
    field("expireTimestamp", Int64).since(1, 1),
    field("topicId", Uuid).since(4, 32767).tagged(0, 4, 32767),
]);

static GROUP_METADATA_KEY: Message = message("GroupMetadataKey", 0, 0, 32767).of(&[field("group", Text).since(0, 0)]);

const GROUP_METADATA_VALUE_MEMBER_METADATA: &[Field] = &[
    field("memberId", Text),
    field("groupInstanceId", Text).since(3, 32767).nullable(3, 32767),
    field("clientId", Text),
    field("clientHost", Text),
    field("rebalanceTimeout", Int32).since(1, 32767),
    field("sessionTimeout", Int32),
    field("subscription", Bytes),
    field("assignment", Bytes),
];

static GROUP_METADATA_VALUE: Message = message("GroupMetadataValue", 0, 4, 4).of(&[
    field("protocolType", Text),
    field("generation", Int32),
    field("protocol", Text).nullable(0, 32767),
    field("leader", Text).nullable(0, 32767),
    field("currentStateTimestamp", Int64).since(2, 32767),
    field("members", array(&group(GROUP_METADATA_VALUE_MEMBER_METADATA))),
]);
