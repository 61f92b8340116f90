//! Runs of bytes as columns of views into what they were read from.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use bytes::Bytes;

use super::binary::BytesColumn;
use super::bitmap;
use super::pooled_vec::PooledVec;
use crate::model::Section;

/// Views into kept sections.
#[derive(Debug)]
pub struct Views {
    views: PooledVec<u128>,
    buffers: Vec<Buffer>,
    nulls: Vec<usize>,
    /// The memory of the last buffer, so that one buffer serves all sections in it.
    memory: Bytes,
    /// Where the section starts there.
    start: usize,
    /// Rows written, without a gap.
    written: usize,
    /// Arrow's layout cannot hold one of the views.
    is_unfit: bool,
}

/// Most bytes of a buffer that views point into: their offsets are signed 32-bit integers.
const MOST_OFFSET: usize = 0x7fff_ffff;

impl BytesColumn for Views {
    const KEEPS_SECTIONS: bool = true;

    fn new() -> Self {
        Self {
            views: PooledVec::new(),
            buffers: Vec::new(),
            nulls: Vec::new(),
            memory: Bytes::new(),
            start: 0,
            written: 0,
            is_unfit: false,
        }
    }

    fn reserve(&mut self, rows: usize, _: usize) {
        self.views.reserve(rows);
    }

    fn keep(&mut self, owner: &Bytes, start: usize) {
        let is_same = !self.buffers.is_empty() && (self.memory.as_ptr(), self.memory.len()) == (owner.as_ptr(), owner.len());
        if !is_same {
            self.buffers.push(Buffer::from(owner.clone()));
            self.memory = owner.clone();
        }
        self.start = start;
    }

    #[inline(always)]
    fn put(&mut self, row: usize, _: &Section<'_>, run: Option<(usize, usize)>) {
        let view = match run {
            Some((start, len)) => self.view(self.start.saturating_add(start), len),
            None => {
                self.nulls.push(row);
                0
            }
        };
        self.views.set(row, view);
        self.written += usize::from(row == self.written);
    }

    fn truncate(&mut self, row: usize) {
        self.nulls.truncate(self.nulls.partition_point(|null| *null < row));
        self.written = self.written.min(row);
    }

    fn copied(&self) -> usize {
        0
    }

    fn finish(&mut self, rows: usize) -> ArrayRef {
        // Rows for which there was no space are zeros now, which are views of no bytes.
        self.views.reserve(rows);
        let is_sound = self.written >= rows && !self.is_unfit;
        let nulls = bitmap::nulls(&self.nulls, rows);
        let views = ScalarBuffer::new(self.views.finish(rows), 0, rows);
        let buffers = std::mem::take(&mut self.buffers);
        self.nulls.clear();
        (self.memory, self.written, self.is_unfit) = (Bytes::new(), 0, false);
        Arc::new(if is_sound { unchecked(views, buffers, nulls) } else { BinaryViewArray::new(views, buffers, nulls) })
    }
}

impl Views {
    /// The view of bytes of the last buffer; of none, if it has no such bytes.
    #[inline(always)]
    fn view(&mut self, start: usize, len: usize) -> u128 {
        let bytes = self.memory.get(start..).and_then(|tail| tail.get(..len)).unwrap_or_default();
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if length <= MAX_INLINE_VIEW_LEN {
            return inline(bytes, length);
        }
        self.is_unfit |= start > MOST_OFFSET || length == u32::MAX;
        let prefix = bytes.first_chunk::<4>().map_or(0, |prefix| u32::from_le_bytes(*prefix));
        let buffer_index = u32::try_from(self.buffers.len().saturating_sub(1)).unwrap_or(u32::MAX);
        ByteView { length, prefix, buffer_index, offset: u32::try_from(start).unwrap_or(u32::MAX) }.as_u128()
    }
}

/// The view of bytes so few that they are in the view itself.
#[inline(always)]
fn inline(bytes: &[u8], length: u32) -> u128 {
    let mut raw = [0; 16];
    let (len, inline) = raw.split_at_mut(4);
    len.copy_from_slice(&length.to_le_bytes());
    inline.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u128::from_le_bytes(raw)
}

/// An array without the check of each view, which reads all bytes again and takes a quarter of a whole decode (decision 0032).
#[expect(unsafe_code, reason = "the constructor without a check of each view")]
fn unchecked(views: ScalarBuffer<u128>, buffers: Vec<Buffer>, nulls: Option<NullBuffer>) -> BinaryViewArray {
    // SAFETY: the caller is `Views::finish` with as many rows as `put` wrote since the buffers were empty, each of them by `Views::view`:
    // up to 12 bytes in the view, the rest of it zero, or a run inside the memory of the buffer that was the last one then. Buffers are only
    // added, and own their memory. No position was cut, or the rows go to the constructor that checks.
    unsafe { BinaryViewArray::new_unchecked(views, buffers.into(), nulls) }
}
