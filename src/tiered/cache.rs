use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values by key, of which those least recently used are removed first. Any thread may use it.
///
/// An object under a name never changes, and time and size reveal tests and copies that do.
pub(super) struct Cache<K, V> {
    /// Most of what the values count together. One value is always kept.
    capacity: u64,
    cost: fn(&V) -> u64,
    kept: Mutex<CachedValues<K, V>>,
}

struct CachedValues<K, V> {
    /// With the time of the last use, by count.
    values: Option<HashMap<K, (u64, V)>>,
    by_use: BTreeMap<u64, K>,
    used: u64,
    now: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// `cost` is what a value counts of the capacity.
    pub(super) const fn new(capacity: u64, cost: fn(&V) -> u64) -> Self {
        Self { capacity, cost, kept: Mutex::new(CachedValues { values: None, by_use: BTreeMap::new(), used: 0, now: 0 }) }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        let mut kept = self.kept();
        kept.now += 1;
        let now = kept.now;
        let (used, value) = kept.values.as_mut()?.get_mut(key)?;
        let (before, value) = (std::mem::replace(used, now), value.clone());
        kept.by_use.remove(&before);
        kept.by_use.insert(now, key.clone());
        Some(value)
    }

    /// Keeps a value and returns it.
    pub(super) fn put(&self, key: K, value: V) -> V {
        let mut kept = self.kept();
        kept.now += 1;
        let (now, cost) = (kept.now, (self.cost)(&value));
        kept.used += cost;
        kept.by_use.insert(now, key.clone());
        if let Some((used, before)) = kept.values.get_or_insert_default().insert(key, (now, value.clone())) {
            kept.by_use.remove(&used);
            kept.used = kept.used.saturating_sub((self.cost)(&before));
        }
        while kept.used > self.capacity && kept.by_use.len() > 1 {
            let Some((_, oldest)) = kept.by_use.pop_first() else { break };
            let removed = kept.values.get_or_insert_default().remove(&oldest).map_or(0, |(_, value)| (self.cost)(&value));
            kept.used = kept.used.saturating_sub(removed);
        }
        value
    }

    /// Removes all values.
    pub(super) fn clear(&self) {
        *self.kept() = CachedValues { values: None, by_use: BTreeMap::new(), used: 0, now: 0 };
    }

    pub(super) fn len(&self) -> usize {
        self.kept().values.as_ref().map_or(0, HashMap::len)
    }

    fn kept(&self) -> MutexGuard<'_, CachedValues<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_values_go_first() {
        let cache: Cache<u8, Vec<u8>> = Cache::new(10, |value| crate::wire::as_u64(value.len()));
        for key in 0..3 {
            cache.put(key, vec![key; 4]);
            cache.get(&0);
        }
        assert_eq!([0, 1, 2].map(|key| cache.get(&key).is_some()), [true, false, true]);
        cache.put(9, vec![0; 99]);
        assert_eq!((cache.len(), cache.get(&9).map(|value| value.len())), (1, Some(99)));
        cache.put(9, vec![0; 1]);
        cache.put(8, vec![0; 9]);
        assert_eq!(cache.len(), 2);
        cache.clear();
        assert_eq!(cache.get(&9), None);
    }
}
