//! Records with certain keys, out of a stream of records.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use super::batch_source::BatchSource;
use super::schema::Column;
use super::selection::selected;
use super::value_notes::ValueNotes;
use crate::decode::Stats;
use crate::error::{ErrorKind, Result};
use crate::validate::Findings;

/// A stream whose records have one of some keys. The columns from `width` on are left out.
pub struct KeyFilter {
    inner: Box<dyn BatchSource>,
    keys: Arc<[Vec<u8>]>,
    schema: SchemaRef,
    width: usize,
    /// Records that had the keys.
    kept: u64,
}

impl KeyFilter {
    /// The records of a stream with a column of keys, and its first columns.
    pub fn new(inner: Box<dyn BatchSource>, keys: Arc<[Vec<u8>]>, width: usize) -> Self {
        let fields: Vec<_> = inner.schema().fields().iter().take(width).cloned().collect();
        Self { inner, keys, schema: Arc::new(Schema::new(fields)), width, kept: 0 }
    }

    /// The runs of rows with the keys.
    fn runs(&self, batch: &RecordBatch) -> Option<Vec<(usize, usize)>> {
        let keys = batch.column_by_name(Column::Key.name())?;
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for row in (0..batch.num_rows()).filter(|row| keys.is_valid(*row)) {
            let key = key_of(keys, row)?;
            if !self.keys.iter().any(|wanted| wanted == key) {
                continue;
            }
            match runs.last_mut() {
                Some((_, end)) if *end == row => *end = row + 1,
                _ => runs.push((row, row + 1)),
            }
        }
        Some(runs)
    }
}

fn key_of(keys: &ArrayRef, row: usize) -> Option<&[u8]> {
    let short = keys.as_binary_opt::<i32>().map(|keys| keys.value(row));
    short
        .or_else(|| keys.as_binary_opt::<i64>().map(|keys| keys.value(row)))
        .or_else(|| keys.as_binary_view_opt().map(|keys| keys.value(row)))
}

impl BatchSource for KeyFilter {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.inner.next_batch()? {
            let internal = |what: String| ErrorKind::Internal { what };
            let runs = self.runs(&batch).ok_or_else(|| internal("the column of keys is missing".to_owned()))?;
            if !runs.is_empty() {
                let chosen =
                    selected(batch.columns().iter().take(self.width), &self.schema, &runs).map_err(|error| internal(error.to_string()))?;
                self.kept += crate::wire::as_u64(chosen.num_rows());
                return Ok(Some(chosen));
            }
        }
        Ok(None)
    }

    fn take_findings(&mut self) -> Findings {
        self.inner.take_findings()
    }

    fn stats(&self) -> Stats {
        Stats { records: self.kept, ..self.inner.stats() }
    }

    fn value_notes(&self) -> ValueNotes {
        self.inner.value_notes()
    }
}
