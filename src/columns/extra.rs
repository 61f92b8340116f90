//! Columns per record that few ask for.

pub(super) mod internal;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int32Array, StringArray, new_null_array};
use arrow_buffer::ScalarBuffer;

use self::internal::{InternalColumn, data_type};
use super::pooled_vec::PooledVec;
use super::schema::{Column, Projection};
use crate::limits::Limits;
use crate::model::{BatchHeader, ControlType};
use crate::validate::Finding;

/// Attributes, sequence, index, control type and decoded fields of each record.
pub struct ExtraColumns {
    attributes: Option<PooledVec<i8>>,
    sequence: Option<PooledVec<i32>>,
    index_in_entry: Option<PooledVec<i32>>,
    control_type: Option<Vec<Option<&'static str>>>,
    internal: Option<InternalColumn>,
}

impl ExtraColumns {
    /// The columns that are asked for; `None` when none is.
    pub fn of(projection: &Projection, topic: Option<&str>, limits: &Limits) -> Option<Self> {
        let has = |column| projection.has(column);
        let wanted = [Column::Attributes, Column::Sequence, Column::IndexInEntry, Column::ControlType, Column::Internal];
        wanted.iter().any(|column| has(*column)).then(|| Self {
            attributes: has(Column::Attributes).then(PooledVec::new),
            sequence: has(Column::Sequence).then(PooledVec::new),
            index_in_entry: has(Column::IndexInEntry).then(PooledVec::new),
            control_type: has(Column::ControlType).then(Vec::new),
            internal: has(Column::Internal).then(|| InternalColumn::new(topic, limits)),
        })
    }

    /// Room for `rows` rows in all.
    pub fn reserve(&mut self, rows: usize) {
        self.attributes.iter_mut().for_each(|slots| slots.reserve(rows));
        self.sequence.iter_mut().chain(&mut self.index_in_entry).for_each(|slots| slots.reserve(rows));
    }

    /// Writes one row.
    #[cold]
    pub fn put(
        &mut self,
        row: usize,
        (attributes, offset_delta, index): (u8, i64, usize),
        header: &BatchHeader,
        (key, value): (Option<&[u8]>, Option<&[u8]>),
    ) {
        if let Some(slots) = &mut self.attributes {
            slots.set(row, attributes.cast_signed());
        }
        if let Some(slots) = &mut self.sequence {
            slots.set(row, header.sequence(offset_delta));
        }
        if let Some(slots) = &mut self.index_in_entry {
            slots.set(row, i32::try_from(index).unwrap_or(i32::MAX));
        }
        if let Some(types) = &mut self.control_type {
            types.truncate(row);
            types.push(control_type(header, key));
        }
        if let Some(internal) = &mut self.internal {
            internal.put(row, header, index, (key, value));
        }
    }

    /// Bytes that were written beside those of fixed width.
    pub fn copied(&self) -> usize {
        self.internal.as_ref().map_or(0, InternalColumn::copied)
    }

    /// Takes the findings about the rows.
    pub fn take_findings(&mut self) -> impl Iterator<Item = Finding> {
        self.internal.iter_mut().flat_map(InternalColumn::take_findings)
    }

    /// Forgets the rows from `row` on.
    pub fn truncate(&mut self, row: usize) {
        if let Some(types) = &mut self.control_type {
            types.truncate(row);
        }
        if let Some(internal) = &mut self.internal {
            internal.truncate(row);
        }
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// One of the columns.
    pub fn array(&mut self, column: Column, rows: usize) -> ArrayRef {
        let int32 = |slots: &mut Option<PooledVec<i32>>| -> ArrayRef {
            let buffer = slots.as_mut().map(|slots| slots.finish(rows)).unwrap_or_default();
            Arc::new(Int32Array::new(ScalarBuffer::new(buffer, 0, rows), None))
        };
        match column {
            Column::Sequence => int32(&mut self.sequence),
            Column::IndexInEntry => int32(&mut self.index_in_entry),
            Column::Internal => self.internal.as_mut().map(InternalColumn::finish).unwrap_or_else(|| new_null_array(&data_type(), rows)),
            Column::ControlType => {
                let types = self.control_type.as_deref().unwrap_or_default();
                Arc::new(types.iter().copied().collect::<StringArray>())
            }
            _ => {
                let buffer = self.attributes.as_mut().map(|slots| slots.finish(rows)).unwrap_or_default();
                Arc::new(Int8Array::new(ScalarBuffer::new(buffer, 0, rows), None))
            }
        }
    }
}

fn control_type(header: &BatchHeader, key: Option<&[u8]>) -> Option<&'static str> {
    if !header.is_control() {
        return None;
    }
    ControlType::parse(key).ok().map(ControlType::name)
}
