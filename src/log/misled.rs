//! What a look-up shows of an index that is sound by itself: where it should have led and did not. Only the entry that was to lead is told;
//! validation holds every entry against the log. Time indexes are not suspected: brokers of 0.10 put other offsets in them than those of
//! batches.

use super::check::FAR;
use crate::sidecar::{Fault, OffsetEntry, Wrong};

/// The fault of a `.index` whose entries led to no batch that fits, or end far before the batch that was found.
pub fn by_offset(entries: &[OffsetEntry], offset: i64, found: u64, by_index: bool) -> Option<Fault> {
    let below = entries.partition_point(|entry| entry.offset <= offset).checked_sub(1)?;
    let entry = entries.get(below)?;
    let position = u64::try_from(entry.position).unwrap_or(0);
    let is_last = below + 1 == entries.len();
    if !by_index && position == found {
        // Where a wrapper of magic 0 and 1 begins is not known, so that its entry is not relied on; but it leads there.
        return None;
    }
    let wrong = if !by_index {
        let what = "position of an index entry";
        Wrong::Contradiction { rule: "IDX-2", what, stored: i64::from(entry.position), found: None }
    } else if is_last && found.saturating_sub(position) > FAR {
        Wrong::Stale { last: i64::from(entry.position), end: i64::try_from(found).unwrap_or(i64::MAX) }
    } else {
        return None;
    };
    let position = u64::try_from(below).unwrap_or(u64::MAX).saturating_mul(8);
    Some(Fault { wrong, position, length: 8 })
}
