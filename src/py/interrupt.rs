//! Ctrl-C during native work: signals are looked at every few dozen milliseconds, whatever thread holds the interpreter.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::interrupt::Interrupt;
use crate::py::errors;
use crate::py::fetches::Fetches;
use crate::py::finding::PyFinding;
use crate::py::source::upcoming::UpcomingFiles;

/// Looks at Python's signals, keeps what Python code raised, and counts what it fetched.
#[derive(Default)]
pub struct Signals {
    raised: Mutex<Option<PyErr>>,
    looked: Mutex<Option<Instant>>,
    /// Ranges that were asked of a store, and their bytes.
    requests: AtomicU64,
    fetched: AtomicU64,
    /// The reader continues after damaged bytes of a store, and reports them as findings.
    skips_damage: AtomicBool,
    notes: Mutex<Vec<PyFinding>>,
    /// Some of the bytes come from a file object or a store, so that a read may wait for them.
    may_wait: AtomicBool,
    /// The one file that is read, as people may see its name.
    file: OnceLock<Arc<str>>,
    /// The files of stores that are read next.
    upcoming: UpcomingFiles,
}

/// Ctrl-C is noticed well within 100 ms, and the interpreter is asked for only that often.
const EVERY: Duration = Duration::from_millis(40);

impl Signals {
    /// The signals, and the question that native work asks.
    pub fn new() -> (Arc<Self>, Interrupt) {
        let signals = Arc::new(Self::default());
        let interrupt = signals.interrupt();
        (signals, interrupt)
    }

    /// The question that native work asks.
    pub fn interrupt(self: &Arc<Self>) -> Interrupt {
        let asked = Arc::clone(self);
        Interrupt::new(move || asked.is_raised())
    }

    /// Keeps what Python code raised while native work called it.
    pub fn keep(&self, error: PyErr) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Takes what was kept.
    pub fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The files of stores that are read next.
    pub fn upcoming(&self) -> &UpcomingFiles {
        &self.upcoming
    }

    /// Counts what was asked of a store.
    pub fn fetched(&self, requests: u64, bytes: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.fetched.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Sets whether damaged bytes of a store end the read, or are reported and skipped.
    pub fn skip_damage(&self, skips: bool) {
        self.skips_damage.store(skips, Ordering::Relaxed);
    }

    /// True if the read continues after damage.
    pub fn skips_damage(&self) -> bool {
        self.skips_damage.load(Ordering::Relaxed)
    }

    /// Notes that bytes come from a file object or a store.
    pub fn expect_to_wait(&self) {
        self.may_wait.store(true, Ordering::Relaxed);
    }

    /// True if a read may wait for bytes that are neither in memory nor in a local file.
    pub fn may_wait(&self) -> bool {
        self.may_wait.load(Ordering::Relaxed)
    }

    /// Says which file errors are about that name none.
    pub fn read_file(&self, name: String) {
        let _ = self.file.set(name.into());
    }

    /// The same error with the name of the file.
    pub fn named(&self, error: &Error) -> Error {
        match self.file.get() {
            Some(file) if error.is_about_data() => error.clone().in_file(file),
            _ => error.clone(),
        }
    }

    /// Keeps what a store found out about its own files, each once.
    pub fn note(&self, findings: Vec<PyFinding>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for finding in findings {
            if !notes.contains(&finding) {
                notes.push(finding);
            }
        }
    }

    /// Findings of stores about their own files.
    pub fn notes(&self) -> Vec<PyFinding> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counters of requests to stores.
    pub fn fetches(&self) -> Fetches {
        Fetches { requests: self.requests.load(Ordering::Relaxed), bytes: self.fetched.load(Ordering::Relaxed) }
    }

    /// The exception for an error, however often it is asked for: what Python code raised when it was the cause, or the error's own.
    pub fn raised(&self, py: Python<'_>, error: &Error) -> PyErr {
        let error = &self.named(error);
        let is_from_python = matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Io { .. } | ErrorKind::LostBytes { .. });
        let kept = self.raised.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|kept| kept.clone_ref(py));
        let Some(kept) = kept.filter(|_| is_from_python) else { return errors::to_py(py, error) };
        if let Some(path) = error.file() {
            errors::set_path(py, &kept, path);
        }
        kept
    }

    /// Keeps what Python code raised, and gives the error with which native work ends because of it.
    pub fn kept(&self, error: PyErr) -> Error {
        let message = error.to_string();
        self.keep(error);
        std::io::Error::other(message).into()
    }

    fn is_raised(&self) -> bool {
        if !self.is_due() {
            return false;
        }
        let Err(error) = Python::attach(|py| py.check_signals()) else { return false };
        self.keep(error);
        true
    }

    fn is_due(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_due = looked.is_none_or(|last| now.duration_since(last) >= EVERY);
        if is_due {
            *looked = Some(now);
        }
        is_due
    }
}
