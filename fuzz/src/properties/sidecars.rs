//! The files beside a log: any bytes give entries and faults, and what is sound is written the same again.

use logsegment::sidecar::{ParsedSidecar, SidecarFinding, checkpoint, offset_index, producer_snapshot, time_index, txn_index};

/// The offset in the name of the files.
const BASE: i64 = 1000;

/// Any bytes, as each of the files.
pub fn check(bytes: &[u8]) {
    round(bytes, |bytes| offset_index::parse(bytes, BASE), |entries| offset_index::to_bytes(entries, BASE));
    round(bytes, |bytes| time_index::parse(bytes, BASE), |entries| time_index::to_bytes(entries, BASE));
    round(bytes, txn_index::parse, txn_index::to_bytes);
    // A snapshot is sealed as it is read: the checksum would end everything else.
    round(bytes, |bytes| producer_snapshot::parse(bytes, BASE), producer_snapshot::to_bytes);
    round(&sealed_snapshot(bytes), |bytes| producer_snapshot::parse(bytes, BASE), producer_snapshot::to_bytes);
    round(bytes, checkpoint::parse_epochs, checkpoint::epochs_to_bytes);
    round(bytes, checkpoint::parse_offsets, checkpoint::offsets_to_bytes);
    let ids = checkpoint::parse_topic_id(bytes);
    ensure_inside(&ids.findings, bytes);
}

fn round<T: Clone + std::fmt::Debug + PartialEq>(bytes: &[u8], parse: impl Fn(&[u8]) -> ParsedSidecar<T>, write: impl Fn(&[T]) -> Vec<u8>) {
    let parsed = parse(bytes);
    ensure_inside(&parsed.findings, bytes);
    if parsed.is_valid() {
        let again = parse(&write(&parsed.entries));
        assert!(again.is_valid(), "{:?} of {:?}", again.findings, parsed.entries);
        assert_eq!(again.entries, parsed.entries);
    }
}

fn ensure_inside(findings: &[SidecarFinding], bytes: &[u8]) {
    for finding in findings {
        let end = finding.position.checked_add(finding.length).expect("a place in the file");
        assert!(end <= bytes.len() as u64, "{finding:?} lies behind the file");
    }
}

/// A version, the checksum of the rest, the rest.
fn sealed_snapshot(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = bytes.to_vec();
    if let (Some(rest), true) = (bytes.get(6..), bytes.len() > 6) {
        sealed[2..6].copy_from_slice(&logsegment::wire::checksum::crc32c(rest).to_be_bytes());
    }
    sealed
}
