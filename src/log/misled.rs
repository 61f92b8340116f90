//! The error of an `.index` that a look-up shows: the entry that should have led to the batch did not. Validation checks every entry.

use super::sidecar_check::ends_early;
use crate::sidecar::{OffsetEntry, SidecarFinding, SidecarProblem};

/// The fault of a `.index` whose entries led to no batch that fits, or end far before the batch that was found.
pub fn by_offset(entries: &[OffsetEntry], offset: i64, found: u64, by_index: bool) -> Option<SidecarFinding> {
    let below = entries.partition_point(|entry| entry.offset <= offset).checked_sub(1)?;
    let entry = entries.get(below)?;
    let position = u64::try_from(entry.position).unwrap_or(0);
    let is_last = below + 1 == entries.len();
    if !by_index && position == found {
        // Where a wrapper of magic 0 and 1 begins is not known, so that its entry is not relied on; but it leads there.
        return None;
    }
    let problem = if !by_index {
        let what = "position of an index entry";
        SidecarProblem::Contradiction { rule: "IDX-2", what, stored: i64::from(entry.position), found: None }
    } else {
        ends_early(position, found).filter(|_| is_last)?
    };
    let position = u64::try_from(below).unwrap_or(u64::MAX).saturating_mul(8);
    Some(SidecarFinding { problem, position, length: 8 })
}
