//! Files of stores that a call reads next. They are opened, and their first bytes fetched, while another file is read.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::keys;
use crate::interrupt::Interrupt;
use crate::py::source::uris;
use crate::stores::{self, Pending};
use crate::tiered::{self, TieredRange};

/// Files that are opened ahead. Each has at most 32 MiB in flight, or fetched and not read.
pub const MOST_AHEAD: usize = 4;

/// A range of a file that is being opened.
pub enum UpcomingRange {
    /// Of a store.
    Stored(Pending<stores::StoredRange>),
    /// Of an upload.
    Uploaded(Pending<tiered::TieredResult<TieredRange>>),
}

/// Path, first byte and end (exclusive) of a range.
type RangeKey = (PathBuf, (u64, Option<u64>));

/// The files that are read next, in their order. Calls that read one file each share them.
#[pyclass(frozen, module = "logsegment._core")]
#[derive(Default)]
pub struct UpcomingFiles(Mutex<VecDeque<(RangeKey, UpcomingRange)>>);

impl UpcomingFiles {
    /// Begin to open a range, unless it was begun. The error of a file that cannot be opened is raised when the file is read.
    pub(super) fn begin(&self, path: &Path, bounds: (u64, Option<u64>)) {
        let mut files = self.files();
        if files.iter().any(|((known, own), _)| known == path && *own == bounds) {
            return;
        }
        if let Some(range) = begin_range(path, bounds) {
            files.push_back(((path.to_owned(), bounds), range));
        }
    }

    /// Take a range that was begun. Those before it are not read any more.
    pub fn take(&self, path: &Path, bounds: (u64, Option<u64>)) -> Option<UpcomingRange> {
        let mut files = self.files();
        let at = files.iter().position(|((known, own), _)| known == path && *own == bounds)?;
        files.drain(..=at).next_back().map(|(_, range)| range)
    }

    /// Take the files of another call.
    pub fn take_all(&self, other: &Self) {
        let taken = std::mem::take(&mut *other.files());
        *self.files() = taken;
    }

    fn files(&self) -> MutexGuard<'_, VecDeque<(RangeKey, UpcomingRange)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins to open a range and to fetch its first bytes; `None` if that is not possible, or costs no request.
fn begin_range(uri: &Path, (start, end): (u64, Option<u64>)) -> Option<UpcomingRange> {
    if uris::is_uploaded(uri) {
        let upload = uris::upload_at(uri).ok().filter(|upload| upload.place.is_stored())?;
        return keys::begun(TieredRange::begin(&upload, start, end)).map(UpcomingRange::Uploaded);
    }
    let location = uris::located(uri).filter(|_| uris::is_stored(uri))?.ok()?;
    stores::StoredRange::begin(&location, start, end, &Interrupt::default()).ok().map(UpcomingRange::Stored)
}
