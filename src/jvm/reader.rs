//! The reader of one Spark task: batches one after the other, and errors as the Python reader raises them.

use std::sync::{Arc, PoisonError};

use arrow_array::RecordBatch;

use crate::columns::BatchSource;
use crate::columns::source_chain::SourceChain;
use crate::decode::Stats;
use crate::error::Error;
use crate::jvm::columns::layout;
use crate::jvm::error_text::text;
use crate::jvm::rows::{TaskContext, opener};
use crate::jvm::task::SparkTask;

/// Reads the parts of a task.
#[derive(Default)]
pub struct TaskReader {
    source: Option<SourceChain>,
    reading: Option<Arc<TaskContext>>,
    /// The rows whose addresses were given out last.
    batch: Option<RecordBatch>,
    addresses: Vec<i64>,
    stats: Stats,
    message: String,
    has_failed: bool,
}

/// What a call of `next` found.
pub enum Next {
    /// As many rows.
    Rows(usize),
    /// No rows any more. `message` has the warnings of the task, one a line.
    End,
    /// An error, whose text is `message`.
    Failed,
}

impl TaskReader {
    /// A reader of the task in `data`. What is wrong with the data is for `next` to report.
    pub fn new(data: &[u8]) -> Self {
        let mut reader = Self::default();
        match SparkTask::parse(data) {
            Ok(SparkTask { query, parts }) => {
                let schema = Arc::clone(&query.schema);
                let reading = Arc::new(TaskContext::new(query));
                reader.source = Some(SourceChain::new(schema, parts.into_iter().map(|part| opener(part, &reading))));
                reader.reading = Some(reading);
            }
            Err(error) => reader.fail(&error),
        }
        reader
    }

    /// Read the next batch; the addresses of the one before are no longer valid.
    pub fn next(&mut self) -> Next {
        self.batch = None;
        let Some(source) = &mut self.source else { return if self.has_failed { Next::Failed } else { Next::End } };
        let next = source.next_batch();
        self.stats = source.stats();
        match next {
            Ok(Some(batch)) => {
                layout(&batch, &mut self.addresses);
                let rows = batch.num_rows();
                self.batch = Some(batch);
                Next::Rows(rows)
            }
            Ok(None) => {
                self.source = None;
                self.message = self.reading.as_ref().map(|reading| reading.take_warnings().join("\n")).unwrap_or_default();
                Next::End
            }
            Err(error) => {
                self.fail(&error);
                Next::Failed
            }
        }
    }

    /// The numbers of the columns of the last batch; see `layout`.
    pub fn addresses(&self) -> &[i64] {
        &self.addresses
    }

    /// The text of the error, or of the warnings.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What was done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// End with an error.
    pub fn fail(&mut self, error: &Error) {
        let raised = self.reading.as_ref().and_then(|reading| reading.raised.lock().unwrap_or_else(PoisonError::into_inner).take());
        let hint = self.reading.as_ref().map(|reading| reading.query.hint.as_str()).unwrap_or_default();
        self.message = text(error, hint, raised);
        self.has_failed = true;
        (self.source, self.batch) = (None, None);
    }
}
