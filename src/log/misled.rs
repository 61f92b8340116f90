//! What a look-up shows of an index that is sound by itself: where it should have led and did not. Only the entry that was to lead is told;
//! validation holds every entry against the log. The time indexes of logs that begin before magic 2 are not suspected: brokers of 0.10 put
//! other offsets in them than those of batches.

use super::check::{FAR, ends_early, other_time};
use super::lookup::no_data_error;
use super::{Lookup, Place};
use crate::error::Result;
use crate::sidecar::{Fault, OffsetEntry, TimeEntry, Wrong, time_index};

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
    } else {
        ends_early(position, found).filter(|_| is_last)?
    };
    let position = u64::try_from(below).unwrap_or(u64::MAX).saturating_mul(8);
    Some(Fault { wrong, position, length: 8 })
}

/// The fault of a `.timeindex` whose entries before `timestamp` (ms) have times that their batches have not, or end far before batches that
/// are later than all of them. The look-up found this place.
///
/// # Errors
/// `Io`.
pub fn by_timestamp(lookup: &Lookup<'_>, timestamp: i64, found: &Place) -> Result<Option<Fault>> {
    let below = lookup.times.partition_point(|entry| entry.timestamp < timestamp);
    let leaders = lookup.times.get(below.saturating_sub(2)..below).unwrap_or_default();
    let Some(last) = leaders.last().filter(|_| !lookup.begins_before_v2()) else { return Ok(None) };
    if !found.by_index {
        for (index, entry) in (below.saturating_sub(leaders.len())..).zip(leaders) {
            let Some(place) = no_data_error(lookup.offset(entry.offset))? else { continue };
            if let Some(wrong) = place.header.map_or_else(|| Some(no_batch(*entry)), |header| other_time(*entry, &header)) {
                return Ok(Some(fault(index, wrong)));
            }
        }
    }
    if below < lookup.times.len() {
        return Ok(None);
    }
    let later = no_data_error(lookup.later_than(*last, found.position.saturating_sub(FAR)))?.flatten();
    Ok(later.and_then(|later| ends_early(later, found.position)).map(|wrong| fault(below.saturating_sub(1), wrong)))
}

fn no_batch(entry: TimeEntry) -> Wrong {
    Wrong::Contradiction { rule: "IDX-3", what: "offset of a time entry", stored: entry.offset, found: None }
}

fn fault(index: usize, wrong: Wrong) -> Fault {
    let len = u64::try_from(time_index::ENTRY_LEN).unwrap_or(0);
    Fault { wrong, position: u64::try_from(index).unwrap_or(u64::MAX).saturating_mul(len), length: len }
}
