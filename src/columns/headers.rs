//! Record headers: ordered, repeated, with null values; list<struct<key, value>> per record.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, StringArray, StructArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;

use super::binary::{BytesColumn, Copied};
use super::bitmap;
use super::pooled_vec::PooledVec;
use crate::model::{HeaderRef, Section};
use crate::wire::java_text;

/// Headers for which room is made at once.
const AT_ONCE: usize = 256;

/// The headers of the rows of a chunk.
pub struct HeaderColumns<B> {
    ends: PooledVec<i32>,
    keys: Copied<i32>,
    values: B,
    /// Headers written.
    len: usize,
    /// Headers that there is space for.
    capacity: usize,
    /// Bytes of the coming records, for which the keys and values have no space yet.
    unreserved: usize,
    has_null_lists: bool,
    empty: Vec<usize>,
}

/// The finished parts, from which both forms of the column are made.
pub struct FinishedHeaders {
    ends: OffsetBuffer<i32>,
    key_ends: OffsetBuffer<i32>,
    key_data: Buffer,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
}

impl<B: BytesColumn> HeaderColumns<B> {
    /// No headers yet; with `has_null_lists`, records without headers are null.
    pub fn new(has_null_lists: bool) -> Self {
        Self {
            ends: PooledVec::new(),
            keys: Copied::new(),
            values: B::new(),
            len: 0,
            capacity: 0,
            unreserved: 0,
            has_null_lists,
            empty: Vec::new(),
        }
    }

    /// Makes space for `rows` rows in all and headers in `bytes` more bytes.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.ends.reserve(rows + 1);
        if self.len == 0 {
            self.ends.set(0, 0);
        }
        // Most batches have no headers: room for them is made when the first one comes.
        (self.capacity, self.unreserved) = (self.len, bytes);
    }

    /// Says which memory the next section lies in.
    pub fn keep(&mut self, owner: &Bytes, start: usize) {
        self.values.keep(owner, start);
    }

    /// Writes one header of the coming row.
    #[inline]
    pub fn header(&mut self, section: &Section<'_>, header: HeaderRef) {
        if self.len >= self.capacity {
            self.grow();
        }
        self.keys.write(self.len, section, Some(header.key()));
        self.values.put(self.len, section, header.value());
        self.len += 1;
    }

    /// Makes space for a few hundred more headers. All of them lie within the bytes of the coming records.
    #[cold]
    fn grow(&mut self) {
        self.capacity = self.len + AT_ONCE;
        let bytes = std::mem::take(&mut self.unreserved);
        self.keys.reserve(self.capacity, bytes);
        self.values.reserve(self.capacity, bytes);
    }

    /// Closes a row: the headers since the row before are its own.
    #[inline(always)]
    pub fn close(&mut self, row: usize, count: usize) {
        self.ends.set(row + 1, i32::try_from(self.len).unwrap_or(i32::MAX));
        if self.has_null_lists && count == 0 {
            self.empty.push(row);
        }
    }

    /// Forgets the rows from `row` on, and headers without a row.
    pub fn truncate(&mut self, row: usize) {
        let len = if row == 0 { 0 } else { self.ends.at(row).unwrap_or(0) };
        self.len = usize::try_from(len).unwrap_or(0);
        self.keys.truncate(self.len);
        self.values.truncate(self.len);
        self.empty.truncate(self.empty.partition_point(|empty| *empty < row));
    }

    /// Bytes copied so far.
    pub fn copied(&self) -> usize {
        self.keys.copied() + self.values.copied()
    }

    /// Bytes of offsets and nulls that the headers take besides their contents.
    pub fn overhead(&self) -> usize {
        16 * self.len
    }

    /// Gives the rows away.
    pub fn finish(&mut self, rows: usize) -> FinishedHeaders {
        self.ends.reserve(rows + 1);
        self.ends.set(0, 0);
        let ends = OffsetBuffer::new(ScalarBuffer::new(self.ends.finish(rows + 1), 0, rows + 1));
        let (key_ends, key_data, _) = self.keys.finish_parts(self.len);
        let values = self.values.finish(self.len);
        let nulls = bitmap::nulls(&self.empty, rows);
        (self.len, self.capacity, self.unreserved) = (0, 0, 0);
        self.empty.clear();
        FinishedHeaders { ends, key_ends, key_data, values, nulls }
    }
}

impl FinishedHeaders {
    /// Returns the headers with keys as text, decoded as Kafka's clients decode them (V2-20).
    pub fn to_text(&self) -> ArrayRef {
        let keys = StringArray::try_new(self.key_ends.clone(), self.key_data.clone(), None).unwrap_or_else(|_| self.lossy_keys());
        self.list(Arc::new(keys))
    }

    /// With keys as they are stored.
    pub fn to_raw(&self) -> ArrayRef {
        self.list(Arc::new(self.raw_keys()))
    }

    fn raw_keys(&self) -> BinaryArray {
        BinaryArray::new(self.key_ends.clone(), self.key_data.clone(), None)
    }

    #[cold]
    fn lossy_keys(&self) -> StringArray {
        self.raw_keys().iter().map(|key| key.map(java_text)).collect()
    }

    fn list(&self, keys: ArrayRef) -> ArrayRef {
        let fields = Fields::from(vec![
            Field::new("key", keys.data_type().clone(), true),
            Field::new("value", self.values.data_type().clone(), true),
        ]);
        let field = Arc::new(Field::new("element", DataType::Struct(fields.clone()), true));
        let rows = StructArray::new(fields, vec![keys, Arc::clone(&self.values)], None);
        Arc::new(ListArray::new(field, self.ends.clone(), Arc::new(rows), self.nulls.clone()))
    }
}
