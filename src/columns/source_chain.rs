//! Several sources one after the other, as one stream.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::batch_source::BatchSource;
use super::value_notes::ValueNotes;
use crate::decode::Stats;
use crate::error::Result;
use crate::validate::Findings;

/// Opens one source of a chain; called once, when the source before it has ended.
pub type OpenStream = Box<dyn FnOnce() -> Result<Box<dyn BatchSource>> + Send>;

/// Streams of one schema, one after the other. Only one of them is open at a time.
pub struct SourceChain {
    schema: SchemaRef,
    waiting: VecDeque<(Arc<str>, OpenStream)>,
    current: Option<(Arc<str>, Box<dyn BatchSource>)>,
    findings: Findings,
    /// What the streams before the current one did.
    done: Stats,
    noted: ValueNotes,
}

impl SourceChain {
    /// Streams with the names by which findings and errors tell them.
    pub fn new(schema: SchemaRef, waiting: impl IntoIterator<Item = (Arc<str>, OpenStream)>) -> Self {
        Self {
            schema,
            waiting: waiting.into_iter().collect(),
            current: None,
            findings: Findings::default(),
            done: Stats::default(),
            noted: ValueNotes::default(),
        }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.current.is_none() {
                let Some((name, open)) = self.waiting.pop_front() else { return Ok(None) };
                let stream = open().map_err(|error| error.in_file(&name))?;
                self.current = Some((name, stream));
            }
            let Some((name, stream)) = &mut self.current else { return Ok(None) };
            match stream.next_batch().map_err(|error| error.in_file(name))? {
                Some(batch) => return Ok(Some(batch)),
                None => self.leave(),
            }
        }
    }

    fn leave(&mut self) {
        self.gather();
        if let Some((_, stream)) = self.current.take() {
            self.done.add(&stream.stats());
            self.noted.add(&stream.value_notes());
        }
    }

    fn gather(&mut self) {
        if let Some((name, stream)) = &mut self.current {
            self.findings.append(stream.take_findings().in_file(name));
        }
    }
}

impl BatchSource for SourceChain {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let next = self.step();
        if next.is_err() {
            self.leave();
            self.waiting.clear();
        }
        next
    }

    fn take_findings(&mut self) -> Findings {
        self.gather();
        std::mem::take(&mut self.findings)
    }

    fn stats(&self) -> Stats {
        let mut stats = self.done;
        if let Some((_, stream)) = &self.current {
            stats.add(&stream.stats());
        }
        stats
    }

    fn value_notes(&self) -> ValueNotes {
        let mut notes = self.noted.clone();
        if let Some((_, stream)) = &self.current {
            notes.add(&stream.value_notes());
        }
        notes
    }
}
