//! A set of offsets, or of places of records in a file.

use crate::decode::OffsetRange;

/// Ranges of offsets in their order, which neither overlap nor touch: 32 bytes for each.
#[derive(Clone, Debug, Default)]
pub struct OffsetSet {
    ranges: Vec<OffsetRange>,
}

impl OffsetSet {
    /// The offsets of these ranges.
    pub fn new(mut ranges: Vec<OffsetRange>) -> Self {
        ranges.retain(|range| range.end.is_none_or(|end| end > range.start));
        ranges.sort_unstable_by_key(|range| range.start);
        let mut all = Self::default();
        ranges.into_iter().for_each(|range| all.add(range));
        all
    }

    /// Adds a range that starts at or after the start of each range before it.
    fn add(&mut self, next: OffsetRange) {
        match self.ranges.last_mut() {
            Some(last) if last.end.is_none_or(|end| next.start <= end) => {
                last.end = last.end.zip(next.end).map(|(own, other)| own.max(other));
            }
            _ => self.ranges.push(next),
        }
    }

    /// How many ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// True without offsets.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// True for an offset of the set.
    #[inline]
    pub fn contains(&self, offset: i64) -> bool {
        self.before(offset).is_some_and(|range| range.contains(offset))
    }

    /// The last range that starts at or before an offset.
    fn before(&self, offset: i64) -> Option<&OffsetRange> {
        let after = self.ranges.partition_point(|range| range.start <= offset);
        after.checked_sub(1).and_then(|at| self.ranges.get(at))
    }
}

impl FromIterator<i64> for OffsetSet {
    /// Offsets of the same range that follow each other take the space of one.
    fn from_iter<I: IntoIterator<Item = i64>>(offsets: I) -> Self {
        let mut runs: Vec<OffsetRange> = Vec::new();
        for start in offsets {
            match runs.last_mut() {
                Some(run) if run.end == Some(start) => run.end = start.checked_add(1),
                _ => runs.push(OffsetRange { start, end: start.checked_add(1) }),
            }
        }
        Self::new(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_any_order_are_a_set() {
        let range = |start, end| OffsetRange { start, end };
        let set = OffsetSet::new(vec![range(20, Some(30)), range(3, Some(5)), range(5, Some(7)), range(22, Some(25)), range(9, Some(9))]);
        assert_eq!(set.len(), 2);
        let expected: Vec<i64> = (3..7).chain(20..30).collect();
        assert_eq!((-5..40).filter(|offset| set.contains(*offset)).collect::<Vec<_>>(), expected);
        let open = OffsetSet::new(vec![range(50, None), range(3, Some(4)), range(60, Some(70))]);
        assert!(open.len() == 2 && open.contains(i64::MAX) && !open.contains(49));
    }

    #[test]
    fn single_offsets_are_the_set_of_them() {
        let set: OffsetSet = [1, 2, 3, 9, 8, i64::MAX, i64::MIN].into_iter().collect();
        assert!([1, 2, 3, 8, 9, i64::MAX, i64::MIN].into_iter().all(|offset| set.contains(offset)));
        assert!(!set.contains(4) && !set.contains(0) && set.len() == 4);
    }
}
