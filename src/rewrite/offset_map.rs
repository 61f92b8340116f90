//! The latest offset of each key, in bounded memory (`SkimpyOffsetMap`).

use sha2::{Digest, Sha256};

/// Keys by 128 bits of their SHA-256, and the latest offset of each: 24 bytes a slot, as in Kafka, which takes MD5.
///
/// Memory is reserved once, as zeros: the system backs a page when a key first uses it. Nine of ten slots are used at most.
#[derive(Debug)]
pub struct OffsetMap {
    slots: Vec<Slot>,
    len: usize,
}

/// The hash of a key, and the offset after its latest one; 0 there is a free slot. A tuple, not a struct: `vec!` reserves zeroed memory
/// only of types that the standard library knows to be zero.
type Slot = (Hash, i64);
/// The first 128 bits of the SHA-256 of a key.
type Hash = (u64, u64);

/// 16 bytes of hash and 8 of offset, as in Kafka.
const SLOT_BYTES: usize = size_of::<Slot>();

impl OffsetMap {
    /// A map of at most so many bytes.
    pub fn new(memory: usize) -> Self {
        Self { slots: vec![((0, 0), 0); (memory / SLOT_BYTES).max(2)], len: 0 }
    }

    /// Keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Notes the latest offset of a key; false when the map is full, and the key is not in it.
    pub fn put(&mut self, key: &[u8], offset: i64) -> bool {
        let hash = hash(key);
        let Some(slot) = self.slot(hash) else { return false };
        let most = (self.slots.len() / 10 * 9).max(1);
        let Some(found) = self.slots.get_mut(slot) else { return false };
        let (_, next) = *found;
        if next == 0 {
            if self.len >= most {
                return false;
            }
            self.len += 1;
        }
        *found = (hash, offset.saturating_add(1));
        true
    }

    /// The latest offset of a key.
    pub fn get(&self, key: &[u8]) -> Option<i64> {
        let (_, next) = *self.slot(hash(key)).and_then(|slot| self.slots.get(slot))?;
        (next > 0).then(|| next - 1)
    }

    /// The slot of a hash, or the free slot that it would take.
    fn slot(&self, hash: Hash) -> Option<usize> {
        let len = self.slots.len();
        let first = usize::try_from(hash.0 % crate::wire::as_u64(len)).ok()?;
        (0..len).map(|at| (first + at) % len).find(|slot| self.slots.get(*slot).is_some_and(|(held, next)| *next == 0 || *held == hash))
    }
}

fn hash(key: &[u8]) -> Hash {
    let digest = Sha256::digest(key);
    let half = |at: usize| digest.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |bytes| u64::from_be_bytes(*bytes));
    (half(0), half(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_offset_of_a_key_counts_and_a_full_map_takes_no_new_key() {
        let mut map = OffsetMap::new(SLOT_BYTES * 20);
        for offset in 0..36_i64 {
            assert!(map.put(&(offset % 18).to_be_bytes(), offset));
        }
        assert_eq!(map.len(), 18);
        assert!(!map.put(b"another", 36));
        assert!(map.put(&0_i64.to_be_bytes(), 40));
        assert_eq!((map.get(&0_i64.to_be_bytes()), map.get(&17_i64.to_be_bytes()), map.get(b"another")), (Some(40), Some(35), None));
    }
}
