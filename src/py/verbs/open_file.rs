//! Files and directories of listings, and open files, for the Python package.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::Interrupt;
use crate::partition::DirectoryEntry;
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::source::uris;
use crate::stores::{self, PlacedFile, StoreErrorKind};
use crate::tiered::{self, TieredFile};

/// A file or directory of a listing.
///
/// Attributes:
///     path (str): its path or URI.
///     name (str): the last part of it.
///     is_directory (bool): True for a directory.
///     size (int): bytes of a file.
///     modified (float or None): the time of the last write in seconds since the epoch, where it is known.
///     tag (str or None): the tag of the version, where a store has one.
#[pyclass(name = "PlaceEntry", frozen, module = "logsegment._core")]
pub struct PyPlaceEntry(pub DirectoryEntry);

#[pymethods]
impl PyPlaceEntry {
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::text_of(py, &self.0.path)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn is_directory(&self) -> bool {
        self.0.is_directory
    }

    #[getter]
    fn size(&self) -> u64 {
        self.0.size.unwrap_or(0)
    }

    #[getter]
    fn modified(&self) -> Option<f64> {
        #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "a time in seconds has not all of its nanoseconds")]
        self.0.modified_ns.map(|ns| ns as f64 / 1e9)
    }

    #[getter]
    fn tag(&self) -> Option<&str> {
        self.0.tag.as_deref()
    }
}

/// A file as it was when it was opened. It may be read from several threads.
///
/// Attributes:
///     size: bytes.
///     version: the size, and a text that differs between files of the same size.
#[pyclass(frozen, module = "logsegment._core")]
pub struct OpenFile(pub OpenedFile);

/// Who gives the bytes.
pub enum OpenedFile {
    /// This machine or a store.
    Placed(PlacedFile),
    /// Tiered storage.
    Uploaded(TieredFile),
}

#[pymethods]
impl OpenFile {
    #[getter]
    fn size(&self) -> u64 {
        match &self.0 {
            OpenedFile::Placed(file) => file.size(),
            OpenedFile::Uploaded(file) => file.size(),
        }
    }

    #[getter]
    fn version(&self) -> (u64, String) {
        match &self.0 {
            OpenedFile::Placed(file) => file.version(),
            OpenedFile::Uploaded(file) => file.version(),
        }
    }

    /// First and last offset of a segment of tiered storage, as far as they are known; None for another file.
    #[getter]
    fn offsets(&self) -> Option<(i64, Option<i64>)> {
        match &self.0 {
            OpenedFile::Placed(_) => None,
            OpenedFile::Uploaded(file) => file.offsets.map(|offsets| (offsets.start, offsets.end)),
        }
    }

    /// Return the bytes from `position` on: `length` of them, or fewer at the end of the file and before a damaged chunk.
    ///
    /// Raises:
    ///     ChunkError: if the first of them is in a damaged chunk.
    ///     ShortReadError: if there are fewer bytes.
    ///     ChangedError: if the file was replaced since it was opened.
    ///     OSError: if the store does not answer.
    fn read_at<'py>(&self, py: Python<'py>, position: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match &self.0 {
            OpenedFile::Placed(file) => answered(py, |interrupt| file.read(position..position.saturating_add(length), interrupt))?,
            OpenedFile::Uploaded(file) => answered_of_upload(py, |interrupt| file.read(position, length, false, interrupt))?.bytes,
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Check that the file is still the one that was opened.
    ///
    /// Raises:
    ///     ChangedError: if it is another file.
    ///     OSError: if the file is gone, or the store does not answer.
    fn ensure_same(&self, py: Python<'_>) -> PyResult<()> {
        match &self.0 {
            OpenedFile::Placed(file) => answered(py, |interrupt| file.ensure_same(interrupt)),
            OpenedFile::Uploaded(file) => answered_of_upload(py, |interrupt| file.ensure_same(interrupt)),
        }
    }
}

/// Asks a store without the interpreter.
///
/// # Errors
/// The exception of a signal, and those of the store.
pub fn answered<T: Send>(py: Python<'_>, ask: impl FnOnce(&Interrupt) -> stores::StoreResult<T> + Send) -> PyResult<T> {
    let (signals, interrupt): (Arc<Signals>, Interrupt) = Signals::new();
    py.detach(|| ask(&interrupt)).map_err(|error| match signals.take() {
        Some(raised) if error.kind == StoreErrorKind::Interrupted => raised,
        _ => errors::store_error(py, &error),
    })
}

/// Asks tiered storage without the interpreter.
///
/// # Errors
/// The exception of a signal, and those of tiered storage.
pub fn answered_of_upload<T: Send>(py: Python<'_>, ask: impl FnOnce(&Interrupt) -> tiered::TieredResult<T> + Send) -> PyResult<T> {
    let (signals, interrupt): (Arc<Signals>, Interrupt) = Signals::new();
    py.detach(|| ask(&interrupt)).map_err(|error| match signals.take() {
        Some(raised) if error.is_interrupted() => raised,
        _ => errors::tiered_error(py, &error),
    })
}
