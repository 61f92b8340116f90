//! Findings of one batch, rule by rule: the first few are reported, the others counted.

use super::finding::{Finding, Severity};
use super::kind::FindingKind;
use crate::model::BatchHeader;

/// How often each rule was broken in each field.
#[derive(Debug, Default)]
pub struct RuleCounts {
    rules: Vec<(&'static str, &'static str, u64)>,
    /// Where the last record ended.
    pub end: usize,
}

/// Findings of one rule and field that are reported one by one per batch; the others are counted, or a hostile batch would take gigabytes.
const MOST_LISTED: u64 = 8;

impl RuleCounts {
    /// Counts a finding; true if it is reported.
    pub fn counts_as_listed(&mut self, rule: &'static str, field: &'static str) -> bool {
        match self.rules.iter_mut().find(|(listed, at, _)| *listed == rule && *at == field) {
            Some((_, _, count)) => {
                *count += 1;
                *count <= MOST_LISTED
            }
            None => {
                self.rules.push((rule, field, 1));
                true
            }
        }
    }

    /// Says how many findings were only counted.
    pub fn finish(self, header: &BatchHeader, findings: &mut Vec<Finding>) {
        for (rule, field, count) in self.rules {
            if let Some(times) = count.checked_sub(MOST_LISTED).filter(|times| *times > 0) {
                let kind = FindingKind::Repeated { rule, times };
                findings.push(Finding::in_batch(kind, Severity::Warning, header).at_field(field));
            }
        }
    }
}
