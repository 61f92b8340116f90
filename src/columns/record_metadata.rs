//! The columns of record metadata, which few reads ask for.

pub(super) mod internal;

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{ArrayRef, StringArray};

use self::internal::InternalColumn;
use super::pooled_vec::PooledVec;
use super::schema::{Column, Projection};
use crate::limits::Limits;
use crate::model::{BatchHeader, ControlType};
use crate::validate::Finding;

/// Attributes, sequence, index, control type and decoded fields of each record.
pub struct RecordMetadata {
    attributes: Option<PooledVec<i8>>,
    sequence: Option<PooledVec<i32>>,
    index_in_entry: Option<PooledVec<i32>>,
    control_type: Option<Vec<Option<&'static str>>>,
    internal: Option<InternalColumn>,
}

impl RecordMetadata {
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

    /// Makes space for `rows` rows in all.
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

    /// Bytes that were written besides those of fixed width.
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

    /// One of the columns; `None` if it was not asked for.
    pub fn array(&mut self, column: Column, rows: usize) -> Option<ArrayRef> {
        match column {
            Column::Sequence => self.sequence.as_mut().map(|slots| slots.finish_array::<Int32Type>(rows, None)),
            Column::IndexInEntry => self.index_in_entry.as_mut().map(|slots| slots.finish_array::<Int32Type>(rows, None)),
            Column::Internal => self.internal.as_mut().map(InternalColumn::finish),
            Column::ControlType => {
                let types: StringArray = self.control_type.as_deref()?.iter().copied().collect();
                Some(Arc::new(types))
            }
            _ => self.attributes.as_mut().map(|slots| slots.finish_array::<Int8Type>(rows, None)),
        }
    }
}

fn control_type(header: &BatchHeader, key: Option<&[u8]>) -> Option<&'static str> {
    if !header.is_control() {
        return None;
    }
    ControlType::parse(key).ok().map(ControlType::name)
}
