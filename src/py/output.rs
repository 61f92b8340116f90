//! Where a verb that writes puts its bytes: memory, a file, or a binary file object.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PySlice};

use super::chunk::Chunk;
use super::interrupt::Signals;
use super::{errors, store};
use crate::error::{Result, counted};
use crate::io::WholeFile;
use crate::wire::Sink;

/// Takes bytes as they come.
pub enum Output {
    /// Kept by the verb, which gives them all at the end.
    Memory,
    /// A file that is there whole or not at all.
    File(Box<WholeFile>),
    /// An object with `write`.
    Object(FileObject),
}

/// Calls `write(bytes)` of a Python object. What it raises is kept aside and raised again by the verb.
pub struct FileObject {
    object: Py<PyAny>,
    signals: Arc<Signals>,
}

/// Bytes are collected up to here: a call for every batch would cost more than encoding it, and more bytes leave the caches.
const ENOUGH: usize = 64 << 10;

impl Output {
    /// Memory for None, else a path or a binary file object.
    pub fn of(out: Option<&Bound<'_, PyAny>>, signals: &Arc<Signals>) -> PyResult<Self> {
        let Some(out) = out else { return Ok(Self::Memory) };
        if out.hasattr("write")? {
            return Ok(Self::Object(FileObject { object: out.clone().unbind(), signals: Arc::clone(signals) }));
        }
        let Ok(path) = out.extract::<PathBuf>() else {
            return Err(PyTypeError::new_err("out must be a path or a binary file object"));
        };
        if store::is_stored(&path) {
            let place = store::shown(&path);
            return Err(PyValueError::new_err(format!(
                "out: {place} lies in a store, which is only read: write to a file here and copy it"
            )));
        }
        WholeFile::create(&path).map(|file| Self::File(Box::new(file))).map_err(|error| with_path(out.py(), error, &path))
    }

    /// How many bytes must be pending before it is worth to write them.
    #[inline]
    pub fn enough(&self) -> usize {
        if matches!(self, Self::Memory) { usize::MAX } else { ENOUGH }
    }

    /// Takes the last bytes, and puts a file in its place.
    ///
    /// # Errors
    /// `Io` when it cannot be written.
    pub fn finish(mut self, pending: &mut Sink) -> Result<()> {
        self.write(pending)?;
        match self {
            Self::File(file) => file.commit().map_err(Into::into),
            Self::Memory | Self::Object(_) => Ok(()),
        }
    }

    /// Writes what is pending, and leaves nothing of it; memory leaves it where it is.
    ///
    /// # Errors
    /// `Io` when it cannot be written.
    pub fn write(&mut self, pending: &mut Sink) -> Result<()> {
        match self {
            Self::Memory => return Ok(()),
            Self::File(file) => file.write_all(pending.bytes())?,
            Self::Object(object) => object.write(pending)?,
        }
        pending.clear();
        Ok(())
    }
}

impl FileObject {
    /// The object sees the storage itself, which comes back unless it keeps what it sees.
    fn write(&self, pending: &mut Sink) -> Result<()> {
        Python::attach(|py| self.write_all(py, pending).map_err(|error| self.signals.kept(error)))
    }

    /// A raw file may take less than it is given; objects that say nothing took all.
    fn write_all(&self, py: Python<'_>, pending: &mut Sink) -> PyResult<()> {
        let chunk = Bound::new(py, Chunk::new(std::mem::take(pending)))?;
        let mut bytes = PyMemoryView::from(&chunk)?.into_any();
        let mut left = bytes.len()?;
        while left > 0 {
            let taken = self.object.bind(py).call_method1(intern!(py, "write"), (&bytes,))?;
            let taken = taken.extract().unwrap_or(left);
            if taken == 0 || taken > left {
                return Err(PyValueError::new_err(format!("write() of {} says that it took {taken}", counted(left, "byte"))));
            }
            bytes = bytes.get_item(PySlice::new(py, isize::try_from(taken)?, isize::try_from(left)?, 1))?;
            left -= taken;
        }
        drop(bytes);
        *pending = chunk.get().take_back();
        Ok(())
    }
}

fn with_path(py: Python<'_>, error: std::io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => errors::os_error(py, code, Some(path)),
        None => error.into(),
    }
}
