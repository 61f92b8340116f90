//! Rows to Arrow columns: a few types that all tables of a cluster consist of.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::error::{ErrorKind, Result};

/// A cell of a row.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Bool(Option<bool>),
    Int(Option<i32>),
    Long(Option<i64>),
    Float(Option<f64>),
    Text(Option<String>),
    Ints(Option<Vec<i32>>),
    Texts(Option<Vec<String>>),
}

/// The type of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnKind {
    Bool,
    Int,
    Long,
    Float,
    Text,
    Ints,
    Texts,
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(Some(value))
    }
}

impl From<i32> for Cell {
    fn from(value: i32) -> Self {
        Self::Int(Some(value))
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Long(Some(value))
    }
}

impl From<Option<bool>> for Cell {
    fn from(value: Option<bool>) -> Self {
        Self::Bool(value)
    }
}

impl From<Option<i32>> for Cell {
    fn from(value: Option<i32>) -> Self {
        Self::Int(value)
    }
}

impl From<Option<i64>> for Cell {
    fn from(value: Option<i64>) -> Self {
        Self::Long(value)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(Some(value))
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<String>> for Cell {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<i32>> for Cell {
    fn from(value: Vec<i32>) -> Self {
        Self::Ints(Some(value))
    }
}

impl From<Option<Vec<i32>>> for Cell {
    fn from(value: Option<Vec<i32>>) -> Self {
        Self::Ints(value)
    }
}

impl From<Vec<String>> for Cell {
    fn from(value: Vec<String>) -> Self {
        Self::Texts(Some(value))
    }
}

/// The columns of a table, and its rows.
pub(super) struct Table {
    columns: &'static [(&'static str, ColumnKind)],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: &'static [(&'static str, ColumnKind)]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row, a cell for each column.
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        self.rows.push(row.into());
    }

    /// The rows as columns.
    ///
    /// # Errors
    /// `Internal` for a cell of another type than its column.
    pub fn finish(self) -> Result<RecordBatch> {
        let fields: Vec<_> = self.columns.iter().map(|(name, kind)| Field::new(*name, type_of(*kind), true)).collect();
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (at, (_, kind)) in self.columns.iter().enumerate() {
            arrays.push(column(*kind, self.rows.iter().filter_map(|row| row.get(at))));
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| ErrorKind::Internal { what: error.to_string() }.into())
    }
}

fn type_of(kind: ColumnKind) -> DataType {
    let list = |of| DataType::List(Arc::new(Field::new("item", of, true)));
    match kind {
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Int => DataType::Int32,
        ColumnKind::Long => DataType::Int64,
        ColumnKind::Float => DataType::Float64,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Ints => list(DataType::Int32),
        ColumnKind::Texts => list(DataType::Utf8),
    }
}

/// A column of cells. A cell of another type is null.
fn column<'a>(kind: ColumnKind, cells: impl Iterator<Item = &'a Cell>) -> ArrayRef {
    match kind {
        ColumnKind::Bool => {
            let mut built = BooleanBuilder::new();
            cells.for_each(|cell| built.append_option(if let Cell::Bool(value) = cell { *value } else { None }));
            Arc::new(built.finish())
        }
        ColumnKind::Int => {
            let mut built = Int32Builder::new();
            cells.for_each(|cell| built.append_option(if let Cell::Int(value) = cell { *value } else { None }));
            Arc::new(built.finish())
        }
        ColumnKind::Long => {
            let mut built = Int64Builder::new();
            cells.for_each(|cell| built.append_option(if let Cell::Long(value) = cell { *value } else { None }));
            Arc::new(built.finish())
        }
        ColumnKind::Float => {
            let mut built = Float64Builder::new();
            cells.for_each(|cell| built.append_option(if let Cell::Float(value) = cell { *value } else { None }));
            Arc::new(built.finish())
        }
        ColumnKind::Text => {
            let mut built = StringBuilder::new();
            cells.for_each(|cell| built.append_option(if let Cell::Text(value) = cell { value.as_deref() } else { None }));
            Arc::new(built.finish())
        }
        ColumnKind::Ints => {
            let mut built = ListBuilder::new(Int32Builder::new());
            cells.for_each(|cell| {
                let own = if let Cell::Ints(Some(own)) = cell { Some(own) } else { None };
                own.into_iter().flatten().for_each(|value| built.values().append_value(*value));
                built.append(own.is_some());
            });
            Arc::new(built.finish())
        }
        ColumnKind::Texts => {
            let mut built = ListBuilder::new(StringBuilder::new());
            cells.for_each(|cell| {
                let own = if let Cell::Texts(Some(own)) = cell { Some(own) } else { None };
                own.into_iter().flatten().for_each(|value| built.values().append_value(value));
                built.append(own.is_some());
            });
            Arc::new(built.finish())
        }
    }
}
