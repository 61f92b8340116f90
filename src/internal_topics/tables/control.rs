//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Field, Kind::*, Message, Record, array, field, group, message, record};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[
    record(0, "ABORT", Some(&CONTROL_RECORD_TYPE_SCHEMA), &END_TXN_MARKER),
    record(1, "COMMIT", Some(&CONTROL_RECORD_TYPE_SCHEMA), &END_TXN_MARKER),
    record(2, "LEADER_CHANGE", Some(&CONTROL_RECORD_TYPE_SCHEMA), &LEADER_CHANGE_MESSAGE),
    record(3, "SNAPSHOT_HEADER", Some(&CONTROL_RECORD_TYPE_SCHEMA), &SNAPSHOT_HEADER_RECORD),
    record(4, "SNAPSHOT_FOOTER", Some(&CONTROL_RECORD_TYPE_SCHEMA), &SNAPSHOT_FOOTER_RECORD),
    record(5, "KRAFT_VERSION", Some(&CONTROL_RECORD_TYPE_SCHEMA), &KRAFT_VERSION_RECORD),
    record(6, "KRAFT_VOTERS", Some(&CONTROL_RECORD_TYPE_SCHEMA), &VOTERS_RECORD),
];

static CONTROL_RECORD_TYPE_SCHEMA: Message = message("ControlRecordTypeSchema", 0, 0, 32767).of(&[field("type", Int16)]);

static END_TXN_MARKER: Message = message("EndTxnMarker", 0, 0, 32767).of(&[field("coordinatorEpoch", Int32)]);

const LEADER_CHANGE_MESSAGE_VOTER: &[Field] = &[field("voterId", Int32), field("voterDirectoryId", Uuid).since(1, 32767)];

static LEADER_CHANGE_MESSAGE: Message = message("LeaderChangeMessage", 0, 1, 0).of(&[
    field("version", Int16),
    field("leaderId", Int32),
    field("voters", array(&group(LEADER_CHANGE_MESSAGE_VOTER))),
    field("grantingVoters", array(&group(LEADER_CHANGE_MESSAGE_VOTER))),
]);

static SNAPSHOT_HEADER_RECORD: Message =
    message("SnapshotHeaderRecord", 0, 0, 0).of(&[field("version", Int16), field("lastContainedLogTimestamp", Int64)]);

static SNAPSHOT_FOOTER_RECORD: Message = message("SnapshotFooterRecord", 0, 0, 0).of(&[field("version", Int16)]);

static KRAFT_VERSION_RECORD: Message = message("KRaftVersionRecord", 0, 0, 0).of(&[field("version", Int16), field("kRaftVersion", Int16)]);

static VOTERS_RECORD: Message = message("VotersRecord", 0, 0, 0).of(&[
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
]);
