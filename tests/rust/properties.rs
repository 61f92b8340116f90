//! Whatever the bytes: no panic, `validate` and the walk agree, and records that a checksum covers do not change unnoticed.

use bytes::Bytes;
use logsegment::decode::{DecodeOptions, Decoder};
use logsegment::format::v2::parse;
use logsegment::framing::{Frame, FrameEvent, Runs, Source, Step, step};
use logsegment::limits::Limits;
use logsegment::model::{Formats, HeaderRef, RecordRef, RecordSink, Section};
use logsegment::validate::{Depth, Severity, Validator};
use proptest::prelude::*;

use crate::batches::sample;

/// Everything that a checksum covers in a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen(pub i64, pub i64, pub Option<Vec<u8>>, pub Option<Vec<u8>>, pub Vec<OwnHeader>);

pub type OwnHeader = (Vec<u8>, Option<Vec<u8>>);

struct Collect<'a> {
    section: Section<'a>,
    headers: Vec<OwnHeader>,
    seen: Vec<Seen>,
}

impl RecordSink for Collect<'_> {
    fn header(&mut self, header: HeaderRef) {
        let (start, len) = header.key();
        let value = header.value().map(|(start, len)| self.section.run(start, len).to_vec());
        self.headers.push((self.section.run(start, len).to_vec(), value));
    }

    fn record(&mut self, record: RecordRef) {
        let run = |range: Option<(usize, usize)>| range.map(|(start, len)| self.section.run(start, len).to_vec());
        let (key, value) = (run(record.key()), run(record.value()));
        self.seen.push(Seen(record.offset_delta, record.timestamp_delta, key, value, std::mem::take(&mut self.headers)));
    }
}

/// The records of all entries up to the first error, and whether there was one.
fn read(bytes: &[u8]) -> (Vec<Seen>, bool) {
    let (entries, failed) = entries(bytes, Formats::Auto);
    (entries.into_iter().flat_map(|(_, _, records)| records).collect(), failed)
}

/// Base offset, base timestamp and records of each entry up to the first error, and whether there was one.
pub fn entries(bytes: &[u8], formats: Formats) -> (Vec<(i64, i64, Vec<Seen>)>, bool) {
    let mut runs = Runs::new(Source::memory(Bytes::copy_from_slice(bytes)), Limits::default(), 1).of(formats);
    let mut decoder = Decoder::new(DecodeOptions { formats, is_control_wanted: true, ..DecodeOptions::default() });
    let mut all = Vec::new();
    loop {
        let run = match runs.next_piece() {
            Ok(Some(FrameEvent::Run(run))) => run,
            Ok(_) => return (all, false),
            Err(_) => return (all, true),
        };
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &Limits::default()) {
            let (entry, behind) = (&run.bytes[at..at + len], &run.bytes[at..]);
            at += len;
            match decoder.open(Frame { position: run.position, magic, bytes: entry }) {
                Ok(None) => {}
                Err(_) => return (all, true),
                Ok(Some(mut opened)) => {
                    let section = decoder.section(&opened, entry, behind);
                    let mut collect = Collect { section, headers: Vec::new(), seen: Vec::new() };
                    let walked = opened.walk.advance(&section, usize::MAX, &mut collect).and_then(|()| opened.walk.finish(&section));
                    if walked.is_err() {
                        return (all, true);
                    }
                    all.push((opened.header.base_offset, opened.header.base_timestamp, collect.seen));
                }
            }
        }
    }
}

fn has_error_finding(bytes: &[u8]) -> bool {
    let source = Source::memory(Bytes::copy_from_slice(bytes));
    let mut validator = Validator::new(source, DecodeOptions::default(), Depth::Full, false);
    while validator.advance().unwrap() {}
    validator.take_findings().iter().any(|finding| finding.severity == Severity::Error)
}

fn segment() -> Vec<u8> {
    [sample(0, 7), sample(7, 30), sample(37, 1)].concat()
}

proptest! {
    #[test]
    fn property_any_bytes_give_records_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (_, failed) = read(&bytes);
        prop_assert_eq!(failed, has_error_finding(&bytes));
    }

    #[test]
    fn property_a_flip_cut_or_insertion_never_changes_a_covered_byte(
        at in 0_usize..10_000, kind in 0..3, value in any::<u8>(),
    ) {
        let clean = segment();
        let at = at % clean.len();
        let mut bytes = clean.clone();
        match kind {
            0 => bytes[at] ^= value.max(1),
            1 => bytes.truncate(at),
            _ => bytes.insert(at, value),
        }
        let (records, failed) = read(&bytes);
        prop_assert_eq!(failed, has_error_finding(&bytes));
        let (original, _) = read(&clean);
        prop_assert!(original.starts_with(&records) || records.iter().all(|record| original.contains(record)));
    }

    #[test]
    fn property_records_with_a_right_checksum_parse_or_fail_but_never_panic(
        records in proptest::collection::vec(any::<u8>(), 0..120), count in -2..40_i32,
    ) {
        let mut bytes = crate::batches::batch(5, count.max(1), 0, &records);
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        let crc = logsegment::wire::checksum::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        prop_assert!(parse::verify(&bytes, crc).is_ok());
        let (_, failed) = read(&bytes);
        prop_assert_eq!(failed, has_error_finding(&bytes));
    }
}

#[test]
fn both_readers_of_a_record_agree_whatever_lies_behind_it() {
    // With bytes behind, the quick reader serves all records; without, the last ones go to the careful one.
    let alone = sample(0, 50);
    let followed = [sample(0, 50), sample(50, 1)].concat();
    let (records, failed) = read(&alone);
    assert!(!failed && records.len() == 50);
    assert_eq!(read(&followed).0[..50], records[..]);
}
