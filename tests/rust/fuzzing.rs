//! The kept inputs of the fuzz targets, and what fuzzing found, through the same checks as the fuzzer's. Needs no fuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fuzz_properties::fix_checksums::mend_of;
use crate::fuzz_properties::{TARGETS, check_of};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn names(folder: &Path) -> BTreeSet<String> {
    files(folder).iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_target_has_a_program_and_a_kept_corpus() {
    let listed: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&root().join("fuzz/targets")), listed);
    assert_eq!(names(&root().join("fuzz/corpus")), listed);
}

#[test]
fn properties_hold_for_the_kept_corpora() {
    for (target, check) in TARGETS {
        let inputs = files(&root().join("fuzz/corpus").join(target));
        assert!(inputs.len() >= 10, "{target} has {} inputs", inputs.len());
        for input in inputs {
            run(&input, check);
        }
    }
}

/// `tests/hostile/found`: the name says the target and what was wrong once.
#[test]
fn properties_hold_for_what_fuzzing_found() {
    let found = files(&root().join("tests/hostile/found"));
    for input in found.iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "bin")) {
        let name = input.file_stem().unwrap().to_str().unwrap();
        let (target, _) = name.split_once('-').unwrap();
        run(input, check_of(target));
    }
}

/// Without coverage to guide it: kept inputs are changed, and in two of three checksums, and lengths in one, are put right.
/// `FUZZ_MUTATIONS` says how many of each target, `FUZZ_SEED` which; what violates a property is written to the temporary directory.
#[test]
fn properties_hold_for_changed_inputs() {
    let number = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (count, seed) = (number("FUZZ_MUTATIONS", 60), number("FUZZ_SEED", 1));
    let wanted = std::env::var("FUZZ_TARGETS").unwrap_or_default();
    let mut broken = Vec::new();
    for (target, check) in TARGETS.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.split(',').any(|chosen| chosen == *name)) {
        let inputs: Vec<_> = files(&root().join("fuzz/corpus").join(target)).iter().map(|path| fs::read(path).unwrap()).collect();
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..count {
            let mut bytes = inputs[dice.below(inputs.len())].clone();
            dice.change(&mut bytes, &inputs);
            if let (Some(mend), mode @ 1..) = (mend_of(target), dice.below(3)) {
                mend(&mut bytes, mode == 1);
            }
            if std::panic::catch_unwind(|| check(&bytes)).is_err() {
                let path = std::env::temp_dir().join(format!("logsegment-broken-{target}-{}.bin", broken.len()));
                fs::write(&path, bytes).unwrap();
                broken.push(path);
            }
        }
    }
    assert!(broken.is_empty(), "properties are violated by {broken:?}");
}

/// Numbers that come again with the same seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    /// One to four changes of the kinds that libFuzzer makes.
    fn change(&mut self, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        const ODD: [u8; 10] = [0, 1, 2, 3, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x40];
        for _ in 0..=self.below(4) {
            let (at, len) = (self.below(bytes.len()), self.below(20));
            let end = (at + len).min(bytes.len());
            match self.below(9) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 | 2 if !bytes.is_empty() => bytes[at] = ODD[self.below(ODD.len())],
                3 => drop(bytes.drain(at..end)),
                4 => bytes[at..end].fill(ODD[self.below(ODD.len())]),
                5 => {
                    let copy = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    drop(bytes.splice(to..to, copy));
                }
                6 => bytes.truncate(at),
                7 => {
                    let other = &others[self.below(others.len())];
                    let from = self.below(other.len());
                    drop(bytes.splice(at..end, other[from..].iter().copied().take(200)));
                }
                _ => drop(bytes.splice(at..end, (0..len).map(|_| self.below(256) as u8).collect::<Vec<_>>())),
            }
        }
    }
}

/// Names the input when it violates a property.
fn run(input: &Path, check: fn(&[u8])) {
    let bytes = fs::read(input).unwrap();
    let outcome = std::panic::catch_unwind(|| check(&bytes));
    assert!(outcome.is_ok(), "{} violates a property", input.display());
}
