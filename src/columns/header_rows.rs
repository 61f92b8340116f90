//! The rows of `batches` without the bytes between the headers, of sources that can be read at any position.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::batch_source::BatchSource;
use super::batches::{BatchRows, Gathered};
use super::run_pieces::{step_over, tail_finding};
use super::stream_options::{OnError, StreamOptions};
use crate::decode::{Stats, Unreadable};
use crate::error::Result;
use crate::framing::{Source, Tail};
use crate::model::BatchHeader;
use crate::validate::Findings;

/// A walk from header to header.
pub trait HeaderWalk: Send {
    /// The next header; `None` at the end.
    ///
    /// # Errors
    /// Where no entry can be framed, and those of the storage.
    fn next_header(&mut self) -> Result<Option<BatchHeader>>;
    /// Where the next entry starts.
    fn position(&self) -> u64;
    /// The highest offset so far; `None` before the first header.
    fn last_offset(&self) -> Option<i64>;
    /// How the source ended; `None` before it did.
    fn tail(&self) -> Option<Tail>;
    /// Bytes taken from the source so far.
    fn bytes_read(&self) -> u64;
}

/// Opens all that lies from a position on.
pub type Reopen = Box<dyn Fn(u64) -> Result<Source> + Send>;

/// A stream of batch rows. Where damage is to be skipped, what no walk can step over is searched by reading everything from there on.
pub struct HeaderRows {
    walk: Box<dyn HeaderWalk>,
    reopen: Reopen,
    options: StreamOptions,
    gathered: Gathered,
    findings: Findings,
    stats: Stats,
    rest: Option<BatchRows>,
}

/// Headers between two questions whether to go on.
const ASK_EVERY: u64 = 4096;

impl HeaderRows {
    /// The rows of a walk. Checksums are not compared, whatever the options say.
    pub fn new(walk: Box<dyn HeaderWalk>, reopen: Reopen, options: StreamOptions) -> Self {
        Self {
            walk,
            reopen,
            gathered: Gathered::new(&options),
            options,
            findings: Findings::default(),
            stats: Stats::default(),
            rest: None,
        }
    }

    fn pull(&mut self) -> Result<()> {
        while !self.gathered.is_done && self.gathered.columns.rows() < self.options.batch_size {
            if self.stats.entries_read.is_multiple_of(ASK_EVERY) {
                self.options.interrupt.ensure_wanted()?;
            }
            match self.walk.next_header() {
                Ok(Some(header)) => {
                    self.stats.entries_read += 1;
                    let held = self.options.decode.segment.ensure_holds(&header);
                    match held.map_err(|error| error.in_batch(header.base_offset).at_byte(header.position)) {
                        Ok(()) => self.gathered.push(&header, None),
                        Err(error) => {
                            let len = usize::try_from(header.size).unwrap_or(usize::MAX);
                            step_over(&self.options, &mut self.findings, error, header.position, len)?;
                        }
                    }
                }
                Ok(None) if self.recovers() && matches!(self.walk.tail(), Some(Tail::Torn { .. })) => return self.search(),
                Ok(None) => {
                    self.gathered.is_done = true;
                    return tail_finding(self.walk.tail(), &self.options, &mut self.findings);
                }
                Err(error) if self.recovers() && error.is_about_data() => return self.search(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn recovers(&self) -> bool {
        self.options.on_error == OnError::Skip || self.options.decode.unreadable == Unreadable::Skip
    }

    /// Reads everything from where nothing can be framed.
    fn search(&mut self) -> Result<()> {
        self.gathered.is_done = true;
        let source = (self.reopen)(self.walk.position())?.after(self.walk.last_offset());
        self.rest = Some(BatchRows::new(source, self.options.clone()));
        Ok(())
    }
}

impl BatchSource for HeaderRows {
    fn schema(&self) -> SchemaRef {
        self.gathered.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let gathered = self.pull();
        match (self.gathered.give(gathered)?, &mut self.rest) {
            (None, Some(rest)) => rest.next_batch(),
            (given, _) => Ok(given),
        }
    }

    fn take_findings(&mut self) -> Findings {
        let mut findings = std::mem::take(&mut self.findings);
        if let Some(rest) = &mut self.rest {
            findings.append(rest.take_findings());
        }
        findings
    }

    fn stats(&self) -> Stats {
        let mut stats = Stats { bytes_read: self.walk.bytes_read(), ..self.stats };
        if let Some(rest) = &self.rest {
            stats.add(&rest.stats());
        }
        stats
    }
}
