//! Offsets that are missing between batches. Compaction takes batches out, damage does, and so does whoever loses some; what stands around
//! a gap says which it may be.

use std::sync::Arc;

use super::finding::{Finding, Severity};
use super::kind::{FindingKind, MissingCause};
use crate::model::{BatchHeader, RecordFormat};

/// Follows the offsets of a log from batch to batch.
#[derive(Debug, Default)]
pub struct Gaps {
    /// The largest last offset so far.
    last_offset: Option<i64>,
    /// Bytes were stepped over since that batch.
    is_after_damage: bool,
    /// A batch had fewer records than offsets, or a delete horizon.
    is_compacted: bool,
    /// Gaps without damage so far.
    count: u64,
    /// The first one that is only counted: its file and its position.
    unlisted: Option<(Option<Arc<str>>, u64)>,
    /// The file of the batches, when there are several.
    file: Option<Arc<str>>,
}

/// Gaps without damage that are reported one by one: a compacted log may have one before every batch.
const MOST_LISTED: u64 = 8;

impl Gaps {
    /// Holds a batch against the one before.
    pub fn visit(&mut self, header: &BatchHeader, findings: &mut Vec<Finding>) {
        if header.format == RecordFormat::V07 {
            // Offsets are positions there.
            return;
        }
        self.is_compacted |= is_compacted(header);
        let is_after_damage = std::mem::take(&mut self.is_after_damage);
        let last = self.last_offset;
        // A copy, or a batch that stands too late, takes nothing back: what was there is not missing.
        self.last_offset = last.max(Some(header.last_offset));
        // The first offset of a compressed message is known only after decompression.
        let (Some(last), Some(base)) = (last, header.known_base_offset()) else { return };
        if let Some(first) = last.checked_add(1).filter(|first| *first < base) {
            let why = match () {
                () if is_after_damage => MissingCause::AfterDamage,
                () if self.is_compacted => MissingCause::Compacted,
                () => MissingCause::Unexplained,
            };
            self.push(FindingKind::OffsetGap { first, last: base.saturating_sub(1), why }, header, findings);
        }
    }

    /// Bytes are stepped over here.
    pub fn interrupt(&mut self) {
        self.is_after_damage = true;
    }

    /// The next batches are those of another file.
    pub fn enter(&mut self, file: &Arc<str>) {
        self.file = Some(Arc::clone(file));
    }

    /// Says how many gaps were only counted.
    pub fn finish(&mut self, findings: &mut Vec<Finding>) {
        if let Some((file, position)) = self.unlisted.take() {
            let unlisted = Finding::of_more("ORD-3", Severity::Info, self.count.saturating_sub(MOST_LISTED), position);
            findings.push(Finding { file, ..unlisted });
        }
    }

    fn push(&mut self, kind: FindingKind, header: &BatchHeader, findings: &mut Vec<Finding>) {
        if !matches!(kind, FindingKind::OffsetGap { why: MissingCause::AfterDamage, .. }) {
            self.count = self.count.saturating_add(1);
            if self.count > MOST_LISTED {
                self.unlisted.get_or_insert_with(|| (self.file.clone(), header.position));
                return;
            }
        }
        findings.push(Finding::in_batch(kind, Severity::Info, header).at_field("baseOffset"));
    }
}

/// Whether compaction was here, or whoever wrote the batch left offsets out.
fn is_compacted(header: &BatchHeader) -> bool {
    let span = header.last_offset.wrapping_sub(header.base_offset).wrapping_add(1);
    header.delete_horizon_ms().is_some() || header.count.is_some_and(|count| i64::from(count) < span)
}
