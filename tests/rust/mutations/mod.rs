//! Every clean file of the corpus, mutated thousands of times: whatever the damage, nothing panics, no record changes that a checksum
//! covers, `decode` and `validate` agree, and time and memory stay bounded. How it is done and what it measured: docs/project/mutations.md.
//!
//! `MUTATIONS` says how many of each file (`make mutations`: 10,000; without it a few, since this build is slow); a fifth more have their
//! checksums put right. `MUTATION=FILE:NUMBER` repeats one.

mod clean;
mod content;
mod damage;
mod random;
mod trial;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clean::Clean;
use trial::Trial;

/// Of each file, where nobody says how many.
const A_FEW: u64 = 12;
/// Files with entries that the corpus had when this was written, and those made of them in the format that never shipped.
const FILES: usize = 330 + clean::OF_V3.len() * 2;
/// Failures of a file that are told.
const MOST_TOLD: usize = 2;
/// Rust's heap that decoding, validating or skipping a few KiB may take at most beside them: what a claim of the bytes can make of it.
const MOST_MEMORY: isize = 48 << 20;
/// One of the three passes. Measured again when it took longer, since a busy machine is no fault.
const MOST_TIME: Duration = Duration::from_millis(500);

/// What was seen, over all files.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    mutations: u64,
    refused: u64,
    entries: u64,
    peak: isize,
    slowest: Duration,
}

impl Tally {
    fn add(&mut self, trial: Tally) {
        self.mutations += trial.mutations;
        self.refused += trial.refused;
        self.entries += trial.entries;
        self.peak = self.peak.max(trial.peak);
        self.slowest = self.slowest.max(trial.slowest);
    }
}

#[test]
fn no_mutation_of_a_clean_file_panics_changes_a_record_or_parts_decode_from_validate() {
    let files = clean::files();
    assert!(files.len() >= FILES, "only {} files", files.len());
    let wanted = std::env::var("MUTATION").ok();
    let count = std::env::var("MUTATIONS").map_or(A_FEW, |count| count.parse().unwrap());
    let (next, tally, failures) = (AtomicUsize::new(0), Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (seen, failed) = mutate(file, &files, &chosen(file, wanted.as_deref(), count));
            tally.lock().unwrap().add(seen);
            // More of a file say nothing new.
            failures.lock().unwrap().extend(failed.into_iter().take(MOST_TOLD));
        }
    };
    std::thread::scope(|scope| {
        let others = std::thread::available_parallelism().map_or(1, usize::from).min(4) - 1;
        (0..others).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    let (tally, failures) = (tally.into_inner().unwrap(), failures.into_inner().unwrap());
    println!("{} files, {tally:?}", files.len());
    assert!(failures.is_empty(), "{} failures or more\n{}", failures.len(), failures.join("\n"));
    assert!(wanted.is_some() || tally.refused > tally.mutations / 2, "hardly any mutation did damage: {tally:?}");
}

/// Numbers of the mutations of a file: those from `count` on have their checksums put right.
fn chosen(file: &Clean, wanted: Option<&str>, count: u64) -> Vec<(u64, bool)> {
    let all = (0..count).map(|number| (number, false)).chain((0..count / 5).map(|number| (RESEALED + number, true)));
    match wanted {
        None => all.collect(),
        Some(wanted) => {
            let number = wanted.rsplit_once(':').filter(|(name, _)| *name == file.name).map(|(_, number)| number.parse().unwrap());
            number.map(|number| (number, number >= RESEALED)).into_iter().collect()
        }
    }
}

/// Numbers from here on are those of mutations with right checksums.
const RESEALED: u64 = 1 << 32;

fn mutate(file: &Clean, files: &[Clean], numbers: &[(u64, bool)]) -> (Tally, Vec<String>) {
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    let known = clean::Known::of(file, files);
    for (number, is_resealed) in numbers {
        let trial = Trial::new(file, files, *number, *is_resealed);
        match catch_unwind(AssertUnwindSafe(|| trial.run(&known))) {
            Ok(Ok(seen)) => tally.add(seen),
            Ok(Err(fault)) => failures.push(format!("MUTATION={}:{number} {}: {fault}", file.name, trial.told)),
            Err(_) => failures.push(format!("MUTATION={}:{number} {}: panic", file.name, trial.told)),
        }
    }
    (tally, failures)
}

#[test]
fn a_damaged_set_of_messages_gives_none_of_them_alone() {
    // Snappy keeps the last one as it was, with an offset that counts from the set; it ends where the set ends.
    let mut seen = 0;
    for file in clean::files().iter().filter(|file| !file.is_v07()) {
        for entry in &file.entries {
            let mut bytes = file.bytes[entry.clone()].to_vec();
            if bytes[16] < 2 && bytes[17] & 7 != 0 {
                bytes[12] ^= 1;
                let kept = content::read(&bytes.into(), file.formats, content::SKIPPING);
                assert!(kept.entries.is_empty() && kept.error.is_none(), "{} at {}", file.name, entry.start);
                seen += 1;
            }
        }
    }
    assert!(seen > 500, "only {seen} sets");
}
