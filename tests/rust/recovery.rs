//! Searching behind damage costs no more than the input is worth, finds what is there, and can be stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use logsegment::decode::{ChecksumVerifier, DecodeOptions, Decoder, OffsetRange, UploadCheck};
use logsegment::error::{Error, ErrorKind};
use logsegment::framing::{Claim, Frame, FrameEvent, Runs, Source, Verifier};
use logsegment::interrupt::Interrupt;
use logsegment::limits::Limits;
use logsegment::model::UploadOffsets;
use logsegment::validate::{Depth, Validator};
use logsegment::wire::checksum::crc32;

use crate::batches::{batch, record, sample};

/// Counts what it is asked.
struct Counting {
    verifier: ChecksumVerifier,
    checksummed: Arc<AtomicU64>,
    claims: Arc<AtomicU64>,
}

impl Verifier for Counting {
    fn damage_of(&self, entry: &[u8], magic: i8) -> Option<Error> {
        self.checksummed.fetch_add(entry.len() as u64, Ordering::Relaxed);
        self.verifier.damage_of(entry, magic)
    }
    fn is_valid(&self, entry: &[u8]) -> bool {
        self.checksummed.fetch_add(entry.len() as u64, Ordering::Relaxed);
        self.verifier.is_valid(entry)
    }
    fn claim(&self, front: &[u8]) -> Claim {
        self.claims.fetch_add(1, Ordering::Relaxed);
        self.verifier.claim(front)
    }
    fn reads(&self, magic: i8) -> bool {
        self.verifier.reads(magic)
    }
    fn next(&self, bytes: &[u8]) -> Option<usize> {
        self.verifier.next(bytes)
    }
    fn reach(&self) -> usize {
        self.verifier.reach()
    }
}

fn verifier() -> ChecksumVerifier {
    ChecksumVerifier::of(&DecodeOptions::default())
}

struct Cost {
    entries: Vec<u64>,
    unsearched: usize,
    checksummed: u64,
    claims: u64,
}

fn cost_of(bytes: &[u8]) -> Cost {
    // Salvage also wants what is broken.
    let salvaging = cost_in(bytes, Runs::giving_broken);
    assert!(salvaging.checksummed <= 8 * bytes.len() as u64, "{} bytes checksummed of {}", salvaging.checksummed, bytes.len());
    cost_in(bytes, |runs| runs)
}

fn cost_in(bytes: &[u8], kind: impl Fn(Runs) -> Runs) -> Cost {
    let (checksummed, claims) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let verifier = Counting { verifier: verifier(), checksummed: Arc::clone(&checksummed), claims: Arc::clone(&claims) };
    let source = Source::memory(Bytes::copy_from_slice(bytes));
    let mut runs = kind(Runs::new(source, Limits::default(), 1).with_recovery(Box::new(verifier)));
    let (mut entries, mut unsearched) = (Vec::new(), 0);
    while let Some(piece) = runs.next_piece().unwrap() {
        match piece {
            FrameEvent::Run(run) => entries.push(run.position),
            FrameEvent::Unsearched(_) => unsearched += 1,
            _ => {}
        }
    }
    Cost { entries, unsearched, checksummed: checksummed.load(Ordering::Relaxed), claims: claims.load(Ordering::Relaxed) }
}

/// The header of a batch whose checksum is wrong and whose length says that it ends at `end`.
fn broken_header(at: usize, end: usize) -> Vec<u8> {
    let mut header = batch(0, 1, 0, &[])[..61].to_vec();
    header[8..12].copy_from_slice(&i32::try_from(end - at - 12).unwrap().to_be_bytes());
    header[17] ^= 1;
    header
}

fn assert_bounded(cost: &Cost, len: usize) {
    assert!(cost.checksummed <= 8 * len as u64, "{} bytes checksummed of {len}", cost.checksummed);
    assert!(cost.claims <= 2 * len as u64, "{} claims in {len} bytes", cost.claims);
}

#[test]
fn broken_batches_that_all_claim_the_rest_cost_a_multiple_of_the_input() {
    const END: usize = 2 << 20;
    let intact = sample(0, 1);
    let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
    while bytes.len() < END - 1000 {
        bytes.extend(broken_header(bytes.len(), END));
        wanted.push(bytes.len() as u64);
        bytes.extend(&intact);
    }
    bytes.resize(END, 0xff);
    bytes.extend(&intact);
    wanted.push(END as u64);
    // The first claim fits what follows it, so that one is believed; a byte less and none is.
    assert_eq!(cost_of(&bytes).entries, [END as u64]);
    bytes.remove(END - 1);
    *wanted.last_mut().unwrap() -= 1;
    let cost = cost_of(&bytes);
    assert_bounded(&cost, bytes.len());
    assert_eq!((cost.entries, cost.unsearched), (wanted, 1));
}

#[test]
fn candidates_inside_of_each_other_cost_a_multiple_of_the_input() {
    const END: usize = 4 << 20;
    let mut bytes = vec![0xff];
    while bytes.len() < END - 100 {
        let at = bytes.len();
        bytes.extend(broken_header(at, END));
    }
    bytes.resize(END, 0xff);
    bytes.extend(sample(0, 3));
    let cost = cost_of(&bytes);
    assert_bounded(&cost, bytes.len());
    assert_eq!((cost.entries, cost.unsearched), (vec![END as u64], 1));
}

#[test]
fn a_search_that_finds_nothing_looks_at_each_byte_once() {
    let bytes = vec![2; 1 << 20];
    let cost = cost_of(&bytes);
    assert_bounded(&cost, bytes.len());
    assert_eq!((cost.entries, cost.unsearched), (vec![], 0));
}

#[test]
fn a_search_can_be_stopped() {
    for filling in [0xff, 2] {
        let asked = Arc::new(AtomicU64::new(0));
        let asks = Arc::clone(&asked);
        let interrupt = Interrupt::new(move || asks.fetch_add(1, Ordering::Relaxed) == 1);
        let source = Source::memory(Bytes::from(vec![filling; 24 << 20]));
        let mut runs = Runs::new(source, Limits::default(), 1).with_recovery(Box::new(verifier())).with_interrupt(interrupt);
        let error = runs.next_piece().unwrap_err();
        assert_eq!((error.kind(), asked.load(Ordering::Relaxed)), (&ErrorKind::Interrupted, 2));
    }
}

#[test]
fn every_intact_batch_in_a_claim_that_is_cut_through_is_given() {
    let [first, second, third] = [sample(0, 4), sample(4, 5), sample(9, 2)];
    let end = 61 + first.len() + second.len() / 2;
    let bytes = [broken_header(0, end), first.clone(), second.clone(), third].concat();
    let starts = [61, 61 + first.len(), 61 + first.len() + second.len()].map(|at| at as u64);
    assert_eq!(cost_of(&bytes).entries, starts);
}

/// The rules of what is wrong with an upload of these offsets, with the bytes that each takes, and the positions of what is read.
fn refused(bytes: &[u8], start: i64, last: i64) -> (Vec<(&'static str, u64, u64)>, Vec<u64>) {
    let decode = DecodeOptions { upload: Some(UploadOffsets { start, end: Some(last) }), ..DecodeOptions::default() };
    let source = Source::memory(Bytes::copy_from_slice(bytes));
    let runs = Runs::new(source, Limits::default(), 1).with_recovery(Box::new(verifier()));
    let mut runs = runs.with_source_check(UploadCheck::of(&decode));
    let (mut refused, mut read) = (Vec::new(), Vec::new());
    while let Some(piece) = runs.next_piece().unwrap() {
        match piece {
            FrameEvent::Damage(damage) => refused.push((damage.error.rule(), damage.bytes.start, damage.bytes.end)),
            FrameEvent::Run(run) => read.push(run.position),
            _ => panic!("{piece:?}"),
        }
    }
    (refused, read)
}

#[test]
fn an_intact_batch_outside_of_its_upload_is_left_out_alone() {
    let (first, last) = (sample(10, 4), sample(16, 3));
    let mut broken = sample(14, 2);
    broken[17] ^= 1;
    let stored = batch(900, 1, 0, &record(0, None, Some(&sample(14, 1)), &[]));
    for outside in [sample(900, 2), sample(12, 1), stored] {
        let parts = [first.clone(), outside, broken.clone(), last.clone()];
        let starts: Vec<u64> = (0..=4).map(|count| parts[..count].concat().len() as u64).collect();
        let (found, read) = refused(&parts.concat(), 10, 100);
        let rule = if parts[1][..8] == 12_i64.to_be_bytes() { "ORD-1" } else { "TS-23" };
        assert_eq!(found, [(rule, starts[1], starts[2]), ("V2-31", starts[2], starts[3])]);
        assert_eq!(read, [starts[0], starts[3]]);
    }
}

/// A plain message of magic 1 without a key and a value.
fn message(offset: i64) -> Vec<u8> {
    let tail = [&[1, 0][..], &1_600_000_000_000_i64.to_be_bytes(), &[0xff; 8]].concat();
    let size = i32::try_from(tail.len() + 4).unwrap();
    [&offset.to_be_bytes()[..], &size.to_be_bytes(), &crc32(&tail).to_be_bytes(), &tail].concat()
}

#[test]
fn seg_1_a_plain_message_of_offset_0_is_outside_of_a_later_segment() {
    let bytes = [message(0), message(1)].concat();
    let segment = OffsetRange { start: 40, end: None };
    let decode = DecodeOptions { segment, ..DecodeOptions::default() };
    let mut decoder = Decoder::new(decode.clone());
    let error = decoder.open(Frame { position: 0, magic: 1, bytes: &bytes[..34] }).unwrap_err();
    assert_eq!(error.rule(), "SEG-1");
    let mut validator = Validator::new(Source::memory(bytes.into()), decode, Depth::Full, false);
    while validator.advance().unwrap() {}
    let found: Vec<_> = validator.take_findings().iter().map(|found| (found.rule(), found.position)).collect();
    assert_eq!(found, [("SEG-1", 0)]);
}
