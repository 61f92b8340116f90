//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message, record};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    record(0, "REGISTER_BROKER_RECORD", None, &REGISTER_BROKER_RECORD),
    record(1, "UNREGISTER_BROKER_RECORD", None, &UNREGISTER_BROKER_RECORD),
    record(2, "TOPIC_RECORD", None, &TOPIC_RECORD),
    record(3, "PARTITION_RECORD", None, &PARTITION_RECORD),
    record(4, "CONFIG_RECORD", None, &CONFIG_RECORD),
    record(5, "PARTITION_CHANGE_RECORD", None, &PARTITION_CHANGE_RECORD),
    record(7, "FENCE_BROKER_RECORD", None, &FENCE_BROKER_RECORD),
    record(8, "UNFENCE_BROKER_RECORD", None, &UNFENCE_BROKER_RECORD),
    record(9, "REMOVE_TOPIC_RECORD", None, &REMOVE_TOPIC_RECORD),
    record(10, "DELEGATION_TOKEN_RECORD", None, &DELEGATION_TOKEN_RECORD),
    record(11, "USER_SCRAM_CREDENTIAL_RECORD", None, &USER_SCRAM_CREDENTIAL_RECORD),
    record(12, "FEATURE_LEVEL_RECORD", None, &FEATURE_LEVEL_RECORD),
    record(14, "CLIENT_QUOTA_RECORD", None, &CLIENT_QUOTA_RECORD),
    record(15, "PRODUCER_IDS_RECORD", None, &PRODUCER_IDS_RECORD),
    record(17, "BROKER_REGISTRATION_CHANGE_RECORD", None, &BROKER_REGISTRATION_CHANGE_RECORD),
    record(18, "ACCESS_CONTROL_ENTRY_RECORD", None, &ACCESS_CONTROL_ENTRY_RECORD),
    record(19, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD", None, &REMOVE_ACCESS_CONTROL_ENTRY_RECORD),
    record(20, "NO_OP_RECORD", None, &NO_OP_RECORD),
    record(21, "ZK_MIGRATION_STATE_RECORD", None, &ZK_MIGRATION_STATE_RECORD),
    record(22, "REMOVE_USER_SCRAM_CREDENTIAL_RECORD", None, &REMOVE_USER_SCRAM_CREDENTIAL_RECORD),
    record(23, "BEGIN_TRANSACTION_RECORD", None, &BEGIN_TRANSACTION_RECORD),
    record(24, "END_TRANSACTION_RECORD", None, &END_TRANSACTION_RECORD),
    record(25, "ABORT_TRANSACTION_RECORD", None, &ABORT_TRANSACTION_RECORD),
    record(26, "REMOVE_DELEGATION_TOKEN_RECORD", None, &REMOVE_DELEGATION_TOKEN_RECORD),
    record(27, "REGISTER_CONTROLLER_RECORD", None, &REGISTER_CONTROLLER_RECORD),
    record(28, "CLEAR_ELR_RECORD", None, &CLEAR_ELR_RECORD),
];

static REGISTER_BROKER_RECORD: Message = message("RegisterBrokerRecord", 0, 4, 0).of(&[
    field("brokerId", Int32),
    field("isMigratingZkBroker", Bool).since(2, 32767),
    field("incarnationId", Uuid),
    field("brokerEpoch", Int64),
    field("endPoints", array(&group(&[field("name", Text), field("host", Text), field("port", Uint16), field("securityProtocol", Int16)]))),
    field("features", array(&group(&[field("name", Text), field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)]))),
    field("rack", Text).nullable(0, 32767),
    field("fenced", Bool),
    field("inControlledShutdown", Bool).since(1, 32767),
    field("logDirs", array(&Uuid)).since(3, 32767).tagged(0, 3, 32767),
    field("cordonedLogDirs", array(&Uuid)).since(4, 32767).nullable(4, 32767).tagged(1, 4, 32767).else_null(),
]);

static UNREGISTER_BROKER_RECORD: Message =
    message("UnregisterBrokerRecord", 0, 0, 0).of(&[field("brokerId", Int32), field("brokerEpoch", Int64)]);

static TOPIC_RECORD: Message = message("TopicRecord", 0, 0, 0).of(&[field("name", Text), field("topicId", Uuid)]);

static PARTITION_RECORD: Message = message("PartitionRecord", 0, 2, 0).of(&[
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
]);

static CONFIG_RECORD: Message = message("ConfigRecord", 0, 0, 0).of(&[
    field("resourceType", Int8),
    field("resourceName", Text),
    field("name", Text),
    field("value", Text).nullable(0, 32767),
]);

static PARTITION_CHANGE_RECORD: Message = message("PartitionChangeRecord", 0, 2, 0).of(&[
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
]);

static FENCE_BROKER_RECORD: Message = message("FenceBrokerRecord", 0, 0, 0).of(&[field("id", Int32), field("epoch", Int64)]);

static UNFENCE_BROKER_RECORD: Message = message("UnfenceBrokerRecord", 0, 0, 0).of(&[field("id", Int32), field("epoch", Int64)]);

static REMOVE_TOPIC_RECORD: Message = message("RemoveTopicRecord", 0, 0, 0).of(&[field("topicId", Uuid)]);

static DELEGATION_TOKEN_RECORD: Message = message("DelegationTokenRecord", 0, 0, 0).of(&[
    field("owner", Text),
    field("requester", Text),
    field("renewers", array(&Text)),
    field("issueTimestamp", Int64),
    field("maxTimestamp", Int64),
    field("expirationTimestamp", Int64),
    field("tokenId", Text),
]);

static USER_SCRAM_CREDENTIAL_RECORD: Message = message("UserScramCredentialRecord", 0, 0, 0).of(&[
    field("name", Text),
    field("mechanism", Int8),
    field("salt", Bytes),
    field("storedKey", Bytes),
    field("serverKey", Bytes),
    field("iterations", Int32),
]);

static FEATURE_LEVEL_RECORD: Message = message("FeatureLevelRecord", 0, 0, 0).of(&[field("name", Text), field("featureLevel", Int16)]);

static CLIENT_QUOTA_RECORD: Message = message("ClientQuotaRecord", 0, 0, 0).of(&[
    field("entity", array(&group(&[field("entityType", Text), field("entityName", Text).nullable(0, 32767)]))),
    field("key", Text),
    field("value", Float64),
    field("remove", Bool),
]);

static PRODUCER_IDS_RECORD: Message =
    message("ProducerIdsRecord", 0, 0, 0).of(&[field("brokerId", Int32), field("brokerEpoch", Int64), field("nextProducerId", Int64)]);

static BROKER_REGISTRATION_CHANGE_RECORD: Message = message("BrokerRegistrationChangeRecord", 0, 3, 0).of(&[
    field("brokerId", Int32),
    field("brokerEpoch", Int64),
    field("fenced", Int8).tagged(0, 0, 32767),
    field("inControlledShutdown", Int8).since(1, 32767).tagged(1, 1, 32767),
    field("logDirs", array(&Uuid)).since(2, 32767).tagged(2, 2, 32767),
    field("cordonedLogDirs", array(&Uuid)).since(3, 32767).nullable(3, 32767).tagged(3, 3, 32767).else_null(),
]);

static ACCESS_CONTROL_ENTRY_RECORD: Message = message("AccessControlEntryRecord", 0, 0, 0).of(&[
    field("id", Uuid),
    field("resourceType", Int8),
    field("resourceName", Text),
    field("patternType", Int8),
    field("principal", Text),
    field("host", Text),
    field("operation", Int8),
    field("permissionType", Int8),
]);

static REMOVE_ACCESS_CONTROL_ENTRY_RECORD: Message = message("RemoveAccessControlEntryRecord", 0, 0, 0).of(&[field("id", Uuid)]);

static NO_OP_RECORD: Message = message("NoOpRecord", 0, 0, 0).of(&[]);

static ZK_MIGRATION_STATE_RECORD: Message = message("ZkMigrationStateRecord", 0, 0, 0).of(&[field("zkMigrationState", Int8)]);

static REMOVE_USER_SCRAM_CREDENTIAL_RECORD: Message =
    message("RemoveUserScramCredentialRecord", 0, 0, 0).of(&[field("name", Text), field("mechanism", Int8)]);

static BEGIN_TRANSACTION_RECORD: Message =
    message("BeginTransactionRecord", 0, 0, 0).of(&[field("name", Text).nullable(0, 32767).tagged(0, 0, 32767).else_null()]);

static END_TRANSACTION_RECORD: Message = message("EndTransactionRecord", 0, 0, 0).of(&[]);

static ABORT_TRANSACTION_RECORD: Message =
    message("AbortTransactionRecord", 0, 0, 0).of(&[field("reason", Text).nullable(0, 32767).tagged(0, 0, 32767).else_null()]);

static REMOVE_DELEGATION_TOKEN_RECORD: Message = message("RemoveDelegationTokenRecord", 0, 0, 0).of(&[field("tokenId", Text)]);

static REGISTER_CONTROLLER_RECORD: Message = message("RegisterControllerRecord", 0, 0, 0).of(&[
    field("controllerId", Int32),
    field("incarnationId", Uuid),
    field("zkMigrationReady", Bool),
    field("endPoints", array(&group(&[field("name", Text), field("host", Text), field("port", Uint16), field("securityProtocol", Int16)]))),
    field("features", array(&group(&[field("name", Text), field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)]))),
]);

static CLEAR_ELR_RECORD: Message = message("ClearElrRecord", 0, 0, 0).of(&[field("topicName", Text)]);
