//! Pooled storage that is written by index. It is always initialised, so that reuse costs nothing and no stale length can expose
//! anything but zeros or bytes of this same stream.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use bytemuck::{NoUninit, Zeroable};
use bytes::Bytes;

use crate::pool::{Pool, Pooled};

/// A run of values of one type. What lies after the values written is left over from earlier uses and never given away.
#[derive(Debug)]
pub struct PooledVec<T> {
    storage: Vec<T>,
    pool: Pool<T>,
}

/// A type of slots. The storage of all columns of a type comes from one pool, so that many short streams (a UDF decodes one per batch)
/// do not meet fresh pages each time.
pub trait PooledValue: NoUninit + Zeroable + Send + Sync {
    /// The pool of this type.
    fn pool() -> Pool<Self>;
}

macro_rules! pooled_values {
    ($($slot:ty),*) => {$(
        impl PooledValue for $slot {
            fn pool() -> Pool<Self> {
                static POOL: OnceLock<Pool<$slot>> = OnceLock::new();
                POOL.get_or_init(|| Pool::new(KEPT).up_to(MOST_KEPT_BYTES)).clone()
            }
        }
    )*};
}
pooled_values!(u8, i8, i16, i32, i64, u128);

/// Vectors that wait in the pool of a type at most.
const KEPT: usize = 16;
/// What they hold at most: a few chunks of 4 MiB, which were the fastest in Python's hands.
const MOST_KEPT_BYTES: usize = 48 << 20;

/// Bytes that storage grows by before they are asked for: small storage doubles, large storage must not take twice what it holds.
const MOST_AHEAD: usize = 64 << 20;

impl<T: PooledValue> PooledVec<T> {
    /// No values yet.
    pub fn new() -> Self {
        let pool = T::pool();
        Self { storage: pool.take(), pool }
    }

    /// Makes room for `len` values in all.
    #[inline]
    pub fn reserve(&mut self, len: usize) {
        if self.storage.len() < len {
            self.grow(len);
        }
    }

    /// Writes one value; nothing happens out of room.
    #[inline(always)]
    pub fn set(&mut self, index: usize, value: T) {
        if let Some(slot) = self.storage.get_mut(index) {
            *slot = value;
        }
    }

    /// Writes values from `start` on.
    #[inline]
    pub fn write(&mut self, start: usize, values: impl ExactSizeIterator<Item = T>) {
        self.reserve(start.saturating_add(values.len()));
        for (slot, value) in self.storage.iter_mut().skip(start).zip(values) {
            *slot = value;
        }
    }

    /// Writes the same value from `start` to `stop`.
    pub fn fill(&mut self, start: usize, stop: usize, value: T) {
        self.reserve(stop);
        if let Some(run) = self.storage.get_mut(start..stop) {
            run.fill(value);
        }
    }

    /// The value at `index`.
    #[inline(always)]
    pub fn at(&self, index: usize) -> Option<T> {
        self.storage.get(index).copied()
    }

    /// The storage to write to.
    #[inline(always)]
    pub fn storage_mut(&mut self) -> &mut [T] {
        &mut self.storage
    }

    /// Gives the first `len` values away as an Arrow buffer; the storage comes back when the buffer is dropped.
    pub fn finish(&mut self, len: usize) -> Buffer {
        let full = std::mem::replace(&mut self.storage, self.pool.take());
        let bytes = Bytes::from_owner(SharedValues(self.pool.guard(full)));
        Buffer::from(bytes).slice_with_length(0, len * size_of::<T>())
    }

    /// Gives the first `rows` values away as an Arrow array.
    pub fn finish_array<A: ArrowPrimitiveType<Native = T>>(&mut self, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef
    where
        T: ArrowNativeType,
    {
        Arc::new(PrimitiveArray::<A>::new(ScalarBuffer::new(self.finish(rows), 0, rows), nulls))
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let have = self.storage.len();
        let ahead = have.min(MOST_AHEAD / size_of::<T>());
        let len = len.max(have.saturating_add(ahead)).next_multiple_of(64);
        // Exactly: a vector would double on its own account.
        self.storage.reserve_exact(len.saturating_sub(have));
        self.storage.resize(len, T::zeroed());
    }
}

impl<T> Drop for PooledVec<T> {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.storage));
    }
}

struct SharedValues<T>(Pooled<T>);

impl<T: NoUninit> AsRef<[u8]> for SharedValues<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(self.0.contents())
    }
}
