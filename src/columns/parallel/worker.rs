//! One thread's share of a stream: jobs to chunks, never holding more than a few of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Sender;

use super::feed::{Job, JobOutcome, SharedFeed, internal};
use crate::columns::binary::BytesColumn;
use crate::columns::chunks::ChunkBuilder;
use crate::columns::stream_options::StreamOptions;
use crate::error::Result;
use crate::framing::Run;

/// Chunks of a run that a thread holds before it waits for the consumer to come for them: more than any run gives that is not mostly
/// repetition.
pub const MOST_HELD: usize = 16;

/// A run on its way into chunks.
pub struct PendingRun<B> {
    chunks: ChunkBuilder<B>,
    /// Its last chunk was made.
    is_finished: bool,
}

impl<B: BytesColumn> PendingRun<B> {
    pub fn new(options: &StreamOptions) -> Self {
        Self { chunks: ChunkBuilder::new(options.clone()), is_finished: true }
    }

    /// Takes the next run; the one before must be finished.
    pub fn feed(&mut self, run: Run) {
        self.chunks.feed(run);
        self.is_finished = false;
    }

    /// Makes up to `most` more chunks.
    pub fn make(&mut self, most: usize) -> JobOutcome {
        let before = self.chunks.stats();
        let mut batches = Vec::new();
        let made = catch_unwind(AssertUnwindSafe(|| self.make_into(&mut batches, most)));
        let error = made.unwrap_or_else(|_| Err(internal("a decoding thread panicked"))).err();
        self.is_finished |= error.is_some();
        let findings = std::mem::take(&mut self.chunks.findings);
        JobOutcome { batches, findings, error, stats: self.chunks.stats().since(&before), is_part: !self.is_finished, is_last: false }
    }

    fn make_into(&mut self, batches: &mut Vec<arrow_array::RecordBatch>, most: usize) -> Result<()> {
        let made = loop {
            if batches.len() >= most {
                return Ok(());
            }
            match self.chunks.next_full() {
                Ok(Some(batch)) => batches.push(batch),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.is_finished = true;
        // Rows before an error are given all the same.
        let last = self.chunks.finish().map(|last| batches.extend(last));
        made.and(last)
    }
}

/// Takes jobs until there are none.
pub fn work<B: BytesColumn>(shared: &SharedFeed, options: &StreamOptions, sender: &Sender<(u64, JobOutcome)>) {
    let mut unrolling = PendingRun::<B>::new(options);
    while let Some((number, job)) = shared.wait_for_job(options) {
        let is_delivered = match job {
            Job::Ready(outcome) => sender.send((number, outcome)).is_ok(),
            Job::Run(run) => {
                unrolling.feed(run);
                deliver(shared, &mut unrolling, number, sender)
            }
        };
        if !is_delivered {
            return;
        }
    }
}

/// Gives all of a run to the consumer; false when it is not wanted any more.
fn deliver<B: BytesColumn>(shared: &SharedFeed, unrolling: &mut PendingRun<B>, number: u64, sender: &Sender<(u64, JobOutcome)>) -> bool {
    loop {
        let outcome = unrolling.make(MOST_HELD);
        if !outcome.is_part {
            return sender.send((number, outcome)).is_ok();
        }
        if !shared.wait_for_turn(number) {
            return false;
        }
        let asked = shared.asked();
        if sender.send((number, outcome)).is_err() {
            return false;
        }
        shared.wait_for_more_than(asked);
    }
}
