//! Findings as they come, capped: of a hostile gigabyte there could be a hundred million.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Finding, Severity};

/// Findings that are kept, some 20 MiB of them.
const MOST: usize = 100_000;

/// The first findings one by one; the others are only counted, by rule and severity.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    /// How many, and where the first one is.
    unlisted: BTreeMap<(&'static str, Severity), (u64, u64)>,
}

impl Findings {
    /// Adds one.
    pub fn push(&mut self, finding: Finding) {
        if self.kept.len() < MOST {
            self.kept.push(finding);
        } else {
            self.count((finding.rule(), finding.severity), 1, finding.position);
        }
    }

    /// Adds findings of another check after the input of these.
    pub fn append(&mut self, other: Self) {
        if self.kept.is_empty() && self.unlisted.is_empty() {
            *self = other;
            return;
        }
        self.extend(other.kept);
        for (kind, (times, position)) in other.unlisted {
            self.count(kind, times, position);
        }
    }

    /// The same findings, in one of several files.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<str>) -> Self {
        self.kept = self.kept.into_iter().map(|finding| finding.in_file(file)).collect();
        self
    }

    /// True when nothing was found.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// All of them in the order of the input, and one more for each rule and severity that was only counted.
    pub fn into_vec(mut self) -> Vec<Finding> {
        let unlisted = self.unlisted.into_iter();
        self.kept.extend(unlisted.map(|((rule, severity), (times, position))| Finding::of_more(rule, severity, times, position)));
        self.kept
    }

    fn count(&mut self, kind: (&'static str, Severity), times: u64, position: u64) {
        let plural = self.unlisted.entry(kind).or_insert((0, position));
        plural.0 = plural.0.saturating_add(times);
    }
}

impl Extend<Finding> for Findings {
    fn extend<I: IntoIterator<Item = Finding>>(&mut self, findings: I) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Tail;

    fn tails(from: u64, count: u64) -> Findings {
        let mut findings = Findings::default();
        findings.extend((from..from + count).filter_map(|position| Finding::of_tail(Tail::Zeros { position, bytes: 1 })));
        findings
    }

    #[test]
    fn what_is_not_kept_is_counted_once_however_it_was_collected() {
        let most = u64::try_from(MOST).unwrap();
        let whole = tails(0, most + 30).into_vec();
        let mut parts = tails(0, most - 5);
        parts.append(tails(most - 5, 20));
        parts.append(tails(most + 15, 15));
        assert_eq!(parts.into_vec(), whole);
        assert_eq!(whole.len(), MOST + 1);
        assert_eq!(whole[MOST], Finding::of_more("FND-17", Severity::Info, 30, most));
    }
}
