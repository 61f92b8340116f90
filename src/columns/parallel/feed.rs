//! What the threads of a stream share: the source, cut into numbered jobs, and how far the consumer has come.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;

use crate::columns::run_pieces::{check_first_run, leave_out, tail_finding};
use crate::columns::stream_options::StreamOptions;
use crate::decode::Stats;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{FrameEvent, Run, Runs};
use crate::validate::Findings;

/// The source and the state of its jobs, behind one lock.
pub struct SharedFeed {
    feed: Mutex<JobFeed>,
    changed: Condvar,
    /// How many jobs may be under way or finished before the consumer takes them.
    window: u64,
}

struct JobFeed {
    runs: Runs,
    /// Jobs that were cut ahead, because only the consumer may read the source.
    queue: VecDeque<(u64, Job)>,
    cut: u64,
    delivered: u64,
    /// How often the consumer came for chunks.
    asked: u64,
    /// Findings of the first run, which the last outcome returns.
    findings: Findings,
    has_begun: bool,
    /// Nothing is left to cut.
    is_ended: bool,
    /// Nothing is wanted any more.
    is_over: bool,
}

/// What became of one job, or a part of it.
#[derive(Default)]
pub struct JobOutcome {
    pub batches: Vec<RecordBatch>,
    pub findings: Findings,
    pub error: Option<Error>,
    pub stats: Stats,
    /// More of the same job follows.
    pub is_part: bool,
    /// It is the last job.
    pub is_last: bool,
}

/// One piece of the source.
pub enum Job {
    /// Entries to decode.
    Run(Run),
    /// Nothing to do.
    Ready(JobOutcome),
}

impl SharedFeed {
    pub fn new(runs: Runs, threads: usize) -> Self {
        let window = u64::try_from(threads).unwrap_or(1).saturating_mul(2);
        let (queue, cut, delivered, asked) = (VecDeque::new(), 0, 0, 0);
        let feed = JobFeed {
            runs,
            queue,
            cut,
            delivered,
            asked,
            is_ended: false,
            findings: Findings::default(),
            has_begun: false,
            is_over: false,
        };
        Self { feed: Mutex::new(feed), changed: Condvar::new(), window }
    }

    /// For a worker: the next job and its number, once the consumer is near enough; `None` when there is none left.
    pub fn wait_for_job(&self, options: &StreamOptions) -> Option<(u64, Job)> {
        let mut feed = self.lock();
        loop {
            if feed.is_over {
                return None;
            }
            let cuts = !feed.runs.needs_caller();
            if let Some(job) = feed.next_job(options, self.window, cuts) {
                return Some(job);
            }
            if feed.is_ended {
                return None;
            }
            feed = self.wait(feed);
        }
    }

    /// For the consumer: a job that can be had at once.
    pub fn try_job(&self, options: &StreamOptions) -> Option<(u64, Job)> {
        let mut feed = self.lock();
        if feed.runs.needs_caller() {
            feed.fill_queue(options, self.window);
            self.changed.notify_all();
        }
        feed.next_job(options, self.window, true)
    }

    /// Says that the consumer waits for the job of this number.
    pub fn ask(&self, number: u64) {
        let mut feed = self.lock();
        feed.delivered = number;
        feed.asked += 1;
        self.changed.notify_all();
    }

    /// For a worker that holds as many chunks as it may: waits until the consumer wants those of this job; false when nobody does any more.
    pub fn wait_for_turn(&self, number: u64) -> bool {
        let mut feed = self.lock();
        // The first job is nobody's turn before the consumer has come.
        while !feed.is_over && (feed.asked == 0 || feed.delivered != number) {
            feed = self.wait(feed);
        }
        !feed.is_over
    }

    /// How often the consumer has come.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// Waits until the consumer has come more often than that.
    pub fn wait_for_more_than(&self, asked: u64) {
        let mut feed = self.lock();
        while !feed.is_over && feed.asked == asked {
            feed = self.wait(feed);
        }
    }

    /// Nothing is wanted any more.
    pub fn close(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    pub fn bytes_read(&self) -> u64 {
        self.lock().runs.bytes_read()
    }

    fn lock(&self) -> MutexGuard<'_, JobFeed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, feed: MutexGuard<'a, JobFeed>) -> MutexGuard<'a, JobFeed> {
        self.changed.wait(feed).unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobFeed {
    fn next_job(&mut self, options: &StreamOptions, window: u64, cuts: bool) -> Option<(u64, Job)> {
        if self.queue.is_empty() && cuts && self.may_cut(window) {
            return Some(self.cut(options));
        }
        self.queue.pop_front()
    }

    fn fill_queue(&mut self, options: &StreamOptions, window: u64) {
        while self.may_cut(window) {
            let job = self.cut(options);
            self.queue.push_back(job);
        }
    }

    fn may_cut(&self, window: u64) -> bool {
        !self.is_ended && !self.is_over && self.cut < self.delivered.saturating_add(window)
    }

    fn cut(&mut self, options: &StreamOptions) -> (u64, Job) {
        let number = self.cut;
        self.cut += 1;
        let piece = catch_unwind(AssertUnwindSafe(|| self.runs.next_piece()));
        let job = match piece.unwrap_or_else(|_| Err(internal("splitting the source panicked"))) {
            Ok(Some(FrameEvent::Run(run))) => match check_first_run(options, &mut self.findings, &mut self.has_begun, &run) {
                Ok(()) => return (number, Job::Run(run)),
                Err(error) => self.end(|_, _| Err(error)),
            },
            Ok(Some(other)) => {
                let mut outcome = JobOutcome::default();
                match leave_out(options, &mut outcome.findings, &other) {
                    Ok(()) => outcome,
                    Err(error) => self.end(|_, _| Err(error)),
                }
            }
            Ok(None) => self.end(|runs, findings| tail_finding(runs.tail(), options, findings)),
            Err(error) => self.end(|_, _| Err(error)),
        };
        (number, Job::Ready(job))
    }

    fn end(&mut self, finding_of: impl FnOnce(&Runs, &mut Findings) -> Result<()>) -> JobOutcome {
        self.is_ended = true;
        let mut findings = std::mem::take(&mut self.findings);
        let error = finding_of(&self.runs, &mut findings).err();
        JobOutcome { findings, error, is_last: true, ..JobOutcome::default() }
    }
}

pub fn internal(what: &str) -> Error {
    ErrorKind::Internal { what: what.to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::framing::Source;
    use crate::limits::Limits;

    #[test]
    fn the_first_job_is_nobodys_turn_before_the_consumer_has_come() {
        let shared = SharedFeed::new(Runs::new(Source::memory(bytes::Bytes::new()), Limits::default(), 1), 2);
        let (sender, turns) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(shared.wait_for_turn(0)));
            let early = turns.recv_timeout(Duration::from_millis(20));
            shared.ask(0);
            assert!(early.is_err(), "the turn came by itself");
            assert_eq!(turns.recv(), Ok(true));
        });
    }
}
