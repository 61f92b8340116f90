//! The last stable offset of a log that grows: the first offset of the oldest open transaction, from transaction markers (TXN-6).
//!
//! Segments and an offset go in, the last stable offset up to there comes out. Only batches that are new since the last look are walked.

use std::ops::Range;

use super::Committed;
use super::committed::SegmentSource;
use super::log_end::{GrowingLog, LastBatch};
use crate::decode::transactions::TransactionScan;
use crate::error::Result;

/// The last batch that was walked, and the transactions that are open after it.
#[derive(Clone, Debug, Default)]
pub struct StableOffset {
    /// The segment of the last batch, by its first offset.
    segment: Option<i64>,
    last: Option<LastBatch>,
    /// The zeros at the end of the segment.
    zeros: Range<u64>,
    /// Markers before this offset were counted.
    until: i64,
    open: Vec<(i64, i64)>,
}

impl StableOffset {
    /// The first offset of the oldest transaction that is open at `until`, or `until`. Later markers may still be cut off, and do not count: a
    /// look that ends before the last one begins anew.
    ///
    /// # Errors
    /// As `GrowingLog::walk` and `Committed::open_transactions`.
    pub fn find<S: SegmentSource>(&mut self, committed: &Committed<'_>, segments: &[S], until: i64) -> Result<i64> {
        let known = segments.iter().position(|segment| Some(segment.base_offset()) == self.segment);
        let is_found = match known.and_then(|at| segments.get(at..)) {
            Some(rest) if until >= self.until => {
                self.until = until;
                self.walk(committed, rest, until)?
            }
            _ => false,
        };
        if !is_found {
            let at = segments.iter().rposition(|segment| segment.base_offset() <= until).unwrap_or(0);
            let (before, rest) = segments.split_at(at);
            *self = Self { open: committed.open_transactions(before)?, until, ..Self::default() };
            self.walk(committed, rest, until)?;
        }
        Ok(self.open.iter().map(|(_, first)| *first).filter(|first| *first < until).min().unwrap_or(until))
    }

    /// Walks markers up to `until`; false if the last known batch is not there any more.
    fn walk<S: SegmentSource>(&mut self, committed: &Committed<'_>, segments: &[S], until: i64) -> Result<bool> {
        for (index, segment) in segments.iter().enumerate() {
            let is_same = index == 0 && self.segment == Some(segment.base_offset());
            let since = self.last.filter(|_| is_same);
            let (log, len) = segment.open()?;
            let growing = GrowingLog {
                log: &*log,
                len,
                limits: committed.verifier.limits,
                formats: committed.verifier.formats,
                is_checked: false,
                skips_damage: false,
                zeros: if is_same { self.zeros.clone() } else { 0..0 },
                interrupt: committed.interrupt,
            };
            if let Some(last) = &since
                && !growing.holds(last).map_err(|error| segment.named(error))?
            {
                return Ok(false);
            }
            let mut scan = TransactionScan::default();
            for (producer_id, first_offset) in &self.open {
                scan.begin(*producer_id, *first_offset);
            }
            let walked = growing.walk(since.map_or(0, |last| last.position), Some(until), Some(&mut scan));
            let walked = walked.map_err(|error| segment.named(error))?;
            let last = walked.last.or(since);
            *self = Self { segment: Some(segment.base_offset()), last, zeros: walked.zeros, open: scan.open(), ..*self };
            if walked.has_more {
                break;
            }
        }
        Ok(true)
    }
}
