//! Runs of bytes as columns, copied behind 32-bit or 64-bit offsets; `views` has those that are not copied.

use std::sync::Arc;

use arrow_array::types::ByteArrayType;
use arrow_array::{ArrayRef, GenericByteArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;

use super::bitmap;
use super::pooled_vec::{PooledValue, PooledVec};
use crate::model::Section;

/// A column of nullable runs of bytes, written row by row.
pub trait BytesColumn: Send + 'static {
    /// Whether the column points into the sections that it was given.
    const KEEPS_SECTIONS: bool;

    /// An empty column.
    fn new() -> Self;
    /// Makes space for `rows` rows in all and `bytes` more bytes.
    fn reserve(&mut self, rows: usize, bytes: usize);
    /// Says which memory the section of the next rows lies in, and where it starts there.
    fn keep(&mut self, owner: &Bytes, start: usize);
    /// Writes one row: a run of the section, or null.
    fn put(&mut self, row: usize, section: &Section<'_>, run: Option<(usize, usize)>);
    /// Forgets the rows from `row` on.
    fn truncate(&mut self, row: usize);
    /// Bytes copied into the rows written so far.
    fn copied(&self) -> usize;
    /// Gives the rows away.
    fn finish(&mut self, rows: usize) -> ArrayRef;
}

/// Copies behind offsets of type `O`.
#[derive(Debug)]
pub struct Copied<O> {
    /// Where each row ends; the first entry is 0.
    ends: PooledVec<O>,
    data: PooledVec<u8>,
    len: usize,
    nulls: Vec<usize>,
}

/// Copies of up to this many bytes are made by one fixed-size load and store when there is space after both.
const SHORT: usize = 32;
/// The same for longer ones.
const MEDIUM: usize = 128;

/// Integers that can be Arrow offsets here.
pub trait Offset: OffsetSizeTrait + PooledValue {}
impl Offset for i32 {}
impl Offset for i64 {}

impl<O: Offset> Copied<O> {
    /// Writes one row.
    #[inline(always)]
    pub fn write(&mut self, row: usize, section: &Section<'_>, run: Option<(usize, usize)>) {
        match run {
            Some((start, len)) => {
                copy(self.data.storage_mut(), self.len, section.readable(), start, len);
                self.len += len;
            }
            None => self.nulls.push(row),
        }
        self.ends.set(row + 1, O::usize_as(self.len));
    }

    /// Copies the parts that an Arrow array is made of out of the column.
    pub fn finish_parts(&mut self, rows: usize) -> (OffsetBuffer<O>, Buffer, Option<NullBuffer>) {
        self.ends.reserve(rows + 1);
        self.ends.set(0, O::usize_as(0));
        let nulls = bitmap::nulls(&self.nulls, rows);
        let ends = OffsetBuffer::new(ScalarBuffer::new(self.ends.finish(rows + 1), 0, rows + 1));
        let data = self.data.finish(self.len);
        self.nulls.clear();
        self.len = 0;
        (ends, data, nulls)
    }

    /// Gives the rows away as an array of this byte type.
    pub fn finish_as<T: ByteArrayType<Offset = O>>(&mut self, rows: usize) -> ArrayRef {
        let (ends, data, nulls) = self.finish_parts(rows);
        Arc::new(GenericByteArray::<T>::new(ends, data, nulls))
    }
}

impl<O: Offset> BytesColumn for Copied<O> {
    const KEEPS_SECTIONS: bool = false;

    fn new() -> Self {
        Self { ends: PooledVec::new(), data: PooledVec::new(), len: 0, nulls: Vec::new() }
    }

    fn reserve(&mut self, rows: usize, bytes: usize) {
        self.ends.reserve(rows + 1);
        self.data.reserve(self.len + bytes + MEDIUM);
    }

    fn keep(&mut self, _: &Bytes, _: usize) {}

    #[inline(always)]
    fn put(&mut self, row: usize, section: &Section<'_>, run: Option<(usize, usize)>) {
        self.write(row, section, run);
    }

    fn truncate(&mut self, row: usize) {
        self.len = if row == 0 { 0 } else { self.ends.at(row).map_or(0, |end| end.as_usize()) };
        self.nulls.truncate(self.nulls.partition_point(|null| *null < row));
    }

    fn copied(&self) -> usize {
        self.len
    }

    fn finish(&mut self, rows: usize) -> ArrayRef {
        self.finish_as::<arrow_array::types::GenericBinaryType<O>>(rows)
    }
}

/// Copies in fixed-size pieces, which may overshoot into room that the next row overwrites; only what does not leave that room is copied
/// exactly.
#[inline(always)]
fn copy(to: &mut [u8], at: usize, from: &[u8], start: usize, len: usize) {
    let (Some(to), Some(from)) = (to.get_mut(at..), from.get(start..)) else { return };
    if len <= SHORT
        && let (Some(to), Some(from)) = (to.first_chunk_mut::<SHORT>(), from.first_chunk::<SHORT>())
    {
        *to = *from;
        return;
    }
    if len <= MEDIUM
        && let (Some(to), Some(from)) = (to.first_chunk_mut::<MEDIUM>(), from.first_chunk::<MEDIUM>())
    {
        *to = *from;
        return;
    }
    if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
        to.copy_from_slice(from);
    }
}
