//! Which partition a record goes to, as Kafka's producer decides it (`BuiltInPartitioner` and `Utils.murmur2` in Kafka's clients).

/// Chooses partitions for the records of one topic.
///
/// A key decides by its hash. Records without one stay with a partition until it got about a batch of bytes, then go to the next: the
/// producer chooses the next one at random, which would make a repeated task write something else.
#[derive(Clone, Copy, Debug)]
pub struct Partitioner {
    partitions: u32,
    batch_bytes: usize,
    sticky: u32,
    filled: usize,
}

impl Partitioner {
    /// For a topic of so many partitions, at least one. Records without keys begin with partition `start`, modulo their number.
    pub fn new(partitions: u32, start: u32, batch_bytes: usize) -> Self {
        let partitions = partitions.clamp(1, i32::MAX.cast_unsigned());
        Self { partitions, batch_bytes, sticky: start % partitions, filled: 0 }
    }

    /// The partition of a record with this key, or of one with `len` bytes that has none.
    #[inline]
    pub fn partition(&mut self, key: Option<&[u8]>, len: usize) -> i32 {
        match key {
            Some(key) => (murmur2(key).cast_unsigned() & POSITIVE) % self.partitions,
            None => self.keyless(len),
        }
        .cast_signed()
    }

    fn keyless(&mut self, len: usize) -> u32 {
        if self.filled >= self.batch_bytes {
            self.sticky = (self.sticky + 1) % self.partitions;
            self.filled = 0;
        }
        self.filled = self.filled.saturating_add(len);
        self.sticky
    }
}

/// Kafka makes a hash positive by dropping its sign bit.
const POSITIVE: u32 = 0x7fff_ffff;

/// The hash of a key: MurmurHash2 of 32 bits with Kafka's seed.
pub fn murmur2(key: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;
    // A length of 4 GiB or more does not fit Arrow's runs of one row's key in practice; Java's arrays end at 2 GiB.
    let mut hash = SEED ^ u32::try_from(key.len()).unwrap_or(u32::MAX);
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mixed = u32::from_le_bytes(*word).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ (mixed ^ (mixed >> R)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail: u32, byte| (tail << 8) | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    (hash ^ (hash >> 15)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Kafka's own test of `Utils.murmur2`.
    #[test]
    fn the_hash_is_that_of_kafka() {
        let vectors: [(&[u8], i32); 6] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
        ];
        for (key, hash) in vectors {
            assert_eq!(murmur2(key), hash, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn a_key_decides_by_its_positive_hash() {
        let mut partitioner = Partitioner::new(7, 3, 16384);
        for key in [b"21".as_slice(), b"foobar", b"abc", b""] {
            let expected = (murmur2(key) & 0x7fff_ffff) % 7;
            assert_eq!(partitioner.partition(Some(key), 1), expected);
        }
    }

    #[test]
    fn records_without_keys_stay_until_a_batch_is_full() {
        let mut partitioner = Partitioner::new(3, 4, 100);
        let chosen: Vec<i32> = (0..7).map(|_| partitioner.partition(None, 50)).collect();
        assert_eq!(chosen, [1, 1, 2, 2, 0, 0, 1]);
    }
}
