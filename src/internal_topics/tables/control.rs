//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    Record { id: 0, name: "ABORT", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &END_TXN_MARKER },
    Record { id: 1, name: "COMMIT", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &END_TXN_MARKER },
    Record { id: 2, name: "LEADER_CHANGE", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &LEADER_CHANGE_MESSAGE },
    Record { id: 3, name: "SNAPSHOT_HEADER", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &SNAPSHOT_HEADER_RECORD },
    Record { id: 4, name: "SNAPSHOT_FOOTER", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &SNAPSHOT_FOOTER_RECORD },
    Record { id: 5, name: "KRAFT_VERSION", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &KRAFT_VERSION_RECORD },
    Record { id: 6, name: "KRAFT_VOTERS", key: Some(&CONTROL_RECORD_TYPE_SCHEMA), value: &VOTERS_RECORD },
];

static CONTROL_RECORD_TYPE_SCHEMA: Message = message("ControlRecordTypeSchema", 0, 0, 32767, &[field("type", Int16)]);

static END_TXN_MARKER: Message = message("EndTxnMarker", 0, 0, 32767, &[field("coordinatorEpoch", Int32)]);

static LEADER_CHANGE_MESSAGE: Message = message(
    "LeaderChangeMessage",
    0,
    1,
    0,
    &[
        field("version", Int16),
        field("leaderId", Int32),
        field("voters", array(&group(&[field("voterId", Int32), field("voterDirectoryId", Uuid).since(1, 32767)]))),
        field("grantingVoters", array(&group(&[field("voterId", Int32), field("voterDirectoryId", Uuid).since(1, 32767)]))),
    ],
);

static SNAPSHOT_HEADER_RECORD: Message =
    message("SnapshotHeaderRecord", 0, 0, 0, &[field("version", Int16), field("lastContainedLogTimestamp", Int64)]);

static SNAPSHOT_FOOTER_RECORD: Message = message("SnapshotFooterRecord", 0, 0, 0, &[field("version", Int16)]);

static KRAFT_VERSION_RECORD: Message = message("KRaftVersionRecord", 0, 0, 0, &[field("version", Int16), field("kRaftVersion", Int16)]);

static VOTERS_RECORD: Message = message(
    "VotersRecord",
    0,
    0,
    0,
    &[
        field("version", Int16),
        field(
            "voters",
            array(&group(&[
                field("voterId", Int32),
                field("voterDirectoryId", Uuid),
                field("endpoints", array(&group(&[field("name", Text), field("host", Text), field("port", Uint16)]))),
                field("kRaftVersionFeature", group(&[field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)])),
            ])),
        ),
    ],
);
