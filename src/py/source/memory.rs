//! Buffers of this process as files, for readers that take paths: `memory://7/buffer`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::py::source::buffer::Readable;
use crate::py::source::uris::{BUFFER_SCHEME, text_of};

const NAME: &str = "buffer";

static NEXT: AtomicU64 = AtomicU64::new(1);
/// The buffers by the numbers in their URIs.
static BUFFERS: Mutex<BTreeMap<u64, Arc<Readable>>> = Mutex::new(BTreeMap::new());

/// A buffer that can be read as a file as long as this object is there. A writable buffer is copied a range at a time.
///
/// Attributes:
///     path (str): the URI of the file.
#[pyclass(frozen, module = "logsegment._core")]
pub struct BufferFile {
    number: u64,
}

#[pymethods]
impl BufferFile {
    /// Raises:
    ///     TypeError: if it is not a contiguous buffer.
    #[new]
    fn new(buffer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = Arc::new(Readable::of(buffer)?);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        buffers().insert(number, buffer);
        Ok(Self { number })
    }

    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        text_of(py, &PathBuf::from(format!("{BUFFER_SCHEME}{}/{NAME}", self.number)))
    }
}

impl Drop for BufferFile {
    fn drop(&mut self) {
        let dropped = buffers().remove(&self.number);
        // Not while the lock is held: the buffer is given back to Python.
        drop(dropped);
    }
}

/// The buffer at a URI, or at that of its directory.
pub fn buffer_at(uri: &Path) -> Option<Arc<Readable>> {
    let number = uri.to_str()?.strip_prefix(BUFFER_SCHEME)?.split('/').next()?.parse().ok()?;
    buffers().get(&number).cloned()
}

fn buffers() -> MutexGuard<'static, BTreeMap<u64, Arc<Readable>>> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}
