//! The chunk being written: one row per record, closed into an Arrow record batch. Columns that nobody asked for do not exist.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;

use super::binary::BytesColumn;
use super::bitmap;
use super::constant::Constant;
use super::headers::{FinishedHeaders, HeaderColumns};
use super::perbatch::BatchRuns;
use super::pooled_vec::PooledVec;
use super::record_metadata::RecordMetadata;
use super::schema::{Column, Projection};
use crate::decode::{DecodeOptions, DecodedBatch, RecordFilter, RecordsSource};
use crate::error::Result;
use crate::model::{BatchHeader, HeaderRef, RecordRef, RecordSink, Section};
use crate::validate::Finding;
use crate::wire::prefetch::Ahead;

/// Columns under construction.
pub struct RecordColumns<B> {
    projection: Projection,
    schema: SchemaRef,
    rows: usize,
    weight: usize,
    key: Option<B>,
    value: Option<B>,
    headers: Option<HeaderColumns<B>>,
    offset: Option<PooledVec<i64>>,
    timestamp: Option<PooledVec<i64>>,
    timestamp_nulls: Vec<usize>,
    timestamp_ms: Option<PooledVec<i64>>,
    metadata: Option<RecordMetadata>,
    batches: BatchRuns,
    topic: Constant<String>,
    partition: Constant<i32>,
}

/// Which part of bytes that stay where they are counts, and what a row of them counts besides: fewer, larger chunks of large values, and chunks
/// of small ones that stay in the cache.
const VIEWED_SHARE: usize = 16;
const VIEWED_ROW: usize = 128;

/// Microseconds in a millisecond.
const US_PER_MS: i64 = 1000;

impl<B: BytesColumn> RecordColumns<B> {
    /// Empty columns. `topic` and `partition` are not in the bytes; the caller knows them or not, and so it is with the aliases of plugins.
    pub fn new(projection: Projection, topic: Option<String>, partition: Option<i32>, decode: &DecodeOptions) -> Self {
        let has = |column| projection.has(column);
        let bytes = |column| has(column).then(B::new);
        let integers = |column| has(column).then(PooledVec::new);
        let has_headers = has(Column::Headers) || has(Column::HeadersRaw);
        Self {
            schema: projection.schema(),
            rows: 0,
            weight: 0,
            key: bytes(Column::Key),
            value: bytes(Column::Value),
            headers: has_headers.then(|| HeaderColumns::new(projection.has_null_headers)),
            offset: integers(Column::Offset),
            timestamp: integers(Column::Timestamp),
            timestamp_nulls: Vec::new(),
            timestamp_ms: integers(Column::TimestampMs),
            metadata: RecordMetadata::of(&projection, topic.as_deref(), &decode.limits),
            batches: BatchRuns::of(&projection, decode.codecs.plugins.clone()),
            topic: Constant::new(topic),
            partition: Constant::new(partition),
            projection,
        }
    }

    /// The Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Rows written.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// About how many bytes of keys, values and headers the rows hold on to.
    pub fn weight(&self) -> usize {
        let bytes = if B::KEEPS_SECTIONS { self.weight } else { self.copied() };
        let decoded = self.metadata.as_ref().map_or(0, RecordMetadata::copied);
        bytes + decoded + self.headers.as_ref().map_or(0, HeaderColumns::overhead)
    }

    /// Most that `records` records of so many uncompressed bytes can add to the weight. Views keep the memory of what was decompressed for
    /// them; the bytes of an entry stay where they are in any case, and weigh little.
    pub fn weight_of(&self, records: usize, bytes: usize, records_source: RecordsSource) -> usize {
        let is_decoded = self.projection.has(Column::Internal);
        let has_bytes = self.key.is_some() || self.value.is_some() || self.headers.is_some() || is_decoded;
        if !has_bytes {
            return 0;
        }
        let is_viewed = B::KEEPS_SECTIONS && records_source == RecordsSource::Input && !is_decoded;
        if is_viewed { (bytes / VIEWED_SHARE).saturating_add(records.saturating_mul(VIEWED_ROW)).min(bytes) } else { bytes }
    }

    /// Bytes copied into the rows written so far.
    pub fn copied(&self) -> usize {
        self.key.as_ref().map_or(0, B::copied)
            + self.value.as_ref().map_or(0, B::copied)
            + self.headers.as_ref().map_or(0, HeaderColumns::copied)
    }

    /// Says which memory the next section lies in, and where it starts there.
    pub fn keep(&mut self, owner: &Bytes, start: usize) {
        self.key.iter_mut().chain(&mut self.value).for_each(|column| column.keep(owner, start));
        if let Some(headers) = &mut self.headers {
            headers.keep(owner, start);
        }
    }

    /// Writes the next `records` records of an opened entry; the bytes `next` will be needed after that. When one of them is bad, the rows of this call are taken back.
    ///
    /// # Errors
    /// As `Walk::advance`.
    #[inline]
    pub fn append(&mut self, opened: &mut DecodedBatch, section: &Section<'_>, records: usize, next: &[u8]) -> Result<()> {
        let before = (self.rows, self.weight);
        let records = records.min(opened.walk.left());
        let left = section.len().saturating_sub(opened.walk.position());
        // An entry that is spread over chunks is written record by record: room for all of it in each chunk would be quadratic.
        let bytes = if records == 1 { opened.walk.next_len(section).min(left) } else { left };
        self.reserve(records, bytes);
        let (header, filter, append_time) = (opened.header, opened.filter, opened.append_time);
        let start = opened.walk.position();
        let row = self.rows;
        let mut sink = RecordColumnSink { columns: self, section: *section, header: &header, filter, append_time, row };
        let walked =
            opened.walk.advance_asking(section, records, Ahead::new(next, records), &mut sink).and_then(|()| opened.walk.finish(section));
        self.rows = sink.row;
        self.weight += self.weight_of(self.rows - before.0, opened.walk.position() - start, opened.records_source);
        if let Err(error) = walked {
            self.truncate(before);
            return Err(error);
        }
        self.batches.close(self.rows, &header);
        Ok(())
    }

    /// Takes what is worth knowing about what records say, for the rows since the last chunk.
    pub fn take_findings(&mut self) -> impl Iterator<Item = Finding> {
        self.metadata.iter_mut().flat_map(RecordMetadata::take_findings)
    }

    /// Where the rows are now.
    pub fn mark(&self) -> (usize, usize) {
        (self.rows, self.weight)
    }

    /// Forgets the rows written since the mark.
    pub fn back_to(&mut self, mark: (usize, usize)) {
        self.truncate(mark);
        self.batches.truncate(mark.0);
    }

    /// Closes the rows into a record batch and starts anew.
    ///
    /// # Errors
    /// Never for columns that this type wrote; Arrow checks them all the same.
    pub fn finish(&mut self) -> std::result::Result<RecordBatch, ArrowError> {
        let rows = self.rows;
        let headers = self.headers.as_mut().map(|headers| headers.finish(rows));
        let columns = self.projection.columns.clone();
        let arrays = columns.iter().map(|column| self.array(*column, rows, headers.as_ref())).collect();
        self.timestamp_nulls.clear();
        self.batches.clear();
        if let Some(metadata) = &mut self.metadata {
            metadata.clear();
        }
        (self.rows, self.weight) = (0, 0);
        RecordBatch::try_new_with_options(self.schema(), arrays, &RecordBatchOptions::new().with_row_count(Some(rows)))
    }

    fn reserve(&mut self, records: usize, bytes: usize) {
        let rows = self.rows + records;
        self.key.iter_mut().chain(&mut self.value).for_each(|column| column.reserve(rows, bytes));
        self.offset.iter_mut().chain(&mut self.timestamp).chain(&mut self.timestamp_ms).for_each(|slots| slots.reserve(rows));
        if let Some(headers) = &mut self.headers {
            headers.reserve(rows, bytes);
        }
        if let Some(metadata) = &mut self.metadata {
            metadata.reserve(rows);
        }
    }

    fn truncate(&mut self, (rows, weight): (usize, usize)) {
        self.key.iter_mut().chain(&mut self.value).for_each(|column| column.truncate(rows));
        if let Some(headers) = &mut self.headers {
            headers.truncate(rows);
        }
        if let Some(metadata) = &mut self.metadata {
            metadata.truncate(rows);
        }
        self.timestamp_nulls.truncate(self.timestamp_nulls.partition_point(|null| *null < rows));
        (self.rows, self.weight) = (rows, weight);
    }

    fn array(&mut self, column: Column, rows: usize, headers: Option<&FinishedHeaders>) -> ArrayRef {
        let made = match column {
            Column::Key => self.key.as_mut().map(|column| column.finish(rows)),
            Column::Value => self.value.as_mut().map(|column| column.finish(rows)),
            Column::Topic => Some(self.topic.rows(rows)),
            Column::Partition => Some(self.partition.rows(rows)),
            Column::Offset => self.offset.as_mut().map(|slots| slots.finish_array::<Int64Type>(rows, None)),
            Column::TimestampMs => self.timestamp_ms.as_mut().map(|slots| slots.finish_array::<Int64Type>(rows, None)),
            Column::Timestamp => self.timestamp_array(rows),
            Column::Headers => headers.map(FinishedHeaders::to_text),
            Column::HeadersRaw => headers.map(FinishedHeaders::to_raw),
            Column::Attributes | Column::Sequence | Column::IndexInEntry | Column::ControlType | Column::Internal => {
                self.metadata.as_mut().and_then(|metadata| metadata.array(column, rows))
            }
            _ => Some(self.batches.array(column)),
        };
        made.unwrap_or_else(|| arrow_array::new_null_array(&column.data_type(self.projection.binary), rows))
    }

    fn timestamp_array(&mut self, rows: usize) -> Option<ArrayRef> {
        let values = ScalarBuffer::new(self.timestamp.as_mut()?.finish(rows), 0, rows);
        let nulls = bitmap::nulls(&self.timestamp_nulls, rows);
        Some(Arc::new(TimestampMicrosecondArray::new(values, nulls).with_timezone("UTC")))
    }
}

/// Writes the records of one batch into the columns.
struct RecordColumnSink<'a, B> {
    columns: &'a mut RecordColumns<B>,
    section: Section<'a>,
    header: &'a BatchHeader,
    filter: Option<RecordFilter>,
    append_time: Option<i64>,
    row: usize,
}

impl<B: BytesColumn> RecordSink for RecordColumnSink<'_, B> {
    #[inline(always)]
    fn header(&mut self, header: HeaderRef) {
        if let Some(headers) = &mut self.columns.headers {
            headers.header(&self.section, header);
        }
    }

    #[inline(always)]
    fn record(&mut self, record: RecordRef) {
        let offset = self.header.base_offset.wrapping_add(record.offset_delta);
        if self.filter.is_some() && !self.is_wanted(offset, record.timestamp_delta) {
            self.pass_over();
            return;
        }
        let (columns, row) = (&mut *self.columns, self.row);
        if let Some(column) = &mut columns.key {
            column.put(row, &self.section, record.key());
        }
        if let Some(column) = &mut columns.value {
            column.put(row, &self.section, record.value());
        }
        if let Some(headers) = &mut columns.headers {
            headers.close(row, record.headers);
        }
        if let Some(slots) = &mut columns.offset {
            slots.set(row, offset);
        }
        let timestamp = match self.append_time {
            Some(append_time) => append_time,
            None => self.header.base_timestamp.wrapping_add(record.timestamp_delta),
        };
        if let Some(slots) = &mut columns.timestamp {
            let us = timestamp.checked_mul(US_PER_MS);
            slots.set(row, us.unwrap_or_default());
            if us.is_none() {
                columns.timestamp_nulls.push(row);
            }
        }
        if let Some(slots) = &mut columns.timestamp_ms {
            slots.set(row, timestamp);
        }
        if let Some(metadata) = &mut columns.metadata {
            // By value, field for field: a reference would force every record into memory, asked for or not.
            let (key, value) = (record.key(), record.value());
            let run = |place: Option<(usize, usize)>| place.map(|(start, len)| self.section.run(start, len));
            metadata.put(row, (record.attributes, record.offset_delta, record.index), self.header, (run(key), run(value)));
        }
        self.row += 1;
    }
}

impl<B: BytesColumn> RecordColumnSink<'_, B> {
    /// True if the filter selects the record. Not inlined: reads without a filter are 2 % faster.
    #[inline(never)]
    fn is_wanted(&self, offset: i64, timestamp_delta: i64) -> bool {
        let timestamp = self.append_time.unwrap_or_else(|| self.header.base_timestamp.wrapping_add(timestamp_delta));
        self.filter.as_ref().is_none_or(|filter| filter.contains(offset, timestamp))
    }

    #[cold]
    fn pass_over(&mut self) {
        if let Some(headers) = &mut self.columns.headers {
            headers.truncate(self.row);
        }
    }
}
