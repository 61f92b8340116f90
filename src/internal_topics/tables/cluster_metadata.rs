//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    Record { id: 0, name: "REGISTER_BROKER_RECORD", key: None, value: &REGISTER_BROKER_RECORD },
    Record { id: 1, name: "UNREGISTER_BROKER_RECORD", key: None, value: &UNREGISTER_BROKER_RECORD },
    Record { id: 2, name: "TOPIC_RECORD", key: None, value: &TOPIC_RECORD },
    Record { id: 3, name: "PARTITION_RECORD", key: None, value: &PARTITION_RECORD },
    Record { id: 4, name: "CONFIG_RECORD", key: None, value: &CONFIG_RECORD },
    Record { id: 5, name: "PARTITION_CHANGE_RECORD", key: None, value: &PARTITION_CHANGE_RECORD },
    Record { id: 7, name: "FENCE_BROKER_RECORD", key: None, value: &FENCE_BROKER_RECORD },
    Record { id: 8, name: "UNFENCE_BROKER_RECORD", key: None, value: &UNFENCE_BROKER_RECORD },
    Record { id: 9, name: "REMOVE_TOPIC_RECORD", key: None, value: &REMOVE_TOPIC_RECORD },
    Record { id: 10, name: "DELEGATION_TOKEN_RECORD", key: None, value: &DELEGATION_TOKEN_RECORD },
    Record { id: 11, name: "USER_SCRAM_CREDENTIAL_RECORD", key: None, value: &USER_SCRAM_CREDENTIAL_RECORD },
    Record { id: 12, name: "FEATURE_LEVEL_RECORD", key: None, value: &FEATURE_LEVEL_RECORD },
    Record { id: 14, name: "CLIENT_QUOTA_RECORD", key: None, value: &CLIENT_QUOTA_RECORD },
    Record { id: 15, name: "PRODUCER_IDS_RECORD", key: None, value: &PRODUCER_IDS_RECORD },
    Record { id: 17, name: "BROKER_REGISTRATION_CHANGE_RECORD", key: None, value: &BROKER_REGISTRATION_CHANGE_RECORD },
    Record { id: 18, name: "ACCESS_CONTROL_ENTRY_RECORD", key: None, value: &ACCESS_CONTROL_ENTRY_RECORD },
    Record { id: 19, name: "REMOVE_ACCESS_CONTROL_ENTRY_RECORD", key: None, value: &REMOVE_ACCESS_CONTROL_ENTRY_RECORD },
    Record { id: 20, name: "NO_OP_RECORD", key: None, value: &NO_OP_RECORD },
    Record { id: 21, name: "ZK_MIGRATION_STATE_RECORD", key: None, value: &ZK_MIGRATION_STATE_RECORD },
    Record { id: 22, name: "REMOVE_USER_SCRAM_CREDENTIAL_RECORD", key: None, value: &REMOVE_USER_SCRAM_CREDENTIAL_RECORD },
    Record { id: 23, name: "BEGIN_TRANSACTION_RECORD", key: None, value: &BEGIN_TRANSACTION_RECORD },
    Record { id: 24, name: "END_TRANSACTION_RECORD", key: None, value: &END_TRANSACTION_RECORD },
    Record { id: 25, name: "ABORT_TRANSACTION_RECORD", key: None, value: &ABORT_TRANSACTION_RECORD },
    Record { id: 26, name: "REMOVE_DELEGATION_TOKEN_RECORD", key: None, value: &REMOVE_DELEGATION_TOKEN_RECORD },
    Record { id: 27, name: "REGISTER_CONTROLLER_RECORD", key: None, value: &REGISTER_CONTROLLER_RECORD },
    Record { id: 28, name: "CLEAR_ELR_RECORD", key: None, value: &CLEAR_ELR_RECORD },
];

static REGISTER_BROKER_RECORD: Message = message(
    "RegisterBrokerRecord",
    0,
    4,
    0,
    &[
        field("brokerId", Int32),
        field("isMigratingZkBroker", Bool).since(2, 32767),
        field("incarnationId", Uuid),
        field("brokerEpoch", Int64),
        field(
            "endPoints",
            array(&group(&[field("name", Text), field("host", Text), field("port", Uint16), field("securityProtocol", Int16)])),
        ),
        field("features", array(&group(&[field("name", Text), field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)]))),
        field("rack", Text).nullable(0, 32767),
        field("fenced", Bool),
        field("inControlledShutdown", Bool).since(1, 32767),
        field("logDirs", array(&Uuid)).since(3, 32767).tagged(0, 3, 32767),
        field("cordonedLogDirs", array(&Uuid)).since(4, 32767).nullable(4, 32767).tagged(1, 4, 32767).else_null(),
    ],
);

static UNREGISTER_BROKER_RECORD: Message =
    message("UnregisterBrokerRecord", 0, 0, 0, &[field("brokerId", Int32), field("brokerEpoch", Int64)]);

static TOPIC_RECORD: Message = message("TopicRecord", 0, 0, 0, &[field("name", Text), field("topicId", Uuid)]);

static PARTITION_RECORD: Message = message(
    "PartitionRecord",
    0,
    2,
    0,
    &[
        field("partitionId", Int32),
        field("topicId", Uuid),
        field("replicas", array(&Int32)),
        field("isr", array(&Int32)),
        field("removingReplicas", array(&Int32)),
        field("addingReplicas", array(&Int32)),
        field("leader", Int32),
        field("leaderRecoveryState", Int8).tagged(0, 0, 32767).otherwise(0),
        field("leaderEpoch", Int32),
        field("partitionEpoch", Int32),
        field("directories", array(&Uuid)).since(1, 32767),
        field("eligibleLeaderReplicas", array(&Int32)).since(2, 32767).nullable(2, 32767).tagged(1, 2, 32767).else_null(),
        field("lastKnownElr", array(&Int32)).since(2, 32767).nullable(2, 32767).tagged(2, 2, 32767).else_null(),
    ],
);

static CONFIG_RECORD: Message = message(
    "ConfigRecord",
    0,
    0,
    0,
    &[field("resourceType", Int8), field("resourceName", Text), field("name", Text), field("value", Text).nullable(0, 32767)],
);

static PARTITION_CHANGE_RECORD: Message = message(
    "PartitionChangeRecord",
    0,
    2,
    0,
    &[
        field("partitionId", Int32),
        field("topicId", Uuid),
        field("isr", array(&Int32)).nullable(0, 32767).tagged(0, 0, 32767).else_null(),
        field("leader", Int32).tagged(1, 0, 32767).otherwise(-2),
        field("replicas", array(&Int32)).nullable(0, 32767).tagged(2, 0, 32767).else_null(),
        field("removingReplicas", array(&Int32)).nullable(0, 32767).tagged(3, 0, 32767).else_null(),
        field("addingReplicas", array(&Int32)).nullable(0, 32767).tagged(4, 0, 32767).else_null(),
        field("leaderRecoveryState", Int8).tagged(5, 0, 32767).otherwise(-1),
        field("directories", array(&Uuid)).since(1, 32767).nullable(1, 32767).tagged(8, 1, 32767).else_null(),
        field("eligibleLeaderReplicas", array(&Int32)).since(2, 32767).nullable(2, 32767).tagged(6, 2, 32767).else_null(),
        field("lastKnownElr", array(&Int32)).since(2, 32767).nullable(2, 32767).tagged(7, 2, 32767).else_null(),
    ],
);

static FENCE_BROKER_RECORD: Message = message("FenceBrokerRecord", 0, 0, 0, &[field("id", Int32), field("epoch", Int64)]);

static UNFENCE_BROKER_RECORD: Message = message("UnfenceBrokerRecord", 0, 0, 0, &[field("id", Int32), field("epoch", Int64)]);

static REMOVE_TOPIC_RECORD: Message = message("RemoveTopicRecord", 0, 0, 0, &[field("topicId", Uuid)]);

static DELEGATION_TOKEN_RECORD: Message = message(
    "DelegationTokenRecord",
    0,
    0,
    0,
    &[
        field("owner", Text),
        field("requester", Text),
        field("renewers", array(&Text)),
        field("issueTimestamp", Int64),
        field("maxTimestamp", Int64),
        field("expirationTimestamp", Int64),
        field("tokenId", Text),
    ],
);

static USER_SCRAM_CREDENTIAL_RECORD: Message = message(
    "UserScramCredentialRecord",
    0,
    0,
    0,
    &[
        field("name", Text),
        field("mechanism", Int8),
        field("salt", Bytes),
        field("storedKey", Bytes),
        field("serverKey", Bytes),
        field("iterations", Int32),
    ],
);

static FEATURE_LEVEL_RECORD: Message = message("FeatureLevelRecord", 0, 0, 0, &[field("name", Text), field("featureLevel", Int16)]);

static CLIENT_QUOTA_RECORD: Message = message(
    "ClientQuotaRecord",
    0,
    0,
    0,
    &[
        field("entity", array(&group(&[field("entityType", Text), field("entityName", Text).nullable(0, 32767)]))),
        field("key", Text),
        field("value", Float64),
        field("remove", Bool),
    ],
);

static PRODUCER_IDS_RECORD: Message =
    message("ProducerIdsRecord", 0, 0, 0, &[field("brokerId", Int32), field("brokerEpoch", Int64), field("nextProducerId", Int64)]);

static BROKER_REGISTRATION_CHANGE_RECORD: Message = message(
    "BrokerRegistrationChangeRecord",
    0,
    3,
    0,
    &[
        field("brokerId", Int32),
        field("brokerEpoch", Int64),
        field("fenced", Int8).tagged(0, 0, 32767),
        field("inControlledShutdown", Int8).since(1, 32767).tagged(1, 1, 32767),
        field("logDirs", array(&Uuid)).since(2, 32767).tagged(2, 2, 32767),
        field("cordonedLogDirs", array(&Uuid)).since(3, 32767).nullable(3, 32767).tagged(3, 3, 32767).else_null(),
    ],
);

static ACCESS_CONTROL_ENTRY_RECORD: Message = message(
    "AccessControlEntryRecord",
    0,
    0,
    0,
    &[
        field("id", Uuid),
        field("resourceType", Int8),
        field("resourceName", Text),
        field("patternType", Int8),
        field("principal", Text),
        field("host", Text),
        field("operation", Int8),
        field("permissionType", Int8),
    ],
);

static REMOVE_ACCESS_CONTROL_ENTRY_RECORD: Message = message("RemoveAccessControlEntryRecord", 0, 0, 0, &[field("id", Uuid)]);

static NO_OP_RECORD: Message = message("NoOpRecord", 0, 0, 0, &[]);

static ZK_MIGRATION_STATE_RECORD: Message = message("ZkMigrationStateRecord", 0, 0, 0, &[field("zkMigrationState", Int8)]);

static REMOVE_USER_SCRAM_CREDENTIAL_RECORD: Message =
    message("RemoveUserScramCredentialRecord", 0, 0, 0, &[field("name", Text), field("mechanism", Int8)]);

static BEGIN_TRANSACTION_RECORD: Message =
    message("BeginTransactionRecord", 0, 0, 0, &[field("name", Text).nullable(0, 32767).tagged(0, 0, 32767).else_null()]);

static END_TRANSACTION_RECORD: Message = message("EndTransactionRecord", 0, 0, 0, &[]);

static ABORT_TRANSACTION_RECORD: Message =
    message("AbortTransactionRecord", 0, 0, 0, &[field("reason", Text).nullable(0, 32767).tagged(0, 0, 32767).else_null()]);

static REMOVE_DELEGATION_TOKEN_RECORD: Message = message("RemoveDelegationTokenRecord", 0, 0, 0, &[field("tokenId", Text)]);

static REGISTER_CONTROLLER_RECORD: Message = message(
    "RegisterControllerRecord",
    0,
    0,
    0,
    &[
        field("controllerId", Int32),
        field("incarnationId", Uuid),
        field("zkMigrationReady", Bool),
        field(
            "endPoints",
            array(&group(&[field("name", Text), field("host", Text), field("port", Uint16), field("securityProtocol", Int16)])),
        ),
        field("features", array(&group(&[field("name", Text), field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)]))),
    ],
);

static CLEAR_ELR_RECORD: Message = message("ClearElrRecord", 0, 0, 0, &[field("topicName", Text)]);
