/// How many of which size, by powers of two: bucket n counts sizes from 2**(n-1) to before 2**n, bucket 0 those of 0 and less.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: [u64; Self::BUCKETS],
    total: u64,
    sum: u64,
    least: u64,
    most: u64,
}

impl Histogram {
    /// One for each length of a number in bits.
    const BUCKETS: usize = 65;

    /// Counts one.
    pub fn add(&mut self, size: u64) {
        let bits = usize::try_from(u64::BITS - size.leading_zeros()).unwrap_or(0);
        if let Some(count) = self.counts.get_mut(bits) {
            *count += 1;
        }
        self.total += 1;
        self.sum = self.sum.saturating_add(size);
        self.least = self.least.min(size);
        self.most = self.most.max(size);
    }

    /// The buckets that counted something: number and count.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What they add up to.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest and the largest; `None` when nothing was counted.
    pub fn bounds(&self) -> Option<(u64, u64)> {
        (self.total > 0).then_some((self.least, self.most))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; Self::BUCKETS], total: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_by_powers_of_two() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.bounds(), None);
        [0, 1, 2, 3, 4, u64::MAX].into_iter().for_each(|size| histogram.add(size));
        assert_eq!(histogram.counts().collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 2), (3, 1), (64, 1)]);
        assert_eq!((histogram.total(), histogram.sum(), histogram.bounds()), (6, u64::MAX, Some((0, u64::MAX))));
    }
}
