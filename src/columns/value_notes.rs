//! What a stream of typed values noticed, beyond numbers.

use std::collections::{BTreeMap, BTreeSet};

/// Schemas that no source has, and framings that were detected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueNotes {
    /// The names of unknown schemas: "the id 7".
    pub unknown: BTreeSet<String>,
    /// How many values had each detected framing.
    pub framings: BTreeMap<&'static str, u64>,
}

/// Most names of unknown schemas that are kept: bytes that are no names must not fill the memory.
const MOST_NAMES: usize = 1_000;

impl ValueNotes {
    /// Adds the name of an unknown schema.
    pub fn add_unknown(&mut self, name: String) {
        if self.unknown.len() < MOST_NAMES {
            self.unknown.insert(name);
        }
    }

    /// Counts a value with a detected framing.
    pub fn add_framing(&mut self, name: &'static str) {
        *self.framings.entry(name).or_default() += 1;
    }

    /// Adds what another stream noticed.
    pub fn add(&mut self, other: &Self) {
        other.unknown.iter().for_each(|name| self.add_unknown(name.clone()));
        for (name, count) in &other.framings {
            *self.framings.entry(name).or_default() += count;
        }
    }
}
