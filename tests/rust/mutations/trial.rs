//! One mutation: made, decoded, validated, decoded past the damage.

use std::time::{Duration, Instant};

use bytes::Bytes;
use logsegment::error::ErrorKind;
use logsegment::framing::Source;
use logsegment::validate::{Depth, Severity, Validator};

use super::clean::{Clean, Known, donors};
use super::content::{self, Read};
use super::damage::{self, Stretch};
use super::random::Random;
use super::{MOST_MEMORY, MOST_TIME, Tally};
use crate::budget;

/// Every how many mutations damage is skipped too.
const SKIPPING: u64 = 4;

/// A mutation of a file by its number.
pub struct Trial<'a> {
    file: &'a Clean,
    bytes: Bytes,
    is_resealed: bool,
    /// Skipping searches, which takes longer than all the rest: only some do it.
    skips: bool,
    pub told: String,
}

impl<'a> Trial<'a> {
    pub fn new(file: &'a Clean, files: &'a [Clean], number: u64, is_resealed: bool) -> Self {
        let mut random = Random::of(&file.name, number);
        let [short, long] = &file.stretches;
        // Those of a MiB take as long as hundreds of others.
        let from = if short.is_empty() || (!long.is_empty() && random.below(100) == 0) { long } else { short };
        let range = from[random.below(from.len())].clone();
        let inside = file.entries.iter().filter(|entry| range.start <= entry.start && entry.end <= range.end);
        let entries: Vec<_> = inside.map(|entry| entry.start - range.start..entry.end - range.start).collect();
        let donors: Vec<_> = donors(file, files).collect();
        let donor = donors[random.below(donors.len())];
        let stretch = Stretch { bytes: &file.bytes[range.clone()], entries: &entries, donor: &donor.bytes, is_v07: file.is_v07() };
        let made = if is_resealed { damage::resealed } else { damage::damaged };
        let (bytes, told) = made(&stretch, &mut random);
        Self { file, bytes: Bytes::from(bytes), is_resealed, skips: number.is_multiple_of(SKIPPING), told: format!("in {range:?} {told}") }
    }

    /// What was seen, or what must not be.
    pub fn run(&self, known: &Known) -> Result<Tally, String> {
        let (read, first) = self.bounded(|| content::read(&self.bytes, self.file.formats, content::RAISING))?;
        let (has_error, second) = self.bounded(|| self.has_error_finding())?;
        ensure_same_verdicts(&read, has_error)?;
        let mut third = (0, Duration::ZERO);
        let mut kept = None;
        if self.skips {
            let (skipped, cost) = self.bounded(|| content::read(&self.bytes, self.file.formats, content::SKIPPING))?;
            ensure_goes_on(&read, &skipped)?;
            (kept, third) = (Some(skipped), cost);
        }
        if !self.is_resealed {
            // A splice may put a message that stood in a compressed one where an entry begins.
            let is_known = |read: &Read, index: usize| known.has(read.entries[index]) || known.has_message(&read.messages[index]);
            ensure_known(&read, |index| is_known(&read, index))?;
            kept.iter()
                .try_for_each(|kept| ensure_known(kept, |index| is_known(kept, index)).map_err(|fault| format!("skipping: {fault}")))?;
        }
        Ok(Tally {
            mutations: 1,
            refused: u64::from(has_error),
            entries: kept.unwrap_or(read).entries.len() as u64,
            peak: first.0.max(second.0).max(third.0),
            slowest: first.1.max(second.1).max(third.1),
        })
    }

    fn has_error_finding(&self) -> bool {
        let source = Source::memory(self.bytes.clone());
        let mut validator = Validator::new(source, content::decode_options(self.file.formats), Depth::Full, false);
        while validator.advance().unwrap() {}
        validator.take_findings().iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Memory that a call takes beside what there is, and its time; both within bounds.
    fn bounded<R>(&self, call: impl Fn() -> R) -> Result<(R, (isize, Duration)), String> {
        let timed = || {
            let start = Instant::now();
            let (made, peak) = budget::peak_during(&call);
            (made, peak, start.elapsed())
        };
        let (mut made, peak, mut time) = timed();
        for _ in 0..3 {
            if time > MOST_TIME {
                let again = timed();
                (made, time) = (again.0, time.min(again.2));
            }
        }
        // What unpacks a large entry holds it, packed and plain.
        let most = MOST_MEMORY + 8 * self.bytes.len() as isize;
        if peak > most || time > MOST_TIME {
            return Err(format!("{peak} bytes, {time:?}"));
        }
        Ok((made, (peak, time)))
    }
}

fn ensure_same_verdicts(read: &Read, has_error: bool) -> Result<(), String> {
    if read.error.is_some() != has_error {
        return Err(format!("decode ends with {:?}, validate has errors: {has_error}", read.error));
    }
    // Nobody changes these bytes meanwhile: if it seems so, two readers of ours disagree.
    let seems_changed = |kind: &ErrorKind| matches!(kind, ErrorKind::Invalid { what: "the bytes changed while they were read", .. });
    let is_ours = |kind: &ErrorKind| matches!(kind, ErrorKind::Internal { .. }) || seems_changed(kind);
    let is_internal = read.error.as_ref().is_some_and(|error| is_ours(error.kind()));
    if is_internal { Err(format!("{:?}", read.error)) } else { Ok(()) }
}

/// Skipping gives what comes before the error, and does not end there.
fn ensure_goes_on(read: &Read, kept: &Read) -> Result<(), String> {
    match &kept.error {
        Some(error) => Err(format!("skipping ends with {error:?}")),
        None if kept.entries.starts_with(&read.entries) => Ok(()),
        None => Err("what comes before the error is not what skipping gives".into()),
    }
}

fn ensure_known(read: &Read, is_known: impl Fn(usize) -> bool) -> Result<(), String> {
    match (0..read.entries.len()).find(|index| !is_known(*index)) {
        Some(index) => Err(format!("the entry at {} is none of the clean ones", read.positions[index])),
        None => Ok(()),
    }
}
