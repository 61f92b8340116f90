//! Python bytes that are written once: their memory is not zeroed first, and where there is much of it large pages are asked for.
#![expect(unsafe_code, reason = "PyBytes_FromStringAndSize gives memory that is not initialised")]

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::wire::huge_pages;

/// Below this a copy takes less time than other threads would have any use for.
const LONG: usize = 1 << 20;

/// Writes bytes one after the other into memory that has none yet.
pub struct BytesWriter<'a> {
    output: &'a mut [MaybeUninit<u8>],
    at: usize,
}

impl BytesWriter<'_> {
    /// Writes a run of bytes; bytes that do not fit are left out.
    pub fn put(&mut self, bytes: &[u8]) {
        let Some(slot) = self.output.get_mut(self.at..).and_then(|output| output.get_mut(..bytes.len())) else { return };
        // SAFETY: `slot` is exclusively ours and as long as `bytes`, which it therefore does not overlap.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), slot.as_mut_ptr().cast(), bytes.len()) };
        self.at += bytes.len();
    }
}

/// Bytes that a pen writes: `len` of them, or as many as it did.
///
/// # Errors
/// MemoryError, and what `write` fails with.
pub fn written<'py>(
    py: Python<'py>,
    len: usize,
    write: impl FnOnce(&mut BytesWriter<'_>) -> PyResult<()>,
) -> PyResult<Bound<'py, PyBytes>> {
    let size = ffi::Py_ssize_t::try_from(len)?;
    // SAFETY: without a source the call gives a new bytes object of this size that nobody else knows, or an error. Its memory stays where
    // it is while `bytes` lives; until it is returned only the pen points into it, as memory that is not initialised.
    let (bytes, output) = unsafe {
        let object = Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), size))?;
        let start = ffi::PyBytes_AsString(object.as_ptr());
        (object.cast_into_unchecked::<PyBytes>(), std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), len))
    };
    huge_pages::advise(output);
    let mut writer = BytesWriter { output, at: 0 };
    write(&mut writer)?;
    let at = writer.at;
    if at == len {
        return Ok(bytes);
    }
    // SAFETY: the pen wrote the first `at` bytes.
    let front = unsafe { std::slice::from_raw_parts(ffi::PyBytes_AsString(bytes.as_ptr()).cast::<u8>(), at) };
    Ok(PyBytes::new(py, front))
}

/// The same bytes.
///
/// # Errors
/// MemoryError.
pub fn copied<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    written(py, bytes.len(), |writer| {
        if bytes.len() < LONG {
            writer.put(bytes)
        } else {
            py.detach(|| writer.put(bytes))
        }
        Ok(())
    })
}
