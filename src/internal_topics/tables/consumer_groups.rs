//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Field, Kind::*, Message, array, field, group, message};

pub(super) static CONSUMER_GROUP_METADATA_KEY: Message =
    message("ConsumerGroupMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

pub(super) static CONSUMER_GROUP_METADATA_VALUE: Message =
    message("ConsumerGroupMetadataValue", 0, 0, 0).of(&[field("epoch", Int32), field("metadataHash", Int64).tagged(0, 0, 32767)]);

pub(super) static CONSUMER_GROUP_PARTITION_METADATA_KEY: Message =
    message("ConsumerGroupPartitionMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

pub(super) static CONSUMER_GROUP_PARTITION_METADATA_VALUE: Message = message("ConsumerGroupPartitionMetadataValue", 0, 0, 0).of(&[field(
    "topics",
    array(&group(&[
        field("topicId", Uuid),
        field("topicName", Text),
        field("numPartitions", Int32),
        field("partitionMetadata", array(&group(&[field("partition", Int32), field("racks", array(&Text))]))),
    ])),
)]);

pub(super) static CONSUMER_GROUP_MEMBER_METADATA_KEY: Message =
    message("ConsumerGroupMemberMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

pub(super) static CONSUMER_GROUP_MEMBER_METADATA_VALUE: Message = message("ConsumerGroupMemberMetadataValue", 0, 0, 0).of(&[
    field("instanceId", Text).nullable(0, 32767),
    field("rackId", Text).nullable(0, 32767),
    field("clientId", Text),
    field("clientHost", Text),
    field("subscribedTopicNames", array(&Text)),
    field("subscribedTopicRegex", Text).nullable(0, 32767),
    field("rebalanceTimeoutMs", Int32),
    field("serverAssignor", Text).nullable(0, 32767),
    field(
        "classicMemberMetadata",
        group(&[
            field("sessionTimeoutMs", Int32),
            field("supportedProtocols", array(&group(&[field("name", Text), field("metadata", Bytes)]))),
        ]),
    )
    .nullable(0, 32767)
    .tagged(0, 0, 32767),
]);

pub(super) static CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY: Message =
    message("ConsumerGroupTargetAssignmentMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

pub(super) static CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Message = message("ConsumerGroupTargetAssignmentMetadataValue", 0, 0, 0)
    .of(&[field("assignmentEpoch", Int32), field("assignmentTimestamp", Int64).tagged(0, 0, 32767)]);

pub(super) static CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY: Message = message("ConsumerGroupTargetAssignmentMemberKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

pub(super) static CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Message = message("ConsumerGroupTargetAssignmentMemberValue", 0, 0, 0)
    .of(&[field("topicPartitions", array(&group(&[field("topicId", Uuid), field("partitions", array(&Int32))])))]);

pub(super) static CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY: Message = message("ConsumerGroupCurrentMemberAssignmentKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

const CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS: &[Field] = &[
    field("topicId", Uuid),
    field("partitions", array(&Int32)),
    field("assignmentEpochs", array(&Int32)).nullable(0, 32767).tagged(0, 0, 32767),
];

pub(super) static CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Message = message("ConsumerGroupCurrentMemberAssignmentValue", 0, 0, 0)
    .of(&[
        field("memberEpoch", Int32),
        field("previousMemberEpoch", Int32),
        field("state", Int8),
        field("assignedPartitions", array(&group(CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS))),
        field("partitionsPendingRevocation", array(&group(CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS))),
    ]);

pub(super) static CONSUMER_GROUP_REGULAR_EXPRESSION_KEY: Message = message("ConsumerGroupRegularExpressionKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("regularExpression", Text).since(0, 0)]);

pub(super) static CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE: Message = message("ConsumerGroupRegularExpressionValue", 0, 0, 0).of(&[
    field("topics", array(&Text)),
    field("version", Int64),
    field("timestamp", Int64),
]);
