//! Any bytes give a tree, and its leaves cover them.

use bytes::Bytes;
use logsegment::decode::DecodeOptions;
use logsegment::framing::Source;
use logsegment::inspect::{InspectOptions, Inspection, inspect, skip, take};
use logsegment::model::{Formats, RecordFormat};
use logsegment::validate::Depth;
use proptest::prelude::*;

use crate::batches::sample;
use crate::tiles::ensure_tiled;

fn shown(bytes: &[u8], at: u64, formats: Formats) -> Option<Inspection> {
    let options = DecodeOptions { formats, ..DecodeOptions::default() };
    let mut source = Source::memory(Bytes::copy_from_slice(bytes));
    skip(&mut source, at).ok()?;
    let stretch = take(&mut source, &options).ok()?;
    inspect(&stretch, &options, &InspectOptions { depth: Depth::Full, records: 5 }).ok()
}

#[test]
fn an_intact_batch_has_no_marks() {
    let inspection = shown(&sample(7, 9), 0, Formats::Auto).unwrap();
    ensure_tiled(&inspection);
    assert!(inspection.root.leaves().iter().all(|leaf| leaf.marks.is_empty()));
    assert_eq!(inspection.root.child("magic").unwrap().note, "record batch, format v2");
}

/// S-V34: base offset 5, two records, the second 16 s after the first.
const V3: &[u8] = b"\0\0\0\0\0\0\0\x05\0\0\0\x3e\xff\xff\xff\xff\x03\x61\xd6\x2b\xfa\0\x80\xff\xff\xff\xff\xff\
      \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x80\xf4\xf6\x90\x5d\x80\x7d\0\0\0\x02\x1e\0\0\x02\
      \x6b\x0a\x68\x65\x6c\x6c\x6f\x02\x02\x68\x02\x76\x0e\x80\xfa\x01\x02\x01\x01\0";

#[test]
fn s_v34_magic_3_has_its_own_header_and_records_without_attributes() {
    let inspection = shown(V3, 0, Formats::Only(RecordFormat::V3)).unwrap();
    ensure_tiled(&inspection);
    let root = &inspection.root;
    let marked: Vec<_> = root.leaves().into_iter().filter(|leaf| !leaf.marks.is_empty()).collect();
    assert_eq!(marked.iter().map(|leaf| leaf.name.as_ref()).collect::<Vec<&str>>(), ["magic"], "{root:?}");
    assert_eq!(marked[0].marks[0].rule.to_string(), "EXPERIMENTAL");
    assert_eq!(root.child("maxTimestampDelta").unwrap().note, "largest timestamp 2020-09-13T12:26:56.000Z");
    assert_eq!(root.child("lastOffsetDelta").unwrap().note, "last offset 6");
    let record = root.child("records").unwrap().child("record[1]").unwrap();
    assert!(record.child("attributes").is_none());
    assert_eq!(record.child("offsetDelta").unwrap().note, "offset 6");
    assert_eq!(record.child("timestampDelta").unwrap().note, "2020-09-13T12:26:56.000Z");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_give_a_tree(bytes in proptest::collection::vec(any::<u8>(), 1..200), is_old: bool) {
        let formats = if is_old { Formats::Only(RecordFormat::V07) } else { Formats::Auto };
        ensure_tiled(&shown(&bytes, 0, formats).unwrap());
    }

    #[test]
    fn so_do_batches_of_magic_3(damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), is_metadata_first: bool) {
        let mut bytes = V3.to_vec();
        bytes[21] |= u8::from(is_metadata_first) << 4;
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        ensure_tiled(&shown(&bytes, 0, Formats::Only(RecordFormat::V3)).unwrap());
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
