//! Files of object stores and of tiered storage for the Python package: opened, listed and written.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::Interrupt;
use crate::py::errors;
use crate::py::finding::{self, Finding};
use crate::py::interrupt::Signals;
use crate::py::verbs::uploads;
use crate::stores::{self, Entry, Location, StorageOptions, StoreErrorKind};
use crate::tiered::{self, Part, TieredFile, Uri};
use crate::wire::as_u64;

/// Key or name, whether it is a directory, bytes, the time of the last write in seconds since the epoch, and the tag of the version.
pub(super) type EntryRow = (String, bool, u64, Option<f64>, Option<String>);

/// A file of a store or of tiered storage as it was when it was opened. It may be read from several threads.
///
/// Attributes:
///     size: bytes.
///     version: the size, and a tag that differs between files of the same size.
#[pyclass(frozen, module = "logsegment._core")]
pub struct StoredFile {
    file: Opened,
    taken: Mutex<Taken>,
}

enum Opened {
    Stored(stores::StoredFile),
    Uploaded(TieredFile),
}

/// Requests and bytes since the last question, and what was skipped.
#[derive(Default)]
struct Taken {
    requests: u64,
    fetched: u64,
    findings: Vec<Finding>,
}

#[pymethods]
impl StoredFile {
    /// Open a file.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is no such file.
    ///     SegmentKeyError: if a key of an upload is missing or wrong.
    ///     OSError: if the store refuses access, or does not answer.
    #[new]
    fn new(py: Python<'_>, uri: &str) -> PyResult<Self> {
        let file = if Uri::is_one(uri) {
            Opened::Uploaded(uploads::asked(py, uri, tiered::open)?)
        } else {
            Opened::Stored(asked(py, uri, stores::StoredFile::open)?)
        };
        Ok(Self { file, taken: Mutex::default() })
    }

    #[getter]
    fn size(&self) -> u64 {
        match &self.file {
            Opened::Stored(file) => file.size(),
            Opened::Uploaded(file) => file.size(),
        }
    }

    #[getter]
    fn version(&self) -> (u64, String) {
        match &self.file {
            Opened::Stored(file) => file.version(),
            Opened::Uploaded(file) => file.version(),
        }
    }

    /// First and last offset of a segment of tiered storage, as far as they are known; None for another file.
    #[getter]
    fn offsets(&self) -> Option<(i64, Option<i64>)> {
        match &self.file {
            Opened::Stored(_) => None,
            Opened::Uploaded(file) => file.offsets.map(|offsets| (offsets.start, offsets.end)),
        }
    }

    /// Return the bytes from `position` on: `length` of them, or fewer at the end of the file and before a damaged chunk.
    ///
    /// Raises:
    ///     ChunkError: if the first of them is in a damaged chunk.
    ///     ShortReadError: if the store returns fewer bytes.
    ///     ChangedError: if the file was replaced since it was opened.
    ///     OSError: if the store does not answer.
    fn read_at<'py>(&self, py: Python<'py>, position: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.read(py, position, length, false)
    }

    /// Return the bytes of a range, with bytes 0xff in the place of those of a damaged chunk.
    fn read_past_damage<'py>(&self, py: Python<'py>, position: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.read(py, position, length, true)
    }

    /// Ask the store whether the file is still the one that was opened.
    ///
    /// Raises:
    ///     ChangedError: if it is another file.
    ///     OSError: if the file is gone, or the store does not answer.
    fn ensure_same(&self, py: Python<'_>) -> PyResult<()> {
        match &self.file {
            Opened::Stored(file) => answered(py, |interrupt| file.ensure_same(interrupt)),
            Opened::Uploaded(file) => uploads::answered(py, |interrupt| file.ensure_same(interrupt)),
        }
    }

    /// Return the requests, bytes and findings since the last call.
    fn taken(&self) -> (u64, u64, Vec<Finding>) {
        let Taken { requests, fetched, findings } = std::mem::take(&mut *self.counts());
        (requests, fetched, findings)
    }
}

impl StoredFile {
    fn read<'py>(&self, py: Python<'py>, position: u64, length: u64, skips_damage: bool) -> PyResult<Bound<'py, PyBytes>> {
        let part = match &self.file {
            Opened::Stored(file) => {
                let bytes = answered(py, |interrupt| file.read(position..position.saturating_add(length), interrupt))?;
                Part { requests: 1, fetched: as_u64(bytes.len()), bytes, findings: Vec::new() }
            }
            Opened::Uploaded(file) => uploads::answered(py, |interrupt| file.read(position, length, skips_damage, interrupt))?,
        };
        let mut taken = self.counts();
        taken.requests += part.requests;
        taken.fetched += part.fetched;
        for found in finding::to_py(&part.findings) {
            if !taken.findings.contains(&found) {
                taken.findings.push(found);
            }
        }
        Ok(PyBytes::new(py, &part.bytes))
    }

    fn counts(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Return the files and directories in a directory of a store, or with `deep` all files below it: key, whether it is a directory, bytes,
/// the time of the last write in seconds since the epoch or None, and the tag of the version or None. Those of tiered storage have names and no keys.
///
/// Raises:
///     FileNotFoundError: if there is no such directory.
///     OSError: if the store does not answer.
#[pyfunction]
#[pyo3(signature = (uri, *, deep=false))]
pub fn store_entries(py: Python<'_>, uri: &str, deep: bool) -> PyResult<Vec<EntryRow>> {
    if Uri::is_one(uri) {
        return Ok(uploads::asked(py, uri, tiered::entries)?.into_iter().map(uploads::row).collect());
    }
    let list = if deep { stores::tree } else { stores::entries };
    let found = asked(py, uri, list)?;
    Ok(found.into_iter().map(row).collect())
}

/// Return the entry of a file or directory of a store; see `store_entries`.
///
/// Raises:
///     FileNotFoundError: if there is neither.
///     OSError: if the store does not answer.
#[pyfunction]
pub fn store_entry(py: Python<'_>, uri: &str) -> PyResult<EntryRow> {
    if Uri::is_one(uri) {
        return uploads::asked(py, uri, tiered::entry).map(uploads::row);
    }
    asked(py, uri, stores::entry_of).map(row)
}

/// Write a small file to a store; replace an older one.
///
/// Raises:
///     OSError: if the store refuses it.
#[pyfunction]
pub fn store_bytes(py: Python<'_>, uri: &str, data: Vec<u8>) -> PyResult<()> {
    let data = Bytes::from(data);
    asked(py, uri, |location, interrupt| stores::put_bytes(location, data, interrupt))
}

/// Copy a file of this machine to a store; replace an older one.
///
/// Raises:
///     OSError: if the file cannot be read, or the store refuses it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a path from Python is made anew")]
pub fn store_file(py: Python<'_>, source: PathBuf, uri: &str) -> PyResult<()> {
    asked(py, uri, |location, interrupt| stores::put_file(&source, location, interrupt))
}

/// Move a file to its place in the same store, or with `undo` back. To repeat it is harmless.
///
/// Raises:
///     OSError: if the store refuses it.
#[pyfunction]
#[pyo3(signature = (source, place, *, undo=false))]
pub fn store_settle(py: Python<'_>, source: &str, place: &str, undo: bool) -> PyResult<()> {
    let from = Location::parse(source, &StorageOptions::new()).map_err(|error| errors::store_error(py, &error))?;
    let settle = if undo { stores::unsettle } else { stores::settle };
    asked(py, place, |to, interrupt| settle(&from, to, interrupt))
}

/// Remove a file, or with `tree` a directory with its files, if there is one.
///
/// Raises:
///     OSError: if the store refuses it.
#[pyfunction]
#[pyo3(signature = (uri, *, tree=false))]
pub fn store_remove(py: Python<'_>, uri: &str, tree: bool) -> PyResult<()> {
    asked(py, uri, if tree { stores::remove_directory } else { stores::remove })
}

/// Return the requests of this process to stores by name.
#[pyfunction]
pub fn store_counts() -> [(&'static str, u64); 4] {
    let counts = stores::counts();
    [
        ("range_requests", counts.range_requests),
        ("bytes_fetched", counts.bytes_fetched),
        ("files_opened", counts.files_opened),
        ("listings", counts.listings),
    ]
}

/// Asks a store about a URI, without the interpreter.
fn asked<T: Send>(py: Python<'_>, uri: &str, ask: impl FnOnce(&Location, &Interrupt) -> stores::Result<T> + Send) -> PyResult<T> {
    let location = Location::parse(uri, &StorageOptions::new()).map_err(|error| errors::store_error(py, &error))?;
    answered(py, |interrupt| ask(&location, interrupt))
}

fn answered<T: Send>(py: Python<'_>, ask: impl FnOnce(&Interrupt) -> stores::Result<T> + Send) -> PyResult<T> {
    let (signals, interrupt): (Arc<Signals>, Interrupt) = Signals::new();
    py.detach(|| ask(&interrupt)).map_err(|error| match signals.take() {
        Some(raised) if error.kind == StoreErrorKind::Interrupted => raised,
        _ => errors::store_error(py, &error),
    })
}

fn row(entry: Entry) -> EntryRow {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "ms since the epoch need 41 of 53 bits")]
    let modified = entry.modified_ms.map(|ms| ms as f64 / 1000.0);
    (entry.key, entry.is_directory, entry.size, modified, entry.tag)
}
