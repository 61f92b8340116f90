//! The same stream on several threads: they take runs in turn, and the batches come out in the order of the input.
//!
//! The thread that asks decodes too, while it has to wait: more threads than were asked for would only push each other aside.
//! A thread may be at most a window of runs ahead of the consumer, and holds at most a few chunks, so memory stays bounded however slow
//! the consumer is. Threads start with the first batch that is asked for, never at import (Spark forks its workers).

mod feed;
mod reorder_buffer;
mod worker;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::feed::{Job, JobOutcome, SharedFeed, internal};
use self::reorder_buffer::ReorderBuffer;
use self::worker::{MOST_HELD, PendingRun, work};
use super::batch_source::BatchSource;
use super::binary::BytesColumn;
use super::stream_options::{StreamOptions, schema_of};
use crate::decode::Stats;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Runs;
use crate::validate::Findings;

/// A stream made by several threads.
pub struct Parallel<B> {
    options: StreamOptions,
    shared: Arc<SharedFeed>,
    /// `None` before the first batch.
    workers: Option<Workers>,
    reordered: ReorderBuffer,
    /// The consumer's own share, and the number of the job it is at.
    own: PendingRun<B>,
    own_job: Option<u64>,
    next: u64,
    ready: VecDeque<RecordBatch>,
    findings: Findings,
    failed: Option<Error>,
    is_done: bool,
    stats: Stats,
}

/// The threads that were started, and what they send.
struct Workers {
    threads: Vec<JoinHandle<()>>,
    outcomes: Receiver<(u64, JobOutcome)>,
    /// The process that they belong to.
    process: u32,
}

/// Threads of one stream; more than any machine of today decodes with.
const MOST_THREADS: usize = 256;

/// How long the consumer waits before it asks whether it should go on.
const PATIENCE: Duration = Duration::from_millis(50);

impl<B: BytesColumn> Parallel<B> {
    /// A stream over these runs; nothing is started yet.
    pub fn new(runs: Runs, options: StreamOptions) -> Self {
        Self {
            shared: Arc::new(SharedFeed::new(runs, options.threads.min(MOST_THREADS))),
            own: PendingRun::new(&options),
            options,
            workers: None,
            reordered: ReorderBuffer::default(),
            own_job: None,
            next: 0,
            ready: VecDeque::new(),
            findings: Findings::default(),
            failed: None,
            is_done: false,
            stats: Stats::default(),
        }
    }

    fn start(&mut self) {
        let (sender, outcomes) = channel();
        let spawn = |_| {
            let (shared, options, sender) = (Arc::clone(&self.shared), self.options.clone(), sender.clone());
            Builder::new().name("logsegment".to_owned()).spawn(move || work::<B>(&shared, &options, &sender))
        };
        // A machine that gives no more threads still decodes with those it gave.
        let threads = (1..self.options.threads.min(MOST_THREADS)).map(spawn).filter_map(std::result::Result::ok).collect();
        self.workers = Some(Workers { threads, outcomes, process: std::process::id() });
    }

    /// The next outcome in order. While it is not there, decodes a run of its own.
    fn next_outcome(&mut self) -> JobOutcome {
        self.shared.ask(self.next);
        loop {
            self.receive_early();
            if let Some(outcome) = self.reordered.take(self.next) {
                return outcome;
            }
            if self.own_job == Some(self.next) {
                return self.own_part();
            }
            if !self.take_own()
                && let Some(outcome) = self.wait()
            {
                return outcome;
            }
            if let Err(error) = self.options.interrupt.ensure_wanted() {
                return JobOutcome { error: Some(error), ..JobOutcome::default() };
            }
        }
    }

    fn receive_early(&mut self) {
        let Some(workers) = &self.workers else { return };
        while let Ok((number, outcome)) = workers.outcomes.try_recv() {
            self.reordered.put(number, outcome);
        }
    }

    /// The next part of the own job, whose turn it is.
    fn own_part(&mut self) -> JobOutcome {
        let outcome = self.own.make(1);
        if !outcome.is_part {
            self.own_job = None;
        }
        outcome
    }

    /// Takes a job and works on it as far as may be held; false when there is none, or the one at hand must wait for its turn.
    fn take_own(&mut self) -> bool {
        if self.own_job.is_some() {
            return false;
        }
        let Some((number, job)) = self.shared.try_job(&self.options) else { return false };
        let outcome = match job {
            Job::Ready(outcome) => outcome,
            Job::Run(run) => {
                self.own.feed(run);
                self.own.make(if number == self.next { 1 } else { MOST_HELD })
            }
        };
        self.own_job = outcome.is_part.then_some(number);
        self.reordered.put(number, outcome);
        true
    }

    /// Waits a moment for a worker; an outcome when none is left to wait for.
    fn wait(&mut self) -> Option<JobOutcome> {
        match self.workers.as_ref()?.outcomes.recv_timeout(PATIENCE) {
            Ok((number, outcome)) => {
                self.reordered.put(number, outcome);
                None
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(JobOutcome { error: Some(internal("a decoding thread has ended")), ..JobOutcome::default() })
            }
        }
    }

    fn accept(&mut self, outcome: JobOutcome) {
        self.ready.extend(outcome.batches);
        self.findings.append(outcome.findings);
        self.stats.add(&outcome.stats);
        self.is_done = outcome.is_last || outcome.error.is_some();
        self.failed = outcome.error;
        self.next += u64::from(!outcome.is_part);
    }
}

impl<B> Parallel<B> {
    /// True in a forked child of the process that started the threads. A fork copies no threads, and locks that they held stay locked.
    fn is_orphaned(&self) -> bool {
        self.workers.as_ref().is_some_and(|workers| workers.process != std::process::id())
    }
}

/// The error of an orphaned stream.
fn orphaned() -> Error {
    const PROBLEM: &str =
        "a forked child cannot continue the stream of its parent, whose threads it does not have; open the stream in the child";
    ErrorKind::Usage { argument: "threads", problem: PROBLEM.to_owned() }.into()
}

impl<B: BytesColumn> BatchSource for Parallel<B> {
    fn schema(&self) -> SchemaRef {
        schema_of(&self.options)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.is_orphaned() {
            return Err(orphaned());
        }
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.is_done {
                return Ok(None);
            }
            if self.workers.is_none() {
                self.start();
            }
            let outcome = self.next_outcome();
            self.accept(outcome);
        }
    }

    fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    fn stats(&self) -> Stats {
        let bytes_read = if self.is_orphaned() { self.stats.bytes_read } else { self.shared.bytes_read() };
        Stats { bytes_read, ..self.stats }
    }
}

impl<B> Drop for Parallel<B> {
    fn drop(&mut self) {
        if self.is_orphaned() {
            // Dropping a receiver or a handle may wait for its threads.
            std::mem::forget(self.workers.take());
            return;
        }
        self.shared.close();
        for worker in self.workers.take().into_iter().flat_map(|workers| workers.threads) {
            // A worker that panicked has said so in its outcome.
            let _ = worker.join();
        }
    }
}
