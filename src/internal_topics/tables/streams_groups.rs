//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Field, Kind::*, Message, array, field, group, message};

pub(super) static STREAMS_GROUP_METADATA_KEY: Message =
    message("StreamsGroupMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

const STREAMS_GROUP_METADATA_VALUE_LAST_ASSIGNMENT_CONFIG: &[Field] = &[field("key", Text), field("value", Text)];

pub(super) static STREAMS_GROUP_METADATA_VALUE: Message = message("StreamsGroupMetadataValue", 0, 0, 0).of(&[
    field("epoch", Int32),
    field("metadataHash", Int64),
    field("validatedTopologyEpoch", Int32).tagged(0, 0, 32767).otherwise(-1),
    field("lastAssignmentConfigs", array(&group(STREAMS_GROUP_METADATA_VALUE_LAST_ASSIGNMENT_CONFIG)))
        .nullable(0, 32767)
        .tagged(1, 0, 32767),
]);

pub(super) static STREAMS_GROUP_MEMBER_METADATA_KEY: Message =
    message("StreamsGroupMemberMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

const STREAMS_GROUP_MEMBER_METADATA_VALUE_ENDPOINT: &[Field] = &[field("host", Text), field("port", Uint16)];

const STREAMS_GROUP_MEMBER_METADATA_VALUE_KEY_VALUE: &[Field] = &[field("key", Text), field("value", Text)];

pub(super) static STREAMS_GROUP_MEMBER_METADATA_VALUE: Message = message("StreamsGroupMemberMetadataValue", 0, 0, 0).of(&[
    field("instanceId", Text).nullable(0, 32767),
    field("rackId", Text).nullable(0, 32767),
    field("clientId", Text),
    field("clientHost", Text),
    field("rebalanceTimeoutMs", Int32),
    field("topologyEpoch", Int32),
    field("processId", Text),
    field("userEndpoint", group(STREAMS_GROUP_MEMBER_METADATA_VALUE_ENDPOINT)).nullable(0, 32767),
    field("clientTags", array(&group(STREAMS_GROUP_MEMBER_METADATA_VALUE_KEY_VALUE))),
]);

pub(super) static STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_KEY: Message =
    message("StreamsGroupTargetAssignmentMetadataKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

pub(super) static STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Message = message("StreamsGroupTargetAssignmentMetadataValue", 0, 0, 0)
    .of(&[field("assignmentEpoch", Int32), field("assignmentTimestamp", Int64).tagged(0, 0, 32767)]);

pub(super) static STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY: Message = message("StreamsGroupTargetAssignmentMemberKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

const STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS: &[Field] = &[field("subtopologyId", Text), field("partitions", array(&Int32))];

pub(super) static STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Message =
    message("StreamsGroupTargetAssignmentMemberValue", 0, 0, 0).of(&[
        field("activeTasks", array(&group(STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS))),
        field("standbyTasks", array(&group(STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS))),
        field("warmupTasks", array(&group(STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS))),
    ]);

pub(super) static STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY: Message = message("StreamsGroupCurrentMemberAssignmentKey", 0, 0, 32767)
    .of(&[field("groupId", Text).since(0, 0), field("memberId", Text).since(0, 0)]);

const STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS: &[Field] = &[
    field("subtopologyId", Text),
    field("partitions", array(&Int32)),
    field("assignmentEpochs", array(&Int32)).nullable(0, 32767).tagged(0, 0, 32767),
];

pub(super) static STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Message =
    message("StreamsGroupCurrentMemberAssignmentValue", 0, 0, 0).of(&[
        field("memberEpoch", Int32),
        field("previousMemberEpoch", Int32),
        field("state", Int8),
        field("activeTasks", array(&group(STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS))),
        field("standbyTasks", array(&group(STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS))),
        field("warmupTasks", array(&group(STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS))),
        field("activeTasksPendingRevocation", array(&group(STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS))),
        field("standbyTasksPendingRevocation", array(&group(STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS))),
        field("warmupTasksPendingRevocation", array(&group(STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS))),
    ]);

pub(super) static STREAMS_GROUP_TOPOLOGY_KEY: Message =
    message("StreamsGroupTopologyKey", 0, 0, 32767).of(&[field("groupId", Text).since(0, 0)]);

const STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_CONFIG: &[Field] = &[field("key", Text), field("value", Text)];

const STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_INFO: &[Field] = &[
    field("name", Text),
    field("partitions", Int32),
    field("replicationFactor", Int16),
    field("topicConfigs", array(&group(STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_CONFIG))),
];

pub(super) static STREAMS_GROUP_TOPOLOGY_VALUE: Message = message("StreamsGroupTopologyValue", 0, 0, 0).of(&[
    field("epoch", Int32),
    field(
        "subtopologies",
        array(&group(&[
            field("subtopologyId", Text),
            field("sourceTopics", array(&Text)),
            field("sourceTopicRegex", array(&Text)),
            field("stateChangelogTopics", array(&group(STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_INFO))),
            field("repartitionSinkTopics", array(&Text)),
            field("repartitionSourceTopics", array(&group(STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_INFO))),
            field(
                "copartitionGroups",
                array(&group(&[
                    field("sourceTopics", array(&Int16)),
                    field("sourceTopicRegex", array(&Int16)),
                    field("repartitionSourceTopics", array(&Int16)),
                ])),
            ),
        ])),
    ),
]);
