use std::collections::BTreeMap;

/// Batches over offsets or times, in buckets whose width doubles when they become many.
#[derive(Clone, Debug)]
pub struct Series {
    width: i64,
    /// By number; bucket n begins at n * width. Only those with batches.
    buckets: BTreeMap<i64, Bucket>,
}

/// A series as a plot shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlottedSeries {
    /// Offsets or milliseconds of a bucket.
    pub width: i64,
    /// Where each bucket begins and what is in it, from the first to the last, the empty ones too.
    pub points: Vec<(i64, Bucket)>,
    /// The buckets of a few batches so far from all others that an axis with both would show neither.
    pub outliers: Vec<(i64, Bucket)>,
    /// The first and the last offset or time of the batches, without the outliers.
    pub ends: Option<(i64, i64)>,
}

/// Some batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// How many batches.
    pub batches: u64,
    /// Bytes of the batches.
    pub bytes: u64,
    /// Records of those that count them.
    pub records: u64,
    /// The earliest time of a first record, as far as headers say it, and the latest of the largest timestamps.
    pub times: Option<(i64, i64)>,
    /// The first and the last offset or time that they reach.
    pub reach: Option<(i64, i64)>,
    /// Batches whose time is before that of an earlier one.
    pub late: u64,
}

/// Buckets that are drawn.
const DRAWN: i128 = 120;
/// Buckets that are kept; where there are more, two of them become one.
const KEPT: usize = 2048;

impl Series {
    /// Adds a batch at an offset or time.
    pub fn add(&mut self, at: i64, batch: Bucket) {
        let reach = batch.reach.or(Some((at, at)));
        self.buckets.entry(at.div_euclid(self.width)).or_default().add(Bucket { reach, ..batch });
        while self.buckets.len() > KEPT {
            self.width *= 2;
            let narrow = std::mem::take(&mut self.buckets);
            narrow.into_iter().for_each(|(number, bucket)| self.buckets.entry(number.div_euclid(2)).or_default().add(bucket));
        }
    }

    /// The buckets of a plot, at most 120 without the outliers.
    pub fn drawn(&self) -> PlottedSeries {
        let numbers: Vec<_> = self.buckets.iter().map(|(number, bucket)| (*number, bucket.batches)).collect();
        let Some((first, last)) = ends(without_outliers(&numbers)) else {
            return PlottedSeries { width: self.width, ..PlottedSeries::default() };
        };
        let mut wider = 1_i64;
        while span(first.div_euclid(wider), last.div_euclid(wider)) > DRAWN {
            wider *= 2;
        }
        let (mut inside, mut outside) = (BTreeMap::new(), BTreeMap::new());
        for (number, bucket) in &self.buckets {
            let side: &mut BTreeMap<i64, Bucket> = if (first..=last).contains(number) { &mut inside } else { &mut outside };
            side.entry(number.div_euclid(wider)).or_default().add(*bucket);
        }
        let width = self.width.saturating_mul(wider);
        let placed = |number: i64, bucket| (number.saturating_mul(width), bucket);
        let ends = inside.values().fold(None, |ends, bucket| joined(ends, bucket.reach));
        let numbers = first.div_euclid(wider)..=last.div_euclid(wider);
        let points = numbers.map(|number| placed(number, inside.get(&number).copied().unwrap_or_default())).collect();
        PlottedSeries { width, points, outliers: outside.into_iter().map(|(number, bucket)| placed(number, bucket)).collect(), ends }
    }
}

/// Numbers of buckets and their batches, without the few that lie farther from the others than these from each other.
fn without_outliers(mut numbers: &[(i64, u64)]) -> &[(i64, u64)] {
    while let Some((first, last)) = ends(numbers).filter(|(first, last)| span(*first, *last) > DRAWN) {
        let gaps = numbers.windows(2).enumerate().filter_map(|(index, pair)| match pair {
            [(before, _), (after, _)] => Some((span(*before, *after), index + 1)),
            _ => None,
        });
        let Some((_, middle)) = gaps.max().filter(|(gap, _)| gap * 2 > span(first, last)) else { break };
        let (before, after) = numbers.split_at(middle);
        let batches = |side: &[(i64, u64)]| side.iter().map(|(_, batches)| batches).sum::<u64>();
        let (fewer, more) = if batches(before) < batches(after) { (before, after) } else { (after, before) };
        let all = batches(numbers);
        if batches(fewer) > (all / 20).max(1) || batches(fewer) * 4 >= all {
            break;
        }
        numbers = more;
    }
    numbers
}

fn ends(numbers: &[(i64, u64)]) -> Option<(i64, i64)> {
    Some((numbers.first()?.0, numbers.last()?.0))
}

fn span(first: i64, last: i64) -> i128 {
    i128::from(last) - i128::from(first) + 1
}

impl Default for Series {
    fn default() -> Self {
        Self { width: 1, buckets: BTreeMap::new() }
    }
}

impl Bucket {
    fn add(&mut self, other: Self) {
        self.batches += other.batches;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.records = self.records.saturating_add(other.records);
        self.late += other.late;
        self.times = joined(self.times, other.times);
        self.reach = joined(self.reach, other.reach);
    }
}

/// The range from the lower first to the higher last number of two ranges.
fn joined(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (one, other) {
        (Some((first, last)), Some((earlier, later))) => Some((first.min(earlier), last.max(later))),
        (range, None) | (None, range) => range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(places: impl IntoIterator<Item = i64>) -> Series {
        let mut series = Series::default();
        for at in places {
            series.add(at, Bucket { batches: 1, bytes: 10, records: 2, times: Some((at, at)), late: 1, reach: None });
        }
        series
    }

    #[test]
    fn a_series_is_bounded_and_loses_nothing() {
        for places in [vec![0, 1, 5, 1_000_000, i64::MAX, -7, 123_456, i64::MIN], (0..100_000).map(|at| at * at).collect()] {
            let drawn = series(places.iter().copied()).drawn();
            assert!(drawn.points.len() <= 120, "{} points", drawn.points.len());
            let sum = drawn.points.iter().chain(&drawn.outliers).fold(Bucket::default(), |mut sum, (_, bucket)| {
                sum.add(*bucket);
                sum
            });
            let count = u64::try_from(places.len()).unwrap();
            let times = Some((*places.iter().min().unwrap(), *places.iter().max().unwrap()));
            assert_eq!(sum, Bucket { batches: count, bytes: 10 * count, records: 2 * count, times, late: count, reach: times });
            assert!(drawn.points.windows(2).all(|pair| pair[1].0 - pair[0].0 == drawn.width));
        }
        assert_eq!(series([]).drawn(), PlottedSeries { width: 1, ..PlottedSeries::default() });
    }

    #[test]
    fn a_place_is_in_the_bucket_that_begins_before_it() {
        let drawn = series([-130, -1, 0, 129]).drawn();
        let filled: Vec<_> = drawn.points.iter().filter(|(_, bucket)| bucket.bytes > 0).map(|(start, _)| *start).collect();
        assert_eq!((drawn.width, filled, drawn.outliers.len()), (4, vec![-132, -4, 0, 128], 0));
        assert_eq!(drawn.ends, Some((-130, 129)));
    }

    #[test]
    fn a_few_far_places_do_not_widen_the_buckets_of_the_others() {
        let usual = || (0..100).map(|step| 1_700_000_000_000 + step * 1_000);
        let alone = series(usual()).drawn();
        for far in [vec![0], vec![4_000_000_000_000], vec![0, 5, 4_000_000_000_000]] {
            let drawn = series(far.iter().copied().chain(usual())).drawn();
            assert_eq!((drawn.width, &drawn.points), (alone.width, &alone.points), "{far:?}");
            assert_eq!(drawn.outliers.iter().map(|(_, bucket)| bucket.batches).sum::<u64>(), u64::try_from(far.len()).unwrap());
        }
        // As many on one side as on the other: both are shown.
        assert_eq!(series((0..50).chain(1_000_000..1_000_050)).drawn().outliers, []);
        assert_eq!(series([0, 1_000_000]).drawn().outliers, []);
    }
}
