//! The same stream on several threads: workers take runs in turn, and the batches come out in the order of the input.
//!
//! A worker may be at most a window of runs ahead of the consumer, so memory stays bounded however slow the consumer is.
//! Threads start with the first batch that is asked for, never at import (Spark forks its workers).

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::binary::BytesColumn;
use super::stream::{BatchSource, StreamOptions, schema_of, tail_finding};
use super::unroller::Unroller;
use crate::decode::Stats;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Piece, Run, Runs};
use crate::validate::Finding;

/// A stream fed by workers.
pub struct Parallel<B> {
    options: StreamOptions,
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    outcomes: Option<Receiver<(u64, Outcome)>>,
    early: BTreeMap<u64, Outcome>,
    next: u64,
    ready: VecDeque<RecordBatch>,
    findings: Vec<Finding>,
    failed: Option<Error>,
    is_done: bool,
    stats: Stats,
    columns: std::marker::PhantomData<fn() -> B>,
}

struct Shared {
    feed: Mutex<Feed>,
    changed: Condvar,
    window: u64,
}

struct Feed {
    runs: Runs,
    cut: u64,
    delivered: u64,
    is_over: bool,
}

/// What became of one piece of the source.
#[derive(Default)]
struct Outcome {
    batches: Vec<RecordBatch>,
    findings: Vec<Finding>,
    error: Option<Error>,
    stats: Stats,
    is_last: bool,
}

/// Threads of one stream; more than any machine of today decodes with.
const MOST_THREADS: usize = 256;

/// How long the consumer waits before it asks whether it should go on.
const PATIENCE: Duration = Duration::from_millis(50);

enum Job {
    Run(Run),
    Ready(Outcome),
}

impl<B: BytesColumn> Parallel<B> {
    /// A stream over these runs; nothing is started yet.
    pub fn new(runs: Runs, options: StreamOptions) -> Self {
        let window = u64::try_from(options.threads.min(MOST_THREADS)).unwrap_or(1).saturating_mul(2);
        let feed = Feed { runs, cut: 0, delivered: 0, is_over: false };
        Self {
            shared: Arc::new(Shared { feed: Mutex::new(feed), changed: Condvar::new(), window }),
            options,
            workers: Vec::new(),
            outcomes: None,
            early: BTreeMap::new(),
            next: 0,
            ready: VecDeque::new(),
            findings: Vec::new(),
            failed: None,
            is_done: false,
            stats: Stats::default(),
            columns: std::marker::PhantomData,
        }
    }

    fn start(&mut self) {
        let (sender, receiver) = channel();
        self.outcomes = Some(receiver);
        for _ in 0..self.options.threads.min(MOST_THREADS) {
            let (shared, options, sender) = (Arc::clone(&self.shared), self.options.clone(), sender.clone());
            let spawned = Builder::new().name("logsegment".to_owned()).spawn(move || work::<B>(&shared, &options, &sender));
            // A machine that gives no more threads still decodes with those it gave; without any, the channel is closed.
            self.workers.extend(spawned);
        }
    }

    /// The outcome of the next piece in order.
    fn next_outcome(&mut self) -> Option<Outcome> {
        loop {
            if let Some(outcome) = self.early.remove(&self.next) {
                self.next += 1;
                self.shared.lock().delivered = self.next;
                self.shared.changed.notify_all();
                return Some(outcome);
            }
            match self.outcomes.as_ref()?.recv_timeout(PATIENCE) {
                Ok((index, outcome)) => {
                    self.early.insert(index, outcome);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.options.interrupt.ensure_wanted() {
                        return Some(Outcome { error: Some(error), ..Outcome::default() });
                    }
                }
            }
        }
    }

    fn accept(&mut self, outcome: Outcome) {
        self.ready.extend(outcome.batches);
        self.findings.extend(outcome.findings);
        self.stats.add(&outcome.stats);
        self.is_done = outcome.is_last || outcome.error.is_some();
        self.failed = outcome.error;
    }
}

impl<B: BytesColumn> BatchSource for Parallel<B> {
    fn schema(&self) -> SchemaRef {
        schema_of(&self.options)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
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
            if self.outcomes.is_none() {
                self.start();
            }
            let lost = || Outcome { error: Some(internal("no decoding thread could be started, or one is gone")), ..Outcome::default() };
            let outcome = self.next_outcome().unwrap_or_else(lost);
            self.accept(outcome);
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn stats(&self) -> Stats {
        Stats { bytes_read: self.shared.lock().runs.bytes_read(), ..self.stats }
    }
}

impl<B> Drop for Parallel<B> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has said so in its outcome.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Feed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece of the source and its number, when the consumer is near enough; `None` when there is none left.
    fn next_job(&self, options: &StreamOptions) -> Option<(u64, Job)> {
        let mut feed = self.lock();
        while !feed.is_over && feed.cut >= feed.delivered.saturating_add(self.window) {
            feed = self.changed.wait(feed).unwrap_or_else(PoisonError::into_inner);
        }
        if feed.is_over {
            return None;
        }
        let index = feed.cut;
        feed.cut += 1;
        let job = feed.take(options);
        if feed.is_over {
            self.changed.notify_all();
        }
        Some((index, job))
    }
}

impl Feed {
    fn take(&mut self, options: &StreamOptions) -> Job {
        match self.runs.next_piece() {
            Ok(Some(Piece::Run(run))) => Job::Run(run),
            Ok(Some(Piece::Damage(damage))) => Job::Ready(Outcome { findings: vec![Finding::of_damage(&damage)], ..Outcome::default() }),
            Ok(Some(Piece::Swallowed(bytes))) => Job::Ready(Outcome { findings: vec![Finding::of_swallowed(bytes)], ..Outcome::default() }),
            Ok(None) => {
                self.is_over = true;
                let mut findings = Vec::new();
                let error = tail_finding(self.runs.tail(), options, &mut findings).err();
                Job::Ready(Outcome { findings, error, is_last: true, ..Outcome::default() })
            }
            Err(error) => {
                self.is_over = true;
                Job::Ready(Outcome { error: Some(error), is_last: true, ..Outcome::default() })
            }
        }
    }
}

fn work<B: BytesColumn>(shared: &Shared, options: &StreamOptions, sender: &Sender<(u64, Outcome)>) {
    let mut unroller = Unroller::<B>::new(options.clone());
    while let Some((index, job)) = shared.next_job(options) {
        let outcome = match job {
            Job::Ready(outcome) => outcome,
            Job::Run(run) => {
                let unrolled = catch_unwind(AssertUnwindSafe(|| unroll(&mut unroller, run)));
                unrolled.unwrap_or_else(|_| Outcome { error: Some(internal("a decoding thread panicked")), ..Outcome::default() })
            }
        };
        let is_over = outcome.error.is_some();
        if sender.send((index, outcome)).is_err() || is_over {
            shared.lock().is_over = true;
            shared.changed.notify_all();
            return;
        }
    }
}

fn unroll<B: BytesColumn>(unroller: &mut Unroller<B>, run: Run) -> Outcome {
    let before = unroller.stats();
    let mut batches = Vec::new();
    unroller.feed(run);
    let walked = loop {
        match unroller.next_full() {
            Ok(Some(batch)) => batches.push(batch),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let finished = unroller.finish().map(|last| batches.extend(last));
    Outcome {
        batches,
        findings: std::mem::take(&mut unroller.findings),
        error: walked.and(finished).err(),
        stats: unroller.stats().since(&before),
        is_last: false,
    }
}

fn internal(what: &str) -> Error {
    ErrorKind::Internal { what: what.to_owned() }.into()
}
