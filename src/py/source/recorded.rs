//! Logs of stores whose headers are kept while they are validated, so that the check of the files next to them fetches no log again.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use super::upcoming::UpcomingFiles;
use super::{FileSource, OpenedSource};
use crate::log::RecordedHeaders;
use crate::py::interrupt::Signals;

/// Bytes of headers of all logs that are kept at a time.
const MOST_HEADERS: usize = 256 << 20;

/// The headers of logs that were validated, until the files next to them are checked; and the logs that are validated next.
#[pyclass(frozen, module = "logsegment._core")]
pub struct RecordedLogs {
    headers: Mutex<HashMap<PathBuf, Arc<RecordedHeaders>>>,
    left: Arc<AtomicUsize>,
    upcoming: UpcomingFiles,
}

impl Default for RecordedLogs {
    fn default() -> Self {
        Self { headers: Mutex::default(), left: Arc::new(AtomicUsize::new(MOST_HEADERS)), upcoming: UpcomingFiles::default() }
    }
}

#[pymethods]
impl RecordedLogs {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

impl RecordedLogs {
    /// Open a file. If it is in a store and read from its first byte on, keep its headers.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(&self, file: &FileSource, signals: &Arc<Signals>) -> io::Result<OpenedSource> {
        let (opened, recorded) = file.open_recording(signals, &self.left)?;
        if let Some(recorded) = recorded {
            self.headers.lock().unwrap_or_else(PoisonError::into_inner).insert(file.path.clone(), recorded);
        }
        Ok(opened)
    }

    /// Return the headers of a log, and keep them no longer.
    pub fn take(&self, path: &Path) -> Option<Arc<RecordedHeaders>> {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
    }

    /// Give the files that another call began to open to the signals of this call.
    pub fn resume(&self, signals: &Signals) {
        signals.upcoming().take_all(&self.upcoming);
    }

    /// Keep the files that this call began to open for the next call.
    pub fn suspend(&self, signals: &Signals) {
        self.upcoming.take_all(signals.upcoming());
    }
}
