use std::collections::HashMap;

/// Batches of one producer id; epochs as the headers have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProducerCounts {
    /// Batches, its markers too.
    pub batches: u64,
    /// Records that are no markers.
    pub records: u64,
    /// Batches of transactions, without markers.
    pub transactional: u64,
    /// The highest epoch.
    pub epoch: i16,
    /// Its last batch was of a transaction, and no marker came since.
    pub is_open: bool,
}

/// Producers by id.
#[derive(Clone, Debug, Default)]
pub struct ProducersById {
    known: HashMap<i64, ProducerCounts>,
    other_batches: u64,
}

/// Producers that are kept one by one, some hundred KiB of them.
const MOST: usize = 10_000;

impl ProducersById {
    /// The producer of a batch; `None` when there are too many, which is counted.
    pub fn of_batch(&mut self, id: i64) -> Option<&mut ProducerCounts> {
        if self.known.len() >= MOST && !self.known.contains_key(&id) {
            self.other_batches += 1;
            return None;
        }
        Some(self.known.entry(id).or_insert(ProducerCounts { epoch: -1, ..ProducerCounts::default() }))
    }

    /// Those that are kept one by one, by id.
    pub fn known(&self) -> Vec<(i64, ProducerCounts)> {
        let mut known: Vec<_> = self.known.iter().map(|(id, producer)| (*id, *producer)).collect();
        known.sort_unstable_by_key(|(id, _)| *id);
        known
    }

    /// Batches of all others.
    pub fn other_batches(&self) -> u64 {
        self.other_batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producers_beyond_the_limit_are_counted_by_their_batches() {
        let mut producers = ProducersById::default();
        for id in 0..10_007 {
            if let Some(producer) = producers.of_batch(id % 10_003) {
                producer.batches += 1;
            }
        }
        assert_eq!((producers.known().len(), producers.other_batches()), (10_000, 3));
        assert_eq!(producers.known().iter().map(|(_, producer)| producer.batches).sum::<u64>(), 10_004);
    }
}
