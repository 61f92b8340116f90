//! Bytes that Python code is shown, a file object or a plugin: it sees our storage itself, and we get that back when nobody looks at it any more.
#![expect(unsafe_code, reason = "the buffer protocol is a C interface")]

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::wire::Sink;

/// Written bytes with the buffer protocol, read-only.
#[pyclass(name = "Chunk", frozen, module = "logsegment._core")]
pub struct SharedChunk(Mutex<ExportedBytes>);

struct ExportedBytes {
    bytes: Sink,
    /// Buffers that point into the bytes.
    exports: usize,
}

impl SharedChunk {
    /// Takes bytes over to show them.
    pub fn new(bytes: Sink) -> Self {
        Self(Mutex::new(ExportedBytes { bytes, exports: 0 }))
    }

    /// Gives the bytes back, or nothing while somebody still looks at them: then they stay as long as that lasts.
    pub fn take_back(&self) -> Sink {
        let mut held = self.held();
        if held.exports == 0 { std::mem::take(&mut held.bytes) } else { Sink::default() }
    }

    fn held(&self) -> MutexGuard<'_, ExportedBytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SharedChunk {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let mut held = slf.get().held();
        let bytes = held.bytes.bytes();
        let len = ffi::Py_ssize_t::try_from(bytes.len())?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the interpreter gives a view to fill. It gets a reference to this object, which owns the bytes and neither moves nor
        // changes nor drops them while `exports` is not 0; the view is read-only.
        if unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) } != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        held.exports += 1;
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        let mut held = self.held();
        held.exports = held.exports.saturating_sub(1);
    }
}

/// Counted bytes with the buffer protocol, read-only. They live as long as a view of them.
#[pyclass(name = "Lent", frozen, module = "logsegment._core")]
pub struct SharedBytes(pub Bytes);

#[pymethods]
impl SharedBytes {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = &slf.get().0;
        let len = ffi::Py_ssize_t::try_from(bytes.len())?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: as above; the bytes are counted, never change, and are owned by this object, to which the view gets a reference.
        if unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) } != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }
}
