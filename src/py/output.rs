//! The output of a verb: memory, a staged file, or a binary file object.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PySlice};

use crate::error::{Error, Result, plural};
use crate::io::Writeback;
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::shared_bytes::SharedChunk;
use crate::wire::{Sink, as_u64};

/// Takes bytes as they come.
pub enum PyOutput {
    /// Kept by the verb, which gives them all at the end.
    Memory,
    /// A file that `logsegment._output` created, and puts in place when the verb has returned.
    File(StagedFile),
    /// An object with `write`.
    Object(OutputFileObject),
}

/// A file that is written front to back.
pub struct StagedFile {
    file: File,
    writeback: Writeback,
    name: Arc<str>,
}

/// Calls `write(bytes)` of a Python object. What it raises is kept aside and raised again by the verb.
pub struct OutputFileObject {
    object: Py<PyAny>,
    signals: Arc<Signals>,
}

/// Bytes are collected up to here: a call for every batch would cost more than encoding it, and more bytes leave the caches.
const ENOUGH: usize = 64 << 10;

impl PyOutput {
    /// Memory for None, else the path of an existing file or a binary file object.
    pub fn of(out: Option<&Bound<'_, PyAny>>, signals: &Arc<Signals>) -> PyResult<Self> {
        let Some(out) = out else { return Ok(Self::Memory) };
        if out.hasattr("write")? {
            return Ok(Self::Object(OutputFileObject { object: out.clone().unbind(), signals: Arc::clone(signals) }));
        }
        let Ok(path) = out.extract::<PathBuf>() else {
            return Err(PyTypeError::new_err("out must be a path or a binary file object"));
        };
        let file = OpenOptions::new().write(true).open(&path).map_err(|error| errors::io_error(out.py(), &error, &path))?;
        let name = Arc::from(path.to_string_lossy());
        Ok(Self::File(StagedFile { file, writeback: Writeback::default(), name }))
    }

    /// How many bytes must be pending before it is worth to write them.
    #[inline]
    pub fn enough(&self) -> usize {
        if matches!(self, Self::Memory) { usize::MAX } else { ENOUGH }
    }

    /// Writes the last bytes.
    ///
    /// # Errors
    /// `Io` when it cannot be written.
    pub fn finish(mut self, pending: &mut Sink) -> Result<()> {
        self.write(pending)
    }

    /// Writes what is pending, and leaves nothing of it; memory leaves it where it is.
    ///
    /// # Errors
    /// `Io` when it cannot be written.
    pub fn write(&mut self, pending: &mut Sink) -> Result<()> {
        match self {
            Self::Memory => return Ok(()),
            Self::File(file) => file.write(pending.bytes())?,
            Self::Object(object) => object.write(pending)?,
        }
        pending.clear();
        Ok(())
    }
}

impl StagedFile {
    /// Writes all bytes.
    ///
    /// # Errors
    /// `Io` when they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::from(error).in_file(&self.name))?;
        self.writeback.add(&self.file, as_u64(bytes.len()));
        Ok(())
    }
}

impl OutputFileObject {
    /// The object sees the storage itself, which comes back unless it keeps what it sees.
    fn write(&self, pending: &mut Sink) -> Result<()> {
        Python::attach(|py| self.write_all(py, pending).map_err(|error| self.signals.kept(error)))
    }

    /// A raw file may take less than it is given; objects that say nothing took all.
    fn write_all(&self, py: Python<'_>, pending: &mut Sink) -> PyResult<()> {
        let chunk = Bound::new(py, SharedChunk::new(std::mem::take(pending)))?;
        let mut bytes = PyMemoryView::from(&chunk)?.into_any();
        let mut left = bytes.len()?;
        while left > 0 {
            let taken = self.object.bind(py).call_method1(intern!(py, "write"), (&bytes,))?;
            let taken = taken.extract().unwrap_or(left);
            if taken == 0 || taken > left {
                return Err(PyValueError::new_err(format!("write() of {} returned {taken}", plural(left, "byte"))));
            }
            bytes = bytes.get_item(PySlice::new(py, isize::try_from(taken)?, isize::try_from(left)?, 1))?;
            left -= taken;
        }
        drop(bytes);
        *pending = chunk.get().take_back();
        Ok(())
    }
}
