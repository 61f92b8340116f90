//! Ranges of offsets by producer.

use std::collections::HashMap;

/// Ranges by producer id, each first and last offset inclusive, in the order of their first offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerRanges(HashMap<i64, Vec<(i64, i64)>>);

impl ProducerRanges {
    /// One more range of a producer.
    pub fn add(&mut self, producer_id: i64, first: i64, last: i64) {
        let own = self.0.entry(producer_id).or_default();
        let at = own.partition_point(|(start, _)| *start <= first);
        own.insert(at, (first, last));
    }

    /// The latest range that begins at `first` ends before `next`.
    pub fn end_before(&mut self, producer_id: i64, first: i64, next: i64) {
        let own = self.0.get_mut(&producer_id).and_then(|own| own.iter_mut().rev().find(|(start, _)| *start == first));
        if let Some((_, last)) = own {
            *last = (*last).min(next.saturating_sub(1));
        }
    }

    /// All ranges as (producer id, first offset, last offset), by first offset.
    pub fn to_vec(&self) -> Vec<(i64, i64, i64)> {
        let mut all: Vec<_> = self.0.iter().flat_map(|(id, own)| own.iter().map(|(first, last)| (*id, *first, *last))).collect();
        all.sort_unstable_by_key(|(id, first, _)| (*first, *id));
        all
    }

    /// Where the range of a producer ends in which an offset lies.
    pub fn find(&self, producer_id: i64, offset: i64) -> Option<i64> {
        let own = self.0.get(&producer_id)?;
        let next = own.partition_point(|(first, _)| *first <= offset);
        own.get(next.checked_sub(1)?).map(|(_, last)| *last).filter(|last| offset <= *last)
    }
}

impl FromIterator<(i64, i64, i64)> for ProducerRanges {
    fn from_iter<T: IntoIterator<Item = (i64, i64, i64)>>(ranges: T) -> Self {
        let mut by_producer = Self::default();
        for (producer_id, first, last) in ranges {
            by_producer.add(producer_id, first, last);
        }
        by_producer
    }
}
