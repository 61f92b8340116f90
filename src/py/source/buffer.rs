//! Python buffers as counted memory: immutable ones are borrowed, mutable ones are copied a piece at a time.
#![expect(unsafe_code, reason = "a Python buffer is a pointer and a length")]

use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::framing::Source;

/// The bytes of any object with the buffer protocol; `None` for one without.
pub fn source(object: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    let buffer = match PyUntypedBuffer::get(object) {
        Ok(buffer) => buffer,
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !buffer.is_c_contiguous() {
        return Err(PyTypeError::new_err("the buffer must be contiguous"));
    }
    if buffer.readonly() {
        return Ok(Some(Source::memory(Bytes::from_owner(Borrowed(buffer)))));
    }
    Ok(Some(Source::reader(Box::new(Copying { buffer, at: 0 }), 0).read_by_caller()))
}

/// The bytes of any object with the buffer protocol, taken as a whole: read-only ones are borrowed, others copied, since the interpreter is held
/// only now.
///
/// # Errors
/// TypeError for an object without the protocol, and for bytes that lie apart.
pub fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let buffer = PyUntypedBuffer::get(object)?;
    if !buffer.is_c_contiguous() {
        return Err(PyTypeError::new_err("the buffer must be contiguous"));
    }
    let is_borrowed = buffer.readonly();
    let borrowed = Borrowed(buffer);
    Ok(if is_borrowed { Bytes::from_owner(borrowed) } else { Bytes::copy_from_slice(borrowed.as_ref()) })
}

/// A contiguous buffer that is read at any position: read-only ones are borrowed, writable ones are copied a range at a time.
pub enum Readable {
    /// Read-only.
    Borrowed(Bytes),
    /// Writable.
    Writable(PyUntypedBuffer),
}

impl Readable {
    /// Take a buffer.
    ///
    /// # Errors
    /// As `bytes_of`.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyTypeError::new_err("the buffer must be contiguous"));
        }
        Ok(if buffer.readonly() { Self::Borrowed(Bytes::from_owner(Borrowed(buffer))) } else { Self::Writable(buffer) })
    }

    /// Its bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
            Self::Writable(buffer) => buffer.len_bytes(),
        }
    }

    /// The bytes of a range, fewer only at the end.
    pub fn read(&self, range: Range<usize>) -> Bytes {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        match self {
            Self::Borrowed(bytes) => bytes.slice(start..end.max(start)),
            Self::Writable(buffer) => {
                let mut bytes = vec![0; end.saturating_sub(start)];
                copy(buffer, start, &mut bytes);
                bytes.into()
            }
        }
    }
}

/// Copies bytes of a buffer from a position on, as many as fit, while the interpreter is held.
fn copy(buffer: &PyUntypedBuffer, at: usize, to: &mut [u8]) -> usize {
    let len = to.len().min(buffer.len_bytes().saturating_sub(at));
    if len == 0 {
        return 0;
    }
    Python::attach(|_| {
        // SAFETY: `at + len` is at most the length of the buffer, which the exporter may not move or shrink while it is held; `to` is ours and
        // at least `len` long. With a GIL no Python thread writes during the copy. A free-threaded build has none: there the caller must not
        // write to the buffer while it is read, as docs/project/unsafe.md says.
        unsafe {
            let from = buffer.buf_ptr().cast::<u8>().cast_const().add(at);
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), len);
        }
    });
    len
}

/// A buffer that is held for as long as anything points into it.
struct Borrowed(PyUntypedBuffer);

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        let (start, len) = (self.0.buf_ptr().cast::<u8>().cast_const(), self.0.len_bytes());
        if start.is_null() || len == 0 {
            return &[];
        }
        // SAFETY: the exporter owns the memory and keeps it in place until the buffer is released, which this struct does when it is
        // dropped. The export is read-only and C-contiguous, so its `len` bytes are one run that Python code cannot write through it.
        // A writable alias (a bytearray in `memoryview.toreadonly()`) is the caller's promise, as in every zero-copy library:
        // nothing here relies on two reads giving the same value for memory safety, since every access is bounds-checked by itself.
        unsafe { std::slice::from_raw_parts(start, len) }
    }
}

/// A writable buffer, copied piece by piece while the interpreter is held, so that no Python code writes meanwhile.
struct Copying {
    buffer: PyUntypedBuffer,
    at: usize,
}

impl Read for Copying {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let len = copy(&self.buffer, self.at, to);
        self.at += len;
        Ok(len)
    }
}
