//! Where a verb that writes puts its bytes: memory, a file, or a binary file object.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::interrupt::Signals;
use super::{errors, store};
use crate::error::{ErrorKind, Result};
use crate::io::WholeFile;

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

/// Bytes are collected up to here: a call for every batch would cost more than encoding it, and an allocation of 128 KiB or more fresh
/// pages every time.
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

    /// Takes what is pending once that is worth it.
    ///
    /// # Errors
    /// `Io` when it cannot be written.
    #[inline]
    pub fn take(&mut self, pending: &mut Vec<u8>) -> Result<()> {
        if pending.len() < ENOUGH { Ok(()) } else { self.write(pending) }
    }

    /// Takes the last bytes, and puts a file in its place.
    ///
    /// # Errors
    /// `Io` when it cannot be written.
    pub fn finish(mut self, pending: &mut Vec<u8>) -> Result<()> {
        self.write(pending)?;
        match self {
            Self::File(file) => file.commit().map_err(Into::into),
            Self::Memory | Self::Object(_) => Ok(()),
        }
    }

    fn write(&mut self, pending: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Memory => return Ok(()),
            Self::File(file) => file.write_all(pending)?,
            Self::Object(object) => object.write(pending)?,
        }
        pending.clear();
        Ok(())
    }
}

impl FileObject {
    fn write(&self, bytes: &[u8]) -> Result<()> {
        Python::attach(|py| {
            self.write_all(py, bytes).map_err(|error| {
                let message = error.to_string();
                self.signals.keep(error);
                ErrorKind::Io { kind: std::io::ErrorKind::Other, os_code: None, message }.into()
            })
        })
    }

    /// A raw file may take less than it is given; objects that say nothing took all.
    fn write_all(&self, py: Python<'_>, mut bytes: &[u8]) -> PyResult<()> {
        while !bytes.is_empty() {
            let taken = self.object.call_method1(py, "write", (PyBytes::new(py, bytes),))?;
            let Ok(taken) = taken.extract::<usize>(py) else { return Ok(()) };
            bytes = match bytes.get(taken..) {
                Some(rest) if taken > 0 => rest,
                _ => return Err(PyValueError::new_err(format!("write() of {} bytes says that it took {taken}", bytes.len()))),
            };
        }
        Ok(())
    }
}

fn with_path(py: Python<'_>, error: std::io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => errors::os_error(py, code, Some(path)),
        None => error.into(),
    }
}
