//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Field, Kind::*, Message, array, field, group, message};

pub(super) static SHARE_GROUP_MEMBER_METADATA_KEY: Message =
    message("ShareGroupMemberMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

pub(super) static SHARE_GROUP_MEMBER_METADATA_VALUE: Message = message("ShareGroupMemberMetadataValue", 0, 0, 0).of(&[
    field("rackId", Text).nullable(0, 32767),
    field("clientId", Text),
    field("clientHost", Text),
    field("subscribedTopicNames", array(&Text)),
]);

pub(super) static SHARE_GROUP_METADATA_KEY: Message =
    message("ShareGroupMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

pub(super) static SHARE_GROUP_METADATA_VALUE: Message =
    message("ShareGroupMetadataValue", 0, 0, 0).of(&[field("epoch", Int32), field("metadataHash", Int64)]);

pub(super) static SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_KEY: Message =
    message("ShareGroupTargetAssignmentMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

pub(super) static SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Message = message("ShareGroupTargetAssignmentMetadataValue", 0, 0, 0)
    .of(&[field("assignmentEpoch", Int32), field("assignmentTimestamp", Int64).tagged(0, 0, 32767)]);

pub(super) static SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY: Message = message("ShareGroupTargetAssignmentMemberKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

pub(super) static SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Message = message("ShareGroupTargetAssignmentMemberValue", 0, 0, 0)
    .of(&[field("topicPartitions", array(&group(&[field("topicId", Uuid), field("partitions", array(&Int32))])))]);

pub(super) static SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY: Message = message("ShareGroupCurrentMemberAssignmentKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

const SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS: &[Field] =
    &[field("topicId", Uuid), field("partitions", array(&Int32))];

pub(super) static SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Message = message("ShareGroupCurrentMemberAssignmentValue", 0, 0, 0).of(&[
    field("memberEpoch", Int32),
    field("previousMemberEpoch", Int32),
    field("state", Int8),
    field("assignedPartitions", array(&group(SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS))),
]);

pub(super) static SHARE_GROUP_STATE_PARTITION_METADATA_KEY: Message =
    message("ShareGroupStatePartitionMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

const SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_PARTITIONS_INFO: &[Field] =
    &[field("topicId", Uuid), field("topicName", Text), field("partitions", array(&Int32))];

const SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_INFO: &[Field] = &[field("topicId", Uuid), field("topicName", Text)];

pub(super) static SHARE_GROUP_STATE_PARTITION_METADATA_VALUE: Message = message("ShareGroupStatePartitionMetadataValue", 0, 0, 0).of(&[
    field("initializingTopics", array(&group(SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_PARTITIONS_INFO))),
    field("initializedTopics", array(&group(SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_PARTITIONS_INFO))),
    field("deletingTopics", array(&group(SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_INFO))),
]);
