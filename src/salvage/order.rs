//! Which valid entries make a log, and in which order. No checksum covers a base offset, and blocks of a disk come back swapped or twice.

use std::collections::BTreeSet;

use super::place::EntryPosition;
use super::runs::EntryRuns;
use crate::model::UploadOffsets;

/// The offsets that entries of a segment may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllowedOffsets {
    /// The first one, which the segment is named after.
    pub start: Option<i64>,
    /// The first one of the next segment.
    pub end: Option<i64>,
    /// An entry that is out of order needs the support of the entries on both sides: readers that skip damage do not read it.
    pub needs_both_sides: bool,
}

/// Why a valid entry is left out of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The same entry is there already.
    Copy,
    /// Its offsets are those of other entries, or lie where none of the log's should.
    UnfitOffsets,
}

/// Entries of a log.
#[derive(Debug, Default)]
pub struct EntryOrder {
    /// Indexes of the entries in the order of their offsets, and whether each is elsewhere in the input.
    pub entries: Vec<(usize, bool)>,
    /// Indexes of those that are left out.
    pub left_out: Vec<(usize, Why)>,
}

/// Of entries that are moved so many bytes at most, which are held in memory.
const MOST_MOVED: u64 = 256 << 20;

impl AllowedOffsets {
    /// The offsets that are inside of an upload too.
    #[must_use]
    pub fn within(self, upload: UploadOffsets) -> Self {
        let end = upload.end.map(|last| last.saturating_add(1));
        Self {
            start: Some(self.start.unwrap_or(i64::MIN).max(upload.start)),
            end: self.end.into_iter().chain(end).min(),
            needs_both_sides: true,
        }
    }

    /// Whether the log may have the entry. Offsets that are too far from the name for an index begin another segment (SEG-22).
    pub fn allows(&self, place: &EntryPosition) -> bool {
        let is_after = self.start.is_none_or(|start| place.base_offset >= start);
        place.base_offset >= 0 && place.last_offset >= place.base_offset && is_after && self.end.is_none_or(|end| place.last_offset < end)
    }
}

/// Settles which entries make the log.
///
/// Of entries that overlap those are taken that leave most entries, and whose offsets follow without a gap. Entries that are out of
/// order are sorted in when they fit there without a gap, as those of a swapped block do; a damaged offset rarely does.
/// Entries that were searched for need the support of those around them.
pub fn order_entries(places: &[EntryPosition], fit: AllowedOffsets, runs: &EntryRuns) -> EntryOrder {
    let mut left_out = Vec::new();
    let fits = |index: &usize| places.get(*index).is_some_and(|place| fit.allows(place));
    let settle = |indexes: Vec<usize>| {
        let mut others = Vec::new();
        let chain = chain_of(places, indexes.into_iter().filter(fits).collect(), &mut others);
        let in_place = longest_in_order(&chain);
        chain.into_iter().filter(|index| in_place.contains(index)).collect()
    };
    let doubtful = runs.doubtful(places, settle);
    let mut fitting: Vec<usize> = Vec::new();
    for index in 0..places.len() {
        if fits(&index) && !doubtful.contains(&index) { fitting.push(index) } else { left_out.push((index, Why::UnfitOffsets)) }
    }
    let chain = chain_of(places, fitting, &mut left_out);
    let in_place = longest_in_order(&chain);
    let mut moved = 0_u64;
    let mut entries = Vec::with_capacity(chain.len());
    for (at, index) in chain.iter().enumerate() {
        let Some(place) = places.get(*index) else { continue };
        let is_moved = !in_place.contains(index);
        if is_moved {
            let neighbour = |at: Option<usize>| at.and_then(|at| chain.get(at)).and_then(|index| places.get(*index));
            let (before, next) = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
            let goes_on = (before.map(|before| follows(before, place)), next.map(|next| follows(place, next)));
            let fits = match goes_on {
                (Some(before), Some(next)) if fit.needs_both_sides => before && next,
                (before, next) => before == Some(true) || next == Some(true),
            };
            moved = moved.saturating_add(if fits { place.size } else { 0 });
            if !fits || moved > MOST_MOVED {
                left_out.push((*index, Why::UnfitOffsets));
                continue;
            }
        }
        entries.push((*index, is_moved));
    }
    left_out.sort_unstable_by_key(|(index, _)| *index);
    EntryOrder { entries, left_out }
}

/// Entries that do not overlap, in the order of their offsets.
fn chain_of(places: &[EntryPosition], indexes: Vec<usize>, left_out: &mut Vec<(usize, Why)>) -> Vec<usize> {
    let single = without_copies(places, indexes, left_out);
    without_overlaps(places, single, left_out)
}

/// Sorts by offsets, and leaves the first of equal entries.
fn without_copies(places: &[EntryPosition], mut indexes: Vec<usize>, left_out: &mut Vec<(usize, Why)>) -> Vec<usize> {
    let key = |index: &usize| places.get(*index).map(|place| (place.last_offset, place.base_offset, place.size, place.crc, place.position));
    indexes.sort_unstable_by_key(key);
    let mut kept: Vec<usize> = Vec::with_capacity(indexes.len());
    for index in indexes {
        let before = kept.last().and_then(|last| places.get(*last));
        if before.zip(places.get(index)).is_some_and(|(before, place)| place.is_copy_of(before)) {
            left_out.push((index, Why::Copy));
        } else {
            kept.push(index);
        }
    }
    kept
}

/// The entries of greatest weight of which none overlap, out of entries in the order of their last offsets.
fn without_overlaps(places: &[EntryPosition], sorted: Vec<usize>, left_out: &mut Vec<(usize, Why)>) -> Vec<usize> {
    let of = |index: usize| places.get(index).copied();
    let lasts: Vec<i64> = sorted.iter().filter_map(|index| of(*index)).map(|place| place.last_offset).collect();
    // The greatest weight of the first so many, and for each how many of the first may come before it.
    let mut best = vec![0_u64];
    let mut before = Vec::with_capacity(sorted.len());
    for (at, index) in sorted.iter().enumerate() {
        let base = of(*index).map_or(0, |place| place.base_offset);
        let clear = lasts.get(..at).unwrap_or_default().partition_point(|last| *last < base);
        let taken = best.get(clear).copied().unwrap_or(0).saturating_add(weight(places, *index));
        best.push(best.get(at).copied().unwrap_or(0).max(taken));
        before.push(clear);
    }
    let mut chain = Vec::with_capacity(sorted.len());
    let mut at = sorted.len();
    while let Some(last) = at.checked_sub(1) {
        let Some(index) = sorted.get(last).copied() else { break };
        let is_taken = best.get(at) != best.get(last);
        if is_taken {
            chain.push(index);
        }
        let next = if is_taken { before.get(last).copied().unwrap_or(0) } else { last };
        // Between two taken ones lie those that overlap the later.
        let passed = sorted.get(next..if is_taken { last } else { at }).unwrap_or_default();
        left_out.extend(passed.iter().map(|index| (*index, Why::UnfitOffsets)));
        at = next;
    }
    chain.reverse();
    chain
}

/// An entry counts more when its offsets go on those of its neighbours in the input.
fn weight(places: &[EntryPosition], index: usize) -> u64 {
    let Some(place) = places.get(index) else { return 0 };
    let before = index.checked_sub(1).and_then(|before| places.get(before));
    let next = places.get(index + 1);
    4 + u64::from(before.is_some_and(|before| follows(before, place))) + u64::from(next.is_some_and(|next| follows(place, next)))
}

fn follows(before: &EntryPosition, place: &EntryPosition) -> bool {
    before.last_offset.checked_add(1) == Some(place.base_offset)
}

/// The most entries that are in the input in the order of their offsets.
fn longest_in_order(chain: &[usize]) -> BTreeSet<usize> {
    // Ends of the best runs of each length, as places in the chain, and what comes before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(chain.len());
    for (at, index) in chain.iter().enumerate() {
        let len = ends.partition_point(|end| chain.get(*end).is_some_and(|end| end < index));
        before.push(len.checked_sub(1).and_then(|len| ends.get(len)).copied());
        match ends.get_mut(len) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut at = ends.last().copied();
    let mut found = BTreeSet::new();
    while let Some(place) = at {
        found.extend(chain.get(place));
        at = before.get(place).copied().flatten();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of 10 offsets in the order of the input, by base offset.
    fn places(bases: &[i64]) -> Vec<EntryPosition> {
        let place = |(index, base): (usize, &i64)| EntryPosition {
            position: index as u64 * 100,
            size: 100,
            base_offset: *base,
            last_offset: base + 9,
            crc: *base as u32,
        };
        bases.iter().enumerate().map(place).collect()
    }

    fn ordered(bases: &[i64]) -> (Vec<i64>, Vec<(i64, Why)>) {
        let order = order_entries(&places(bases), AllowedOffsets::default(), &EntryRuns::default());
        let left_out = order.left_out.iter().map(|(index, why)| (bases[*index], *why)).collect();
        (order.entries.iter().map(|(index, _)| bases[*index]).collect(), left_out)
    }

    #[test]
    fn what_is_in_order_stays() {
        assert_eq!(ordered(&[0, 10, 20, 45, 60]), (vec![0, 10, 20, 45, 60], vec![]));
        assert_eq!(ordered(&[]), (vec![], vec![]));
    }

    #[test]
    fn swapped_blocks_are_sorted_in() {
        assert_eq!(ordered(&[0, 30, 40, 10, 20, 50]), (vec![0, 10, 20, 30, 40, 50], vec![]));
    }

    #[test]
    fn of_copies_the_first_stays() {
        assert_eq!(ordered(&[0, 10, 20, 10, 20, 30]), (vec![0, 10, 20, 30], vec![(10, Why::Copy), (20, Why::Copy)]));
    }

    #[test]
    fn a_damaged_offset_fits_nowhere() {
        for wild in [1 << 40, 14, 3, 1000] {
            assert_eq!(ordered(&[0, 10, wild, 30, 40]), (vec![0, 10, 30, 40], vec![(wild, Why::UnfitOffsets)]), "{wild}");
        }
    }

    #[test]
    fn what_does_not_fit_the_segment_is_left_out() {
        let order = order_entries(
            &places(&[0, 10, 20, 30]),
            AllowedOffsets { start: Some(10), end: Some(30), ..AllowedOffsets::default() },
            &EntryRuns::default(),
        );
        assert_eq!(order.entries, [(1, false), (2, false)]);
        assert_eq!(order.left_out, [(0, Why::UnfitOffsets), (3, Why::UnfitOffsets)]);
    }
}
