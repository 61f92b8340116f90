//! Entries of an index, tried one after the other until one leads somewhere. Where the storage has lost the bytes to which they lead, all
//! entries into the same bytes are one: a chunk of tiered storage may hold a thousand of them.

use crate::error::Result;
use crate::sidecar::OffsetEntry;

/// Entries that are tried before the headers are read from the beginning on.
const TRIES: usize = 3;

/// What the first entry gives that leads somewhere, from the last one back.
///
/// # Errors
/// What `attempt` fails with, but for lost bytes.
pub(super) fn from_last<T>(mut hints: &[OffsetEntry], mut attempt: impl FnMut(&OffsetEntry) -> Result<Option<T>>) -> Result<Option<T>> {
    for _ in 0..TRIES {
        let Some((hint, before)) = hints.split_last() else { break };
        hints = match attempt(hint) {
            Ok(None) => before,
            Err(error) => match error.lost_bytes() {
                Some(lost) => before.get(..below(before, lost.start)).unwrap_or_default(),
                None => return Err(error),
            },
            found => return found,
        };
    }
    Ok(None)
}

/// The same from the first one on.
///
/// # Errors
/// As `from_last`.
pub(super) fn from_first<T>(mut hints: &[OffsetEntry], mut attempt: impl FnMut(&OffsetEntry) -> Result<Option<T>>) -> Result<Option<T>> {
    for _ in 0..TRIES {
        let Some((hint, behind)) = hints.split_first() else { break };
        hints = match attempt(hint) {
            Ok(None) => behind,
            Err(error) => match error.lost_bytes() {
                Some(lost) => behind.get(below(behind, lost.end)..).unwrap_or_default(),
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
