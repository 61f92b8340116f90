use std::collections::BTreeMap;

/// Batches over offsets or times, in buckets whose width doubles as the range grows.
#[derive(Clone, Debug)]
pub struct Series {
    width: i64,
    /// By number; bucket n begins at n * width.
    buckets: BTreeMap<i64, Bucket>,
}

/// Some batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Bytes of the batches.
    pub bytes: u64,
    /// Records of those that count them.
    pub records: u64,
    /// The earliest and the latest of their largest timestamps.
    pub times: Option<(i64, i64)>,
    /// Batches whose time is before that of an earlier one.
    pub late: u64,
}

/// Buckets of a series; where more are needed, two of them become one. A plot shows no more.
const BUCKETS: i128 = 120;

impl Series {
    /// Adds a batch at an offset or time.
    pub fn add(&mut self, at: i64, batch: Bucket) {
        self.buckets.entry(at.div_euclid(self.width)).or_default().add(batch);
        while self.span() > BUCKETS {
            self.width *= 2;
            let narrow = std::mem::take(&mut self.buckets);
            narrow.into_iter().for_each(|(number, bucket)| self.buckets.entry(number.div_euclid(2)).or_default().add(bucket));
        }
    }

    /// Offsets or milliseconds of a bucket.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// Where each bucket begins and what is in it, from the first to the last, the empty ones too.
    pub fn points(&self) -> impl Iterator<Item = (i64, Bucket)> {
        let numbers = self.ends().map_or(0..0, |(first, last)| first..last.saturating_add(1));
        numbers.map(|number| (number.saturating_mul(self.width), self.buckets.get(&number).copied().unwrap_or_default()))
    }

    fn ends(&self) -> Option<(i64, i64)> {
        Some((*self.buckets.first_key_value()?.0, *self.buckets.last_key_value()?.0))
    }

    fn span(&self) -> i128 {
        self.ends().map_or(0, |(first, last)| i128::from(last) - i128::from(first) + 1)
    }
}

impl Default for Series {
    fn default() -> Self {
        Self { width: 1, buckets: BTreeMap::new() }
    }
}

impl Bucket {
    fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.records = self.records.saturating_add(other.records);
        self.late += other.late;
        self.times = match (self.times, other.times) {
            (Some((first, last)), Some((earlier, later))) => Some((first.min(earlier), last.max(later))),
            (times, None) | (None, times) => times,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_bounded_and_loses_nothing() {
        let mut series = Series::default();
        for at in [0, 1, 5, 1_000_000, i64::MAX, -7, 123_456, i64::MIN] {
            series.add(at, Bucket { bytes: 10, records: 2, times: Some((at, at)), late: 1 });
        }
        let points: Vec<_> = series.points().collect();
        assert!(points.len() <= 120, "{} points", points.len());
        let sum = points.iter().fold(Bucket::default(), |mut sum, (_, bucket)| {
            sum.add(*bucket);
            sum
        });
        assert_eq!(sum, Bucket { bytes: 80, records: 16, times: Some((i64::MIN, i64::MAX)), late: 8 });
        assert!(points.windows(2).all(|pair| pair[1].0 - pair[0].0 == series.width()));
    }

    #[test]
    fn a_place_is_in_the_bucket_that_begins_before_it() {
        let mut series = Series::default();
        for at in [-130, -1, 0, 129] {
            series.add(at, Bucket { bytes: 1, ..Bucket::default() });
        }
        let filled: Vec<_> = series.points().filter(|(_, bucket)| bucket.bytes > 0).map(|(start, _)| start).collect();
        assert_eq!((series.width(), filled), (4, vec![-132, -4, 0, 128]));
    }
}
