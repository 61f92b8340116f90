//! Storage that comes back: vectors whose owner returns them to a bounded pool when the last view of them is dropped.
//!
//! Fresh pages cost more than parsing (a page fault every 4 KiB), so a stream keeps writing into the few vectors it already has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A bounded store of vectors of one type, shared by a stream and the arrays it gave out.
#[derive(Debug)]
pub struct Pool<T> {
    shared: Arc<Mutex<PooledStorage<T>>>,
    most: usize,
    most_bytes: usize,
    /// The process that made it.
    process: u32,
}

#[derive(Debug)]
struct PooledStorage<T> {
    vectors: Vec<Vec<T>>,
    bytes: usize,
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ..*self }
    }
}

impl<T> Pool<T> {
    /// A pool that keeps at most `most` vectors.
    pub fn new(most: usize) -> Self {
        let kept = PooledStorage { vectors: Vec::new(), bytes: 0 };
        Self { shared: Arc::new(Mutex::new(kept)), most, most_bytes: usize::MAX, process: std::process::id() }
    }

    /// The same pool, keeping at most `bytes` bytes in all.
    #[must_use]
    pub fn up_to(self, bytes: usize) -> Self {
        Self { most_bytes: bytes, ..self }
    }

    /// A vector given back earlier, with the contents it had then, or a new one.
    pub fn take(&self) -> Vec<T> {
        let Some(mut kept) = self.lock() else { return Vec::new() };
        let storage = kept.vectors.pop().unwrap_or_default();
        kept.bytes = kept.bytes.saturating_sub(bytes_of(&storage));
        storage
    }

    /// Binds a vector to the pool: it comes back when the guard is dropped.
    pub fn guard(&self, storage: Vec<T>) -> Pooled<T> {
        Pooled { storage, pool: self.clone() }
    }

    /// Keeps `storage`, unless the pool is full.
    pub fn give_back(&self, storage: Vec<T>) {
        let Some(mut kept) = self.lock() else { return };
        let bytes = kept.bytes.saturating_add(bytes_of(&storage));
        if kept.vectors.len() < self.most && storage.capacity() > 0 && bytes <= self.most_bytes {
            kept.bytes = bytes;
            kept.vectors.push(storage);
        }
    }

    /// None in a forked child where a thread of its parent held the lock: nobody would unlock it.
    fn lock(&self) -> Option<MutexGuard<'_, PooledStorage<T>>> {
        match self.shared.try_lock() {
            Ok(kept) => Some(kept),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if self.process != std::process::id() => None,
            Err(TryLockError::WouldBlock) => Some(self.shared.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

fn bytes_of<T>(storage: &Vec<T>) -> usize {
    storage.capacity() * size_of::<T>()
}

/// A vector that returns to its pool when it is dropped.
#[derive(Debug)]
pub struct Pooled<T> {
    storage: Vec<T>,
    pool: Pool<T>,
}

impl<T> Pooled<T> {
    /// The vector's contents.
    pub fn contents(&self) -> &[T] {
        &self.storage
    }
}

impl AsRef<[u8]> for Pooled<u8> {
    fn as_ref(&self) -> &[u8] {
        &self.storage
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.storage));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_comes_back_when_the_last_view_is_dropped() {
        let pool = Pool::<u8>::new(1);
        let bytes = bytes::Bytes::from_owner(pool.guard(vec![7; 100]));
        let view = bytes.slice(3..5);
        drop(bytes);
        assert_eq!(pool.take().len(), 0);
        drop(view);
        assert_eq!(pool.take().len(), 100);
    }

    #[test]
    fn a_full_pool_lets_go() {
        let pool = Pool::<i64>::new(1);
        pool.give_back(vec![1; 4]);
        pool.give_back(vec![2; 4]);
        assert_eq!(pool.take(), vec![1; 4]);
        assert_eq!(pool.take(), Vec::<i64>::new());
    }

    #[test]
    fn bytes_are_counted_in_all_and_forgotten_when_they_leave() {
        let pool = Pool::<i64>::new(9).up_to(64);
        pool.give_back(vec![1; 4]);
        pool.give_back(vec![2; 5]);
        assert_eq!(pool.take(), vec![1; 4]);
        pool.give_back(vec![3; 8]);
        assert_eq!(pool.take(), vec![3; 8]);
    }
}
