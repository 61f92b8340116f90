//! Runs of bytes as columns: copied behind 32-bit or 64-bit offsets, or as views into what they were read from.

use std::sync::Arc;

use arrow_array::types::ByteArrayType;
use arrow_array::{ArrayRef, BinaryViewArray, GenericByteArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
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

/// Views into kept sections.
#[derive(Debug)]
pub struct Views {
    views: PooledVec<u128>,
    buffers: Vec<Buffer>,
    nulls: Vec<usize>,
    /// Start of the memory of the last buffer, so that one buffer serves all sections in it.
    memory: Option<(usize, usize)>,
    start: usize,
}

impl BytesColumn for Views {
    const KEEPS_SECTIONS: bool = true;

    fn new() -> Self {
        Self { views: PooledVec::new(), buffers: Vec::new(), nulls: Vec::new(), memory: None, start: 0 }
    }

    fn reserve(&mut self, rows: usize, _: usize) {
        self.views.reserve(rows);
    }

    fn keep(&mut self, owner: &Bytes, start: usize) {
        let memory = (owner.as_ptr().addr(), owner.len());
        if self.memory != Some(memory) {
            self.buffers.push(Buffer::from(owner.clone()));
            self.memory = Some(memory);
        }
        self.start = start;
    }

    #[inline(always)]
    fn put(&mut self, row: usize, section: &Section<'_>, run: Option<(usize, usize)>) {
        let view = match run {
            Some((start, len)) => view(section.run(start, len), self.buffers.len().saturating_sub(1), self.start + start),
            None => {
                self.nulls.push(row);
                0
            }
        };
        self.views.set(row, view);
    }

    fn truncate(&mut self, row: usize) {
        self.nulls.truncate(self.nulls.partition_point(|null| *null < row));
    }

    fn copied(&self) -> usize {
        0
    }

    fn finish(&mut self, rows: usize) -> ArrayRef {
        let nulls = bitmap::nulls(&self.nulls, rows);
        let views = ScalarBuffer::new(self.views.finish(rows), 0, rows);
        self.nulls.clear();
        self.memory = None;
        Arc::new(BinaryViewArray::new(views, std::mem::take(&mut self.buffers), nulls))
    }
}

#[inline(always)]
fn view(bytes: &[u8], buffer: usize, offset: usize) -> u128 {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    if length <= MAX_INLINE_VIEW_LEN {
        let mut raw = [0; 16];
        let (len, inline) = raw.split_at_mut(4);
        len.copy_from_slice(&length.to_le_bytes());
        inline.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        return u128::from_le_bytes(raw);
    }
    let prefix = bytes.first_chunk::<4>().map_or(0, |prefix| u32::from_le_bytes(*prefix));
    let buffer_index = u32::try_from(buffer).unwrap_or(u32::MAX);
    ByteView { length, prefix, buffer_index, offset: u32::try_from(offset).unwrap_or(u32::MAX) }.as_u128()
}
