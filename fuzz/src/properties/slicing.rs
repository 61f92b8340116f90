//! Entries are cut alike whether the bytes lie in memory or come in small reads, recovering from damage or not; and when recovering, what
//! is given and what is told to be left out are the input.

use std::io::Read;
use std::ops::Range;

use bytes::Bytes;
use logsegment::decode::ChecksumVerifier;
use logsegment::framing::{FrameEvent, Runs, Source, Tail};
use logsegment::model::Formats;

use super::reading::{LIMITS, options};

/// Gives few bytes at a time.
struct Slow(Bytes);

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min(self.0.len()).min(13);
        out[..len].copy_from_slice(&self.0.split_to(len));
        Ok(len)
    }
}

/// What came out of a source.
#[derive(Debug, PartialEq)]
struct Cuts {
    entries: Vec<(u64, Vec<u8>)>,
    left_out: Vec<Range<u64>>,
    tail: Option<Tail>,
    error: Option<String>,
}

/// Any bytes, read as every format.
pub fn check(bytes: &[u8]) {
    let bytes = Bytes::copy_from_slice(bytes);
    for formats in [Formats::Every, Formats::Only(logsegment::model::RecordFormat::V07)] {
        for recovers in [false, true] {
            let cuts = cut(Source::memory(bytes.clone()), formats, recovers);
            let slow = cut(Source::reader(Box::new(Slow(bytes.clone())), 0), formats, recovers);
            for (position, entries) in &cuts.entries {
                let at = usize::try_from(*position).expect("a position in memory");
                assert_eq!(bytes.get(at..at + entries.len()), Some(&**entries));
            }
            assert_eq!((&cuts.tail, &cuts.error, &cuts.left_out), (&slow.tail, &slow.error, &slow.left_out));
            assert_eq!(joined(&cuts.entries), joined(&slow.entries));
            if recovers {
                ensure_whole(&cuts, bytes.len() as u64);
            }
        }
    }
}

fn cut(source: Source, formats: Formats, recovers: bool) -> Cuts {
    let mut runs = Runs::new(source, LIMITS, 1).of(formats);
    if recovers {
        runs = runs.with_recovery(Box::new(ChecksumVerifier::of(&options(formats))));
    }
    let mut cuts = Cuts { entries: Vec::new(), left_out: Vec::new(), tail: None, error: None };
    loop {
        match runs.next_piece() {
            Ok(Some(FrameEvent::Run(run) | FrameEvent::Oversized(run))) => cuts.entries.push((run.position, run.entries_from(0).to_vec())),
            Ok(Some(FrameEvent::Damage(damage))) => cuts.left_out.push(damage.bytes),
            Ok(Some(FrameEvent::Swallowed(bytes))) => cuts.left_out.push(bytes),
            Ok(Some(FrameEvent::Broken(_) | FrameEvent::Unsearched(_))) => {}
            Ok(None) => break,
            Err(error) => {
                cuts.error = Some(error.to_string());
                break;
            }
        }
    }
    cuts.tail = runs.tail();
    cuts
}

fn joined(entries: &[(u64, Vec<u8>)]) -> Vec<u8> {
    entries.iter().flat_map(|(_, bytes)| bytes).copied().collect()
}

/// What was given, what was left out and the tail follow each other from the first byte to the last.
fn ensure_whole(cuts: &Cuts, len: u64) {
    let given = cuts.entries.iter().map(|(position, bytes)| *position..*position + bytes.len() as u64);
    let mut ranges: Vec<_> = given.chain(cuts.left_out.iter().cloned()).collect();
    match cuts.tail {
        Some(Tail::Torn { position, available, .. }) => ranges.push(position..position + available),
        Some(Tail::Zeros { position, bytes }) => ranges.push(position..position + bytes),
        _ => {}
    }
    ensure_tiling(ranges, len);
}

/// Fails unless the ranges follow each other from 0 to `len`.
pub fn ensure_tiling(mut ranges: Vec<Range<u64>>, len: u64) {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut at = 0;
    for range in ranges {
        assert_eq!(range.start, at, "bytes are told twice or not at all: {range:?}");
        at = range.end;
    }
    assert_eq!(at, len, "the ranges do not add up to the input");
}
