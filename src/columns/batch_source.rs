//! A stream of record batches of one schema.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::value_notes::ValueNotes;
use crate::decode::Stats;
use crate::error::Result;
use crate::validate::Findings;

/// A stream of record batches of one schema.
pub trait BatchSource: Send {
    /// The schema of every batch.
    fn schema(&self) -> SchemaRef;
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with the bytes; the stream ends there.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
    /// Takes the findings met since the last call: torn and zero tails, and what was stepped over.
    fn take_findings(&mut self) -> Findings;
    /// What was done so far.
    fn stats(&self) -> Stats;
    /// What was noticed about typed values so far.
    fn value_notes(&self) -> ValueNotes {
        ValueNotes::default()
    }
}
