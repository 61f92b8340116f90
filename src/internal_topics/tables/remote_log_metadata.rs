//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    Record { id: 0, name: "REMOTE_LOG_SEGMENT_METADATA_RECORD", key: None, value: &REMOTE_LOG_SEGMENT_METADATA_RECORD },
    Record { id: 1, name: "REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD", key: None, value: &REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD },
    Record { id: 2, name: "REMOTE_PARTITION_DELETE_METADATA_RECORD", key: None, value: &REMOTE_PARTITION_DELETE_METADATA_RECORD },
    Record { id: 3, name: "REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD", key: None, value: &REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD },
];

static REMOTE_LOG_SEGMENT_METADATA_RECORD: Message = message(
    "RemoteLogSegmentMetadataRecord",
    0,
    0,
    0,
    &[
        field(
            "remoteLogSegmentId",
            group(&[
                field("topicIdPartition", group(&[field("name", Text), field("id", Uuid), field("partition", Int32)])),
                field("id", Uuid),
            ]),
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
    ],
);

static REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD: Message = message(
    "RemoteLogSegmentMetadataUpdateRecord",
    0,
    0,
    0,
    &[
        field(
            "remoteLogSegmentId",
            group(&[
                field("topicIdPartition", group(&[field("name", Text), field("id", Uuid), field("partition", Int32)])),
                field("id", Uuid),
            ]),
        ),
        field("brokerId", Int32),
        field("eventTimestampMs", Int64),
        field("customMetadata", Bytes).nullable(0, 32767),
        field("remoteLogSegmentState", Int8),
    ],
);

static REMOTE_PARTITION_DELETE_METADATA_RECORD: Message = message(
    "RemotePartitionDeleteMetadataRecord",
    0,
    0,
    0,
    &[
        field("topicIdPartition", group(&[field("name", Text), field("id", Uuid), field("partition", Int32)])),
        field("brokerId", Int32),
        field("eventTimestampMs", Int64),
        field("remotePartitionDeleteState", Int8),
    ],
);

static REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD: Message = message(
    "RemoteLogSegmentMetadataSnapshotRecord",
    0,
    0,
    0,
    &[
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
    ],
);
