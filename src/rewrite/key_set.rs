//! A set of keys in bounded memory.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Keys of records, of which each is kept once. A null key can be one of them.
///
/// Memory: the bytes of all keys, and 13 to 21 bytes for each key. The seed of the hash is random, so that nobody can prepare keys that
/// collide.
#[derive(Clone, Debug)]
pub struct KeySet {
    seed: u64,
    /// One after the other.
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<u64>,
    /// Number of a key plus one; 0 for a free slot. Its length is a power of two.
    slots: Vec<u32>,
    has_null: bool,
}

const LEAST_SLOTS: usize = 16;

impl Default for KeySet {
    fn default() -> Self {
        let seed = RandomState::new().hash_one(0_u64);
        Self { seed, bytes: Vec::new(), ends: Vec::new(), slots: vec![0; LEAST_SLOTS], has_null: false }
    }
}

impl KeySet {
    /// Adds a key; false when it is one of them already, or when there are 2^32 - 1.
    pub fn insert(&mut self, key: Option<&[u8]>) -> bool {
        let Some(key) = key else { return !std::mem::replace(&mut self.has_null, true) };
        if self.ends.len() * 3 >= self.slots.len() * 2 {
            self.grow();
        }
        let (slot, found) = self.find(key);
        let Ok(number) = u32::try_from(self.ends.len() + 1) else { return false };
        if found {
            return false;
        }
        self.bytes.extend_from_slice(key);
        self.ends.push(crate::wire::as_u64(self.bytes.len()));
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = number;
        }
        true
    }

    /// True when the key is one of them.
    #[inline]
    pub fn contains(&self, key: Option<&[u8]>) -> bool {
        key.map_or(self.has_null, |key| self.find(key).1)
    }

    /// Keys, the null key among them.
    pub fn len(&self) -> usize {
        self.ends.len() + usize::from(self.has_null)
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slot of a key, or the free one that it would take.
    #[inline]
    fn find(&self, key: &[u8]) -> (usize, bool) {
        let mask = self.slots.len() - 1;
        let mut slot = usize::try_from(xxh3_64_with_seed(key, self.seed) & crate::wire::as_u64(mask)).unwrap_or(0);
        loop {
            match self.slots.get(slot) {
                Some(0) | None => return (slot, false),
                Some(number) if self.key(*number - 1) == key => return (slot, true),
                Some(_) => slot = (slot + 1) & mask,
            }
        }
    }

    fn key(&self, number: u32) -> &[u8] {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let end = |number: usize| self.ends.get(number).and_then(|end| usize::try_from(*end).ok());
        let start = number.checked_sub(1).map_or(Some(0), end).unwrap_or(0);
        self.bytes.get(start..end(number).unwrap_or(start)).unwrap_or_default()
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for number in 0..u32::try_from(self.ends.len()).unwrap_or(u32::MAX) {
            let (slot, _) = self.find(self.key(number));
            if let Some(slot) = self.slots.get_mut(slot) {
                *slot = number + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_each_key_once_and_no_other() {
        let mut keys = KeySet::default();
        for number in 0..10_000_u32 {
            assert!(keys.insert(Some(&number.to_be_bytes())));
            assert!(!keys.insert(Some(&number.to_be_bytes())));
        }
        assert!((0..10_000_u32).all(|number| keys.contains(Some(&number.to_be_bytes()))));
        assert!((10_000..20_000_u32).all(|number| !keys.contains(Some(&number.to_be_bytes()))));
        assert_eq!(keys.len(), 10_000);
    }

    #[test]
    fn tells_null_from_empty() {
        let mut keys = KeySet::default();
        assert!(keys.is_empty() && !keys.contains(None) && !keys.contains(Some(b"")));
        assert!(keys.insert(Some(b"")));
        assert!(keys.contains(Some(b"")) && !keys.contains(None));
        assert!(keys.insert(None) && !keys.insert(None));
        assert!(keys.contains(None));
        assert_eq!(keys.len(), 2);
    }
}
