//! Which offsets are missing where bytes were left out, when entries do not stand in the order of their offsets.

use super::account::Account;

/// Takes back what was said of the offsets before and behind each lost place, where other entries hold offsets in between: they may stand
/// elsewhere in the input. Every lost place gets the offsets of the entries that were kept on both sides of it.
pub(super) fn bound(account: &mut Account) {
    let mut by_offset: Vec<(i64, i64)> = account.kept.iter().map(|kept| (kept.first_offset, kept.last_offset)).collect();
    by_offset.sort_unstable();
    let mut most = i64::MIN;
    for (_, last) in &mut by_offset {
        most = most.max(*last);
        *last = most;
    }
    let mut by_position: Vec<(u64, i64, i64)> =
        account.kept.iter().map(|kept| (kept.bytes.start, kept.first_offset, kept.last_offset)).collect();
    by_position.sort_unstable();
    for lost in account.lost.iter_mut().filter(|lost| !lost.is_known) {
        let behind = by_position.partition_point(|(start, _, _)| *start < lost.bytes.start);
        lost.before_offset = by_position.get(behind).map(|(_, first, _)| *first);
        lost.after_offset = behind.checked_sub(1).and_then(|before| by_position.get(before)).map(|(_, _, last)| *last);
        let (Some(after), Some(before)) = (lost.after_offset, lost.before_offset) else { continue };
        let begun = by_offset.partition_point(|(first, _)| *first < before);
        let is_held = begun.checked_sub(1).and_then(|at| by_offset.get(at)).is_some_and(|(_, last)| *last > after);
        // Of a list that was cut, nothing can be said.
        if is_held || account.is_cut {
            (lost.after_offset, lost.before_offset) = (None, None);
        }
    }
}
