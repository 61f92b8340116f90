//! Entries of an index, tried one after the other until one leads somewhere. Where the storage has lost the bytes to which they lead, all
//! entries into the same bytes are one: a chunk of tiered storage may hold a thousand of them.

use std::ops::Range;

use crate::error::Result;
use crate::sidecar::OffsetEntry;

/// Entries that are tried before the headers are read from the beginning on.
const TRIES: usize = 3;

/// What the first entry gives that leads somewhere, from the last one back.
///
/// # Errors
/// What `attempt` fails with, but for lost bytes.
pub(super) fn from_last<T>(hints: &[OffsetEntry], attempt: impl FnMut(&OffsetEntry) -> Result<Option<T>>) -> Result<Option<T>> {
    first_found(hints, <[_]>::split_last, |before, lost| before.get(..below(before, lost.start)), attempt)
}

/// The same from the first one on.
///
/// # Errors
/// As `from_last`.
pub(super) fn from_first<T>(hints: &[OffsetEntry], attempt: impl FnMut(&OffsetEntry) -> Result<Option<T>>) -> Result<Option<T>> {
    first_found(hints, <[_]>::split_first, |after, lost| after.get(below(after, lost.end)..), attempt)
}

/// The entry at one end, and the others.
type SplitHints = for<'a> fn(&'a [OffsetEntry]) -> Option<(&'a OffsetEntry, &'a [OffsetEntry])>;

/// `split` gives the next entry and the others, `past` those of them that do not lead into lost bytes.
fn first_found<T>(
    mut hints: &[OffsetEntry],
    split: SplitHints,
    past: for<'a> fn(&'a [OffsetEntry], &Range<u64>) -> Option<&'a [OffsetEntry]>,
    mut attempt: impl FnMut(&OffsetEntry) -> Result<Option<T>>,
) -> Result<Option<T>> {
    for _ in 0..TRIES {
        let Some((hint, others)) = split(hints) else { break };
        hints = match attempt(hint) {
            Ok(None) => others,
            Err(error) => match error.lost_bytes() {
                Some(lost) => past(others, lost).unwrap_or_default(),
                None => return Err(error),
            },
            found => return found,
        };
    }
    Ok(None)
}

/// Where an entry leads; `None` when it cannot lead anywhere.
pub(super) fn position(hint: &OffsetEntry) -> Option<u64> {
    u64::try_from(hint.position).ok()
}

/// How many entries lead before a position. A sound index is in the order of positions.
fn below(hints: &[OffsetEntry], end: u64) -> usize {
    hints.partition_point(|hint| position(hint).is_some_and(|position| position < end))
}
