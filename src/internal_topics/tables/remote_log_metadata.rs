//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message, record};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    record(0, "REMOTE_LOG_SEGMENT_METADATA_RECORD", None, &REMOTE_LOG_SEGMENT_METADATA_RECORD),
    record(1, "REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD", None, &REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD),
    record(2, "REMOTE_PARTITION_DELETE_METADATA_RECORD", None, &REMOTE_PARTITION_DELETE_METADATA_RECORD),
    record(3, "REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD", None, &REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD),
];

static REMOTE_LOG_SEGMENT_METADATA_RECORD: Message = message("RemoteLogSegmentMetadataRecord", 0, 0, 0).of(&[
    field(
        "remoteLogSegmentId",
        group(&[field("topicIdPartition", group(&[field("name", Text), field("id", Uuid), field("partition", Int32)])), field("id", Uuid)]),
    ),
    field("startOffset", Int64),
    field("endOffset", Int64),
    field("brokerId", Int32),
    field("maxTimestampMs", Int64),
    field("eventTimestampMs", Int64),
    field("segmentLeaderEpochs", array(&group(&[field("leaderEpoch", Int32), field("offset", Int64)]))),
    field("segmentSizeInBytes", Int32),
    field("customMetadata", Bytes).nullable(0, 32767),
    field("remoteLogSegmentState", Int8),
    field("txnIndexEmpty", Bool).tagged(0, 0, 32767),
]);

static REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD: Message = message("RemoteLogSegmentMetadataUpdateRecord", 0, 0, 0).of(&[
    field(
        "remoteLogSegmentId",
        group(&[field("topicIdPartition", group(&[field("name", Text), field("id", Uuid), field("partition", Int32)])), field("id", Uuid)]),
    ),
    field("brokerId", Int32),
    field("eventTimestampMs", Int64),
    field("customMetadata", Bytes).nullable(0, 32767),
    field("remoteLogSegmentState", Int8),
]);

static REMOTE_PARTITION_DELETE_METADATA_RECORD: Message = message("RemotePartitionDeleteMetadataRecord", 0, 0, 0).of(&[
    field("topicIdPartition", group(&[field("name", Text), field("id", Uuid), field("partition", Int32)])),
    field("brokerId", Int32),
    field("eventTimestampMs", Int64),
    field("remotePartitionDeleteState", Int8),
]);

static REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD: Message = message("RemoteLogSegmentMetadataSnapshotRecord", 0, 0, 0).of(&[
    field("segmentId", Uuid),
    field("startOffset", Int64),
    field("endOffset", Int64),
    field("brokerId", Int32),
    field("maxTimestampMs", Int64),
    field("eventTimestampMs", Int64),
    field("segmentLeaderEpochs", array(&group(&[field("leaderEpoch", Int32), field("offset", Int64)]))),
    field("segmentSizeInBytes", Int32),
    field("customMetadata", Bytes).nullable(0, 32767),
    field("remoteLogSegmentState", Int8),
    field("txnIndexEmpty", Bool).tagged(0, 0, 32767),
]);
