//! Runs of bytes as columns of views into what they were read from.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray};
use arrow_buffer::{Buffer, ScalarBuffer};
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
