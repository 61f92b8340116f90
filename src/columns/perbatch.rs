//! Columns that are the same for all records of a batch: remembered once per batch, spread over its rows when the chunk is closed.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder};
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int8Array, Int16Array, StringArray};
use arrow_buffer::ArrowNativeType;

use super::pooled_vec::{PooledValue, PooledVec};
use super::schema::{Column, Projection};
use crate::codec::Plugins;
use crate::model::{BatchHeader, TimestampType};

/// Which rows came from which batch.
pub struct BatchRuns {
    is_wanted: bool,
    runs: Vec<(usize, BatchHeader)>,
    int32: PooledVec<i32>,
    int64: PooledVec<i64>,
    plugins: Plugins,
}

impl BatchRuns {
    /// Remembers batches only when a column needs them. These plugins are called by their aliases.
    pub fn of(projection: &Projection, plugins: Plugins) -> Self {
        let needs = |column: &Column| {
            matches!(
                column,
                Column::TimestampType
                    | Column::ProducerId
                    | Column::ProducerEpoch
                    | Column::PartitionLeaderEpoch
                    | Column::IsTransactional
                    | Column::IsControl
                    | Column::Magic
                    | Column::Compression
                    | Column::BatchBaseOffset
                    | Column::EntryPosition
            )
        };
        Self {
            is_wanted: projection.columns.iter().any(needs),
            runs: Vec::new(),
            int32: PooledVec::new(),
            int64: PooledVec::new(),
            plugins,
        }
    }

    /// The rows up to `end` that have no batch yet came from this one.
    pub fn close(&mut self, end: usize, header: &BatchHeader) {
        if !self.is_wanted {
            return;
        }
        match self.runs.last_mut() {
            Some((last, _)) if *last == end => {}
            Some((last, same)) if same == header => *last = end,
            _ => self.runs.push((end, *header)),
        }
    }

    /// Forgets the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.runs.truncate(self.runs.partition_point(|(end, _)| *end <= rows));
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// One of the columns.
    pub fn array(&mut self, column: Column) -> ArrayRef {
        match column {
            Column::TimestampType => self.int32(timestamp_type_id),
            Column::PartitionLeaderEpoch => self.int32(|header| header.partition_leader_epoch),
            Column::ProducerId => self.int64(|header| header.producer.id),
            Column::BatchBaseOffset => self.int64(|header| header.base_offset),
            Column::EntryPosition => self.int64(|header| i64::try_from(header.position).unwrap_or(i64::MAX)),
            Column::ProducerEpoch => Arc::new(Int16Array::from(self.spread(|header| header.producer.epoch))),
            Column::Magic => Arc::new(Int8Array::from(self.spread(|header| header.magic))),
            Column::IsTransactional => self.boolean(|header| header.is_transactional()),
            Column::IsControl => self.boolean(|header| header.is_control()),
            _ => self.compression(),
        }
    }

    fn int32(&mut self, value: impl Fn(&BatchHeader) -> i32) -> ArrayRef {
        let rows = fill(&self.runs, &mut self.int32, value);
        self.int32.finish_array::<Int32Type>(rows, None)
    }

    fn int64(&mut self, value: impl Fn(&BatchHeader) -> i64) -> ArrayRef {
        let rows = fill(&self.runs, &mut self.int64, value);
        self.int64.finish_array::<Int64Type>(rows, None)
    }

    fn spread<T: ArrowNativeType>(&self, value: impl Fn(&BatchHeader) -> T) -> Vec<T> {
        let mut values = Vec::new();
        for (end, header) in &self.runs {
            values.resize(*end, value(header));
        }
        values
    }

    fn boolean(&self, value: impl Fn(&BatchHeader) -> bool) -> ArrayRef {
        let mut builder = BooleanBuilder::new();
        let mut row = 0;
        for (end, header) in &self.runs {
            builder.append_n(end - row, value(header));
            row = *end;
        }
        Arc::new(builder.finish())
    }

    fn compression(&self) -> ArrayRef {
        texts(self.runs.iter().map(|(end, header)| (*end, self.plugins.with_name(header.compression(), str::to_owned))))
    }
}

/// A column of texts that seldom change: each with the row that its run ends before.
pub fn texts<T: AsRef<str>>(runs: impl Iterator<Item = (usize, T)>) -> ArrayRef {
    let runs: Vec<_> = runs.collect();
    if let [(rows, text)] = runs.as_slice() {
        return Arc::new(StringArray::new_repeated(text, *rows));
    }
    let mut builder = StringBuilder::new();
    let mut row = 0;
    for (end, text) in &runs {
        (row..*end).for_each(|_| builder.append_value(text));
        row = *end;
    }
    Arc::new(builder.finish())
}

fn fill<T: PooledValue>(runs: &[(usize, BatchHeader)], slots: &mut PooledVec<T>, value: impl Fn(&BatchHeader) -> T) -> usize {
    let mut row = 0;
    for (end, header) in runs {
        slots.fill(row, *end, value(header));
        row = *end;
    }
    row
}

/// The id of a timestamp type, for the column `timestampType`.
fn timestamp_type_id(header: &BatchHeader) -> i32 {
    let timestamp_type: TimestampType = header.timestamp_type();
    timestamp_type.id()
}
