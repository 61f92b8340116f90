//! Files of object stores for the Python package: opened, listed and written.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::Interrupt;
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::stores::{self, Entry, Location, StorageOptions, StoreErrorKind};
use crate::wire::as_u64;

/// Key, whether it is a directory, bytes, and the time of the last write in seconds since the epoch.
type EntryRow = (String, bool, u64, Option<f64>);

/// A file of a store as it was when it was opened. It may be read from several threads.
///
/// Attributes:
///     size: bytes.
///     version: the size, and a tag that differs between files of the same size.
#[pyclass(frozen, module = "logsegment._core")]
pub struct StoredFile {
    file: stores::StoredFile,
    requests: AtomicU64,
    fetched: AtomicU64,
}

#[pymethods]
impl StoredFile {
    /// Open a file.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is no such file.
    ///     OSError: if the store refuses access, or does not answer.
    #[new]
    fn new(py: Python<'_>, uri: &str) -> PyResult<Self> {
        let file = asked(py, uri, stores::StoredFile::open)?;
        Ok(Self { file, requests: AtomicU64::new(0), fetched: AtomicU64::new(0) })
    }

    #[getter]
    fn size(&self) -> u64 {
        self.file.size()
    }

    #[getter]
    fn version(&self) -> (u64, String) {
        self.file.version()
    }

    /// Return the bytes from `position` on: `length` of them, or fewer at the end of the file.
    ///
    /// Raises:
    ///     ShortReadError: if the store returns fewer bytes.
    ///     ChangedError: if the file was replaced since it was opened.
    ///     OSError: if the store does not answer.
    fn read_at<'py>(&self, py: Python<'py>, position: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        let wanted = position..position.saturating_add(length);
        let bytes = answered(py, |interrupt| self.file.read(wanted, interrupt))?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.fetched.fetch_add(as_u64(bytes.len()), Ordering::Relaxed);
        Ok(PyBytes::new(py, &bytes))
    }

    /// Return the bytes of a range; a store gives bytes or an error.
    fn read_past_damage<'py>(&self, py: Python<'py>, position: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.read_at(py, position, length)
    }

    /// Ask the store whether the file is still the one that was opened.
    ///
    /// Raises:
    ///     ChangedError: if it is another file.
    ///     OSError: if the file is gone, or the store does not answer.
    fn ensure_same(&self, py: Python<'_>) -> PyResult<()> {
        answered(py, |interrupt| self.file.ensure_same(interrupt))
    }

    /// Return the requests and bytes since the last call, and no findings.
    fn taken(&self) -> (u64, u64, Vec<u64>) {
        (self.requests.swap(0, Ordering::Relaxed), self.fetched.swap(0, Ordering::Relaxed), Vec::new())
    }
}

/// Return the files and directories in a directory of a store, or with `deep` all files below it: key, whether it is a directory, bytes, and
/// the time of the last write in seconds since the epoch or None.
///
/// Raises:
///     FileNotFoundError: if there is no such directory.
///     OSError: if the store does not answer.
#[pyfunction]
#[pyo3(signature = (uri, *, deep=false))]
pub fn store_entries(py: Python<'_>, uri: &str, deep: bool) -> PyResult<Vec<EntryRow>> {
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
    (entry.key, entry.is_directory, entry.size, modified)
}
