//! Entries out of a source: any cut of the reads gives the same, tails are told, damage is stepped over.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use logsegment::decode::{ChecksumVerifier, Checksums, DecodeOptions};
use logsegment::error::ErrorKind;
use logsegment::framing::{FrameEvent, LostRanges, Runs, Source, Tail};
use logsegment::limits::Limits;

use crate::batches::sample;

/// Gives a few bytes at a time.
struct Dribble {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
}

impl Read for Dribble {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let len = self.step.min(to.len()).min(self.bytes.len() - self.at);
        to[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

/// Gives all of its bytes, and then fails.
struct Failing(Dribble);

impl Read for Failing {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(to)? {
            0 if !to.is_empty() => Err(std::io::Error::other("the cable is out")),
            len => Ok(len),
        }
    }
}

type Entries = Vec<(u64, Vec<u8>)>;

fn collect(mut runs: Runs) -> (Entries, usize, Option<Tail>) {
    let (mut entries, mut damage) = (Vec::new(), 0);
    while let Some(piece) = runs.next_piece().unwrap() {
        match piece {
            FrameEvent::Run(run) => entries.push((run.position, run.entries_from(0).to_vec())),
            _ => damage += 1,
        }
    }
    (entries, damage, runs.tail())
}

fn joined(entries: &[(u64, Vec<u8>)]) -> Vec<u8> {
    entries.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
}

fn three() -> Vec<u8> {
    [sample(0, 9), sample(9, 40), sample(49, 3)].concat()
}

#[test]
fn any_chunking_of_the_reads_gives_the_same_entries() {
    let bytes = three();
    for step in [1, 7, 61, 300, 100_000] {
        for target in [1, 100, 1 << 20] {
            let reader = Dribble { bytes: bytes.clone(), at: 0, step };
            let (entries, damage, tail) = collect(Runs::new(Source::reader(Box::new(reader), 5), Limits::default(), target));
            assert_eq!((joined(&entries), damage, tail), (bytes.clone(), 0, Some(Tail::Complete)), "step {step} target {target}");
            assert_eq!(entries[0].0, 5);
        }
    }
}

#[test]
fn what_came_before_a_read_failed_is_given_before_the_error() {
    let (whole, torn) = (three(), sample(52, 4));
    for step in [1, 61, 100_000] {
        let bytes = [&whole[..], &torn[..30]].concat();
        let mut runs = Runs::new(Source::reader(Box::new(Failing(Dribble { bytes, at: 0, step })), 0), Limits::default(), 1 << 20);
        let mut given = Vec::new();
        let error = loop {
            match runs.next_piece() {
                Ok(Some(FrameEvent::Run(run))) => given.extend_from_slice(run.entries_from(0)),
                Ok(piece) => panic!("step {step}: {piece:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(given, whole, "step {step}");
        assert!(matches!(error.kind(), ErrorKind::Io { message, .. } if message == "the cable is out"), "{error}");
    }
}

#[test]
fn an_entry_with_lost_bytes_is_not_believed_whatever_is_compared() {
    let (first, middle, last) = (sample(0, 9), sample(9, 40), sample(49, 3));
    let bytes = [&first[..], &middle, &last].concat();
    let (start, end) = (first.len() as u64, (first.len() + middle.len()) as u64);
    for lost in [start..start + 1, end - 1..end, start + 70..start + 80] {
        let losses = Arc::new(LostRanges::default());
        losses.add(lost.clone());
        let verifier = ChecksumVerifier { checksums: Checksums::None, ..ChecksumVerifier::of(&DecodeOptions::default()) };
        let source = Source::reader(Box::new(Dribble { bytes: bytes.clone(), at: 0, step: 100_000 }), 0).with_lost_ranges(losses);
        let mut runs = Runs::new(source, Limits::default(), 1).with_recovery(Box::new(verifier));
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        while let Some(piece) = runs.next_piece().unwrap() {
            match piece {
                FrameEvent::Run(run) => kept.extend_from_slice(run.entries_from(0)),
                FrameEvent::Damage(damage) => left_out.push((damage.bytes, damage.error.lost_bytes().cloned())),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(kept, [&first[..], &last].concat(), "{lost:?}");
        assert_eq!(left_out, [(start..end, Some(lost))]);
    }
}

#[test]
fn l8_14_a_torn_tail_is_a_state() {
    let bytes = three();
    let cut = bytes.len() - 1;
    let (entries, _, tail) = collect(Runs::new(Source::memory(Bytes::from(bytes[..cut].to_vec())), Limits::default(), 1));
    assert_eq!(entries.len(), 2);
    let position = entries[1].0 + entries[1].1.len() as u64;
    assert_eq!(tail, Some(Tail::Torn { position, needed: bytes.len() as u64 - position, available: cut as u64 - position }));
}

#[test]
fn seg_2_zeros_to_the_end_are_a_tail_however_long() {
    for zeros in [1_usize, 11, 12, 13, 17, 4096, 3 << 20] {
        let mut bytes = three();
        let position = bytes.len() as u64;
        bytes.resize(bytes.len() + zeros, 0);
        let expected = Some(Tail::Zeros { position, bytes: zeros as u64 });
        let memory = Source::memory(Bytes::from(bytes.clone()));
        assert_eq!(collect(Runs::new(memory, Limits::default(), 1)).2, expected, "{zeros} in memory");
        let reader = Source::reader(Box::new(Dribble { bytes, at: 0, step: 1 << 16 }), 0);
        assert_eq!(collect(Runs::new(reader, Limits::default(), 1)).2, expected, "{zeros} read");
    }
}

#[test]
fn zeros_before_more_data_are_damage_and_the_data_is_found() {
    for step in [1 << 12, 1 << 20] {
        let bytes = [sample(0, 5), vec![0; 300_000], sample(5, 5)].concat();
        let verifier = ChecksumVerifier::of(&DecodeOptions::default());
        let reader = Source::reader(Box::new(Dribble { bytes, at: 0, step }), 0);
        let (entries, damage, tail) = collect(Runs::new(reader, Limits::default(), 1).with_recovery(Box::new(verifier)));
        assert_eq!((joined(&entries), damage), ([sample(0, 5), sample(5, 5)].concat(), 1));
        assert_eq!(tail, Some(Tail::Complete));
    }
}

#[test]
fn damage_anywhere_in_the_middle_entry_loses_only_that_entry() {
    let (first, middle, last) = (sample(0, 9), sample(9, 40), sample(49, 3));
    for at in 0..middle.len() {
        let mut damaged = middle.clone();
        damaged[at] ^= 0x41;
        let bytes = [first.clone(), damaged.clone(), last.clone()].concat();
        let verifier = ChecksumVerifier::of(&DecodeOptions::default());
        let (entries, damage, _) =
            collect(Runs::new(Source::memory(Bytes::from(bytes)), Limits::default(), 1).with_recovery(Box::new(verifier)));
        let kept = joined(&entries);
        assert!(kept.starts_with(&first) && kept.ends_with(&last), "byte {at}: {damage} damages, {} entries", entries.len());
        // V2-4: no checksum covers base offset and leader epoch; a changed length or magic is met by framing.
        let is_uncovered = at < 8 || (12..16).contains(&at);
        assert_eq!(damage == 0, is_uncovered, "byte {at}");
    }
}
