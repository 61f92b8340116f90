//! What came before its turn.

use std::collections::{BTreeMap, VecDeque};

use super::feed::JobOutcome;

/// Outcomes by the number of their job. A job may give several parts, in their order, and none may take the place of another.
#[derive(Default)]
pub struct ReorderBuffer(BTreeMap<u64, VecDeque<JobOutcome>>);

impl ReorderBuffer {
    /// Keeps the next part of this job.
    pub fn put(&mut self, number: u64, outcome: JobOutcome) {
        self.0.entry(number).or_default().push_back(outcome);
    }

    /// The next part of this job, if it came.
    pub fn take(&mut self, number: u64) -> Option<JobOutcome> {
        let parts = self.0.get_mut(&number)?;
        let part = parts.pop_front();
        if parts.is_empty() {
            self.0.remove(&number);
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_job_come_in_their_order_and_none_is_lost() {
        let part = |bytes_read, is_part| {
            let stats = crate::decode::Stats { bytes_read, ..Default::default() };
            JobOutcome { stats, is_part, ..JobOutcome::default() }
        };
        let mut buffer = ReorderBuffer::default();
        buffer.put(1, part(10, false));
        buffer.put(0, part(1, true));
        buffer.put(0, part(2, false));
        let taken = [0, 0, 0, 1, 1].map(|number| buffer.take(number).map(|outcome| outcome.stats.bytes_read));
        assert_eq!(taken, [Some(1), Some(2), None, Some(10), None]);
    }
}
