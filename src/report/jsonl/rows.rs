//! Which rows are written: by time, by key, and how many.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch};

use super::writer::{BytesCell, column_named};
use crate::error::{ErrorKind, Result};
use crate::model::timestamp::TimeRange;

/// Conditions that a row must meet; what is not set is met by all.
#[derive(Clone, Debug, Default)]
pub struct RowFilter {
    /// Smallest `timestampMs`.
    pub since: Option<i64>,
    /// First `timestampMs` that is too late. A record without a timestamp is neither after nor before anything.
    pub until: Option<i64>,
    /// The key is one of these.
    pub keys: Option<HashSet<Vec<u8>>>,
    /// Most rows.
    pub limit: Option<usize>,
}

/// A filter with the columns that it looks at.
pub struct Chosen<'a> {
    filter: &'a RowFilter,
    times: Option<&'a Int64Array>,
    keys: Option<BytesCell<'a>>,
    rows: usize,
}

impl RowFilter {
    /// Binds the filter to a batch.
    ///
    /// # Errors
    /// `Usage` when the batch lacks a column that a condition is about.
    pub fn bind<'a>(&'a self, batch: &'a RecordBatch) -> Result<Chosen<'a>> {
        let is_timed = self.since.is_some() || self.until.is_some();
        let times = if is_timed { column_named(batch, "timestampMs")?.as_primitive_opt::<Int64Type>() } else { None };
        let keys = if self.keys.is_some() { BytesCell::of(column_named(batch, "key")?) } else { None };
        if is_timed != times.is_some() || self.keys.is_some() != keys.is_some() {
            let problem = "conditions need the columns timestampMs (int64) and key (binary)".to_owned();
            return Err(ErrorKind::Usage { argument: "rows", problem }.into());
        }
        Ok(Chosen { filter: self, times, keys, rows: batch.num_rows() })
    }
}

impl Chosen<'_> {
    /// The rows that meet the conditions, in order.
    pub fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        let limit = self.filter.limit.unwrap_or(usize::MAX);
        (0..self.rows).filter(|row| self.is_in_time(*row) && self.has_key(*row)).take(limit)
    }

    fn is_in_time(&self, row: usize) -> bool {
        let Some(times) = self.times else { return true };
        let wanted = TimeRange { start: self.filter.since.unwrap_or(i64::MIN), end: self.filter.until };
        times.is_valid(row) && wanted.contains(times.value(row))
    }

    fn has_key(&self, row: usize) -> bool {
        match (self.keys, &self.filter.keys) {
            (Some(column), Some(wanted)) => column.at(row).is_some_and(|key| wanted.contains(key)),
            _ => true,
        }
    }
}
