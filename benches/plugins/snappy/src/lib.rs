//! logsegment's own snappy behind both interfaces of plugins: as C functions in a capsule, and as functions that a codec of Python calls.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{LazyLock, Mutex};

use logsegment::codec::{Compressor, Compression, snappy};
use logsegment::wire::Sink;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// As in examples/native_codec/logsegment_codec.h.
#[repr(C)]
struct Table {
    version: u32,
    context: *mut c_void,
    decompressed_len: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64,
    decompress: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64,
    compressed_len: unsafe extern "C" fn(*mut c_void, usize) -> i64,
    compress: unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64,
}

// SAFETY: the context is null and nothing is ever changed.
unsafe impl Sync for Table {}

const FAILED: i64 = -2;

static TABLE: Table = Table { version: 1, context: ptr::null_mut(), decompressed_len, decompress: native_decompress, compressed_len, compress: native_compress };

unsafe extern "C" fn decompressed_len(_: *mut c_void, from: *const u8, from_len: usize) -> i64 {
    // SAFETY: the caller's slice.
    let from = unsafe { slice::from_raw_parts(from, from_len) };
    snappy::decompressed_len(from).map_or(FAILED, |len| len as i64)
}

unsafe extern "C" fn native_decompress(_: *mut c_void, from: *const u8, from_len: usize, to: *mut u8, to_len: usize, _: *mut c_char, _: usize) -> i64 {
    // SAFETY: the caller's slices, which do not overlap.
    let (from, to) = unsafe { (slice::from_raw_parts(from, from_len), slice::from_raw_parts_mut(to, to_len)) };
    snappy::decompress_to(from, to).map_or(FAILED, |len| len as i64)
}

/// A header of 16 bytes; then chunks of 64 KiB, each of which may grow by a sixth and 36 bytes.
unsafe extern "C" fn compressed_len(_: *mut c_void, len: usize) -> i64 {
    (16 + len + len / 6 + (len / 32_768 + 1) * 36) as i64
}

unsafe extern "C" fn native_compress(
    _: *mut c_void,
    from: *const u8,
    from_len: usize,
    _: i32,
    to: *mut u8,
    to_len: usize,
    _: *mut c_char,
    _: usize,
) -> i64 {
    thread_local!(static COMPRESSED: RefCell<Sink> = RefCell::default());
    // SAFETY: the caller's slices, which do not overlap.
    let (from, to) = unsafe { (slice::from_raw_parts(from, from_len), slice::from_raw_parts_mut(to, to_len)) };
    COMPRESSED.with_borrow_mut(|compressed| {
        compressed.clear();
        match (snappy_of(from, compressed), to.get_mut(..compressed.len())) {
            (Ok(()), Some(to)) => to.copy_from_slice(compressed.bytes()),
            _ => return FAILED,
        }
        compressed.len() as i64
    })
}

/// The C functions.
#[pyfunction]
fn capsule(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let table = NonNull::from(&TABLE).cast::<c_void>();
    // SAFETY: the table is static, and this is what the name says.
    unsafe { PyCapsule::new_with_pointer(py, table, c"logsegment.codec") }
}

/// Returns decompressed bytes, in memory that is written once.
#[pyfunction]
fn decompress<'py>(data: &Bound<'py, PyAny>, max_output: usize) -> PyResult<Bound<'py, PyBytes>> {
    let (py, buffer) = (data.py(), PyUntypedBuffer::get(data)?);
    let input = bytes_of(&buffer);
    let len = snappy::decompressed_len(input).map_err(told)?;
    if len > max_output {
        return Err(PyValueError::new_err("too much"));
    }
    // SAFETY: a new object that nobody else knows, all of whose `len` bytes are written before it is given out.
    let (object, output) = unsafe {
        let object = Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(ptr::null(), len as isize))?;
        let output = slice::from_raw_parts_mut(ffi::PyBytes_AsString(object.as_ptr()).cast::<u8>(), len);
        (object.cast_into_unchecked::<PyBytes>(), output)
    };
    snappy::decompress_to(input, output).map_err(told)?;
    Ok(object)
}

/// Compressed bytes, in storage that is reused.
#[pyfunction]
fn compress(data: &Bound<'_, PyAny>) -> PyResult<Compressed> {
    let buffer = PyUntypedBuffer::get(data)?;
    let mut compressed = KEPT.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
    compressed.clear();
    snappy_of(bytes_of(&buffer), &mut compressed).map_err(told)?;
    Ok(Compressed(compressed))
}

static KEPT: LazyLock<Mutex<Sink>> = LazyLock::new(Mutex::default);

/// What `compress` gives.
#[pyclass(frozen)]
struct Compressed(Sink);

#[pymethods]
impl Compressed {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().0.bytes();
        // SAFETY: the interpreter's view; the object owns the bytes and never changes them.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), bytes.len() as isize, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

impl Drop for Compressed {
    fn drop(&mut self) {
        if let Ok(mut kept) = KEPT.lock() {
            *kept = std::mem::take(&mut self.0);
        }
    }
}

fn snappy_of(input: &[u8], compressed: &mut Sink) -> logsegment::Result<()> {
    thread_local!(static COMPRESSOR: RefCell<Compressor> = RefCell::default());
    COMPRESSOR.with_borrow_mut(|compressor| compressor.compress(Compression::Snappy, input, compressed))
}

fn bytes_of(buffer: &PyUntypedBuffer) -> &[u8] {
    // SAFETY: logsegment shows read-only bytes in one run, which stay as long as the buffer is held.
    unsafe { slice::from_raw_parts(buffer.buf_ptr().cast::<u8>().cast_const(), buffer.len_bytes()) }
}

fn told(error: logsegment::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule]
fn snappy_as_plugin(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(capsule, module)?)?;
    module.add_function(wrap_pyfunction!(compress, module)?)?;
    module.add_function(wrap_pyfunction!(decompress, module)?)
}
