//! The files beside a log: any bytes parse to entries and faults, and what is written parses back without one.

use logsegment::sidecar::{
    AbortedTxn, EpochEntry, OffsetEntry, ProducerEntry, SidecarProblem, TimeEntry, checkpoint, offset_index, producer_snapshot, time_index,
    txn_index,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_give_entries_and_faults(bytes in prop::collection::vec(any::<u8>(), 0..600), base in any::<i64>()) {
        offset_index::parse(&bytes, base);
        time_index::parse(&bytes, base);
        txn_index::parse(&bytes);
        for len in [offset_index::len_before(&bytes, base, base), time_index::len_before(&bytes, base, base), txn_index::len_before(&bytes, base)] {
            prop_assert!(len <= bytes.len());
        }
        producer_snapshot::parse(&bytes, base);
        checkpoint::parse_epochs(&bytes);
        checkpoint::parse_offsets(&bytes);
        checkpoint::parse_topic_id(&bytes);
    }

    /// SEG-8: a flipped bit anywhere in a snapshot is seen.
    #[test]
    fn seg_8_no_flipped_bit_of_a_snapshot_goes_unseen(at in 0_usize..(10 + 46), bit in 0_u8..8) {
        let mut bytes = producer_snapshot::to_bytes(&[PRODUCER]);
        bytes[at] ^= 1 << bit;
        prop_assert!(!producer_snapshot::parse(&bytes, 100).is_valid());
    }
}

#[test]
fn entries_before_an_offset() {
    let entry = |offset| OffsetEntry { offset, position: 100 };
    let bytes = offset_index::to_bytes(&[entry(12), entry(20)], 10);
    assert_eq!([12, 13, 21].map(|before| offset_index::len_before(&bytes, 10, before)), [0, 8, 16]);
    let time = |offset| TimeEntry { timestamp: offset, offset };
    let bytes = time_index::to_bytes(&[time(12), time(20)], 10);
    assert_eq!([12, 13, 21].map(|before| time_index::len_before(&bytes, 10, before)), [0, 12, 24]);
    let txn = |last_offset| AbortedTxn { producer_id: 1, first_offset: 0, last_offset, last_stable_offset: 0 };
    let bytes = txn_index::to_bytes(&[txn(12), txn(20)]);
    assert_eq!([12, 13, 21].map(|before| txn_index::len_before(&bytes, before)), [0, 34, 68]);
}

const PRODUCER: ProducerEntry = ProducerEntry {
    producer_id: 7,
    producer_epoch: 1,
    last_sequence: 4,
    last_offset: 99,
    offset_delta: 2,
    timestamp: 1_700_000_000_000,
    coordinator_epoch: 3,
    current_txn_first_offset: 97,
};

#[test]
fn what_is_written_parses_back() {
    let base = 1 << 40;
    let offsets = [OffsetEntry { offset: base + 3, position: 4200 }, OffsetEntry { offset: base + 9, position: 9000 }];
    assert_eq!(offset_index::parse(&offset_index::to_bytes(&offsets, base), base).entries, offsets);
    let times = [TimeEntry { timestamp: 5, offset: base }, TimeEntry { timestamp: 6, offset: base + 1 }];
    assert_eq!(time_index::parse(&time_index::to_bytes(&times, base), base).entries, times);
    let aborted = [AbortedTxn { producer_id: 1, first_offset: 2, last_offset: 5, last_stable_offset: 6 }];
    assert_eq!(txn_index::parse(&txn_index::to_bytes(&aborted)).entries, aborted);
    assert_eq!(producer_snapshot::parse(&producer_snapshot::to_bytes(&[PRODUCER]), 100).entries, [PRODUCER]);
    let epochs = [EpochEntry { epoch: 0, start_offset: 0 }, EpochEntry { epoch: 2, start_offset: 85 }];
    assert_eq!(checkpoint::epochs_to_bytes(&epochs), b"0\n2\n0 0\n2 85\n");
    assert!(checkpoint::parse_epochs(b"0\n2\n0 0\n2 85\n").is_valid());
    assert_eq!(checkpoint::parse_topic_id(b"version: 0\ntopic_id: gokUQvY3S7aCPPl2pxygEA").entries, ["gokUQvY3S7aCPPl2pxygEA"]);
}

/// SEG-5: the tail of an active segment's index, and an index that nothing was written to yet.
#[test]
fn seg_5_a_zero_tail_holds_no_entries() {
    let mut bytes = offset_index::to_bytes(&[OffsetEntry { offset: 3, position: 4200 }], 0);
    bytes.resize(4096, 0);
    let parsed = offset_index::parse(&bytes, 0);
    assert_eq!((parsed.entries.len(), parsed.is_valid()), (1, true));
    assert_eq!(parsed.findings[0].problem, SidecarProblem::ZeroTail { bytes: 4088 });
    assert_eq!(time_index::parse(&[0; 1200], 0).entries, []);
    assert_eq!(offset_index::parse(&[0; 8], 0).entries, [OffsetEntry { offset: 0, position: 0 }]);
}

#[test]
fn faults_name_their_rule_and_their_place() {
    let told = |parsed: &[logsegment::sidecar::SidecarFinding]| {
        parsed.iter().map(|finding| (finding.problem.rule(), finding.position)).collect::<Vec<_>>()
    };
    let falling = offset_index::to_bytes(&[OffsetEntry { offset: 9, position: 10 }, OffsetEntry { offset: 8, position: 20 }], 0);
    assert_eq!(told(&offset_index::parse(&falling, 0).findings), [("SEG-3", 8)]);
    assert_eq!(told(&offset_index::parse(&falling[..13], 0).findings), [("SEG-5", 8)]);
    let falling = time_index::to_bytes(&[TimeEntry { timestamp: 9, offset: 1 }, TimeEntry { timestamp: 9, offset: 2 }], 0);
    assert_eq!(told(&time_index::parse(&falling, 0).findings), [("SEG-4", 12)]);
    let mut unknown = txn_index::to_bytes(&[AbortedTxn { producer_id: 1, first_offset: 2, last_offset: 5, last_stable_offset: 6 }]);
    unknown[1] = 1;
    assert_eq!(told(&txn_index::parse(&unknown).findings), [("SEG-7", 0)]);
    assert_eq!(told(&checkpoint::parse_epochs(b"0\n1\n0 0\nx 1\n").findings), [("SEG-9", 8)]);
    assert_eq!(told(&checkpoint::parse_epochs(b"0\n2\n3 9\n2 9\n").findings), [("SEG-9", 8)]);
    assert_eq!(told(&checkpoint::parse_topic_id(b"version: 1\n").findings), [("SEG-10", 0), ("SEG-10", 0)]);
}
