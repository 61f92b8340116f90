//! Any bytes give a tree, and its leaves cover them.

use bytes::Bytes;
use logsegment::decode::DecodeOptions;
use logsegment::framing::Source;
use logsegment::inspect::{Inspection, Node, Shown, inspect, skip, take};
use logsegment::model::{Formats, RecordFormat};
use logsegment::validate::Depth;
use proptest::prelude::*;

use crate::batches::sample;

fn shown(bytes: &[u8], at: u64, formats: Formats) -> Option<Inspection> {
    let options = DecodeOptions { formats, ..DecodeOptions::default() };
    let mut source = Source::memory(Bytes::copy_from_slice(bytes));
    skip(&mut source, at).ok()?;
    let stretch = take(&mut source, &options).ok()?;
    Some(inspect(&stretch, &options, &Shown { depth: Depth::Full, records: 5 }))
}

/// Where the leaves of each area end that begin at its start and follow each other without a hole.
fn ensure_tiled(inspection: &Inspection) {
    let (input, unpacked): (Vec<&Node>, Vec<&Node>) = inspection.root.children.iter().partition(|node| node.area == 0);
    let mut at = inspection.root.start;
    for leaf in input.into_iter().flat_map(Node::leaves) {
        assert_eq!(leaf.start, at, "{}", leaf.name);
        at += leaf.len;
    }
    assert_eq!(at, inspection.root.start + inspection.root.len);
    for part in unpacked {
        assert_eq!(part.leaves().iter().map(|leaf| leaf.len).sum::<u64>(), part.len);
        assert_eq!(part.len, inspection.areas[part.area].bytes.len() as u64);
    }
}

#[test]
fn an_intact_batch_has_no_marks() {
    let inspection = shown(&sample(7, 9), 0, Formats::Auto).unwrap();
    ensure_tiled(&inspection);
    assert!(inspection.root.leaves().iter().all(|leaf| leaf.marks.is_empty()));
    assert_eq!(inspection.root.child("magic").unwrap().note, "record batch, format v2");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_give_a_tree(bytes in proptest::collection::vec(any::<u8>(), 1..200), is_old: bool) {
        let formats = if is_old { Formats::Only(RecordFormat::V07) } else { Formats::Auto };
        ensure_tiled(&shown(&bytes, 0, formats).unwrap());
    }

    #[test]
    fn so_do_damaged_and_cut_batches(damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5), cut: prop::sample::Index, at: prop::sample::Index) {
        let mut bytes = sample(7, 9);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(1 + cut.index(bytes.len()));
        for at in [0, at.index(bytes.len())] {
            ensure_tiled(&shown(&bytes, at as u64, Formats::Auto).unwrap());
        }
    }
}
