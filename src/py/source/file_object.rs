//! Binary file objects (standard input, an open file, a BytesIO, an object of a file-system library), read front to back.

use std::io::{self, Read};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::py::interrupt::Signals;

/// Calls `read(n)` of a Python object. What it raises is kept aside and raised again by the verb.
pub struct FileObject {
    object: Py<PyAny>,
    signals: Arc<Signals>,
}

impl FileObject {
    /// The object, when it can be read from.
    pub fn of(object: &Bound<'_, PyAny>, signals: &Arc<Signals>) -> PyResult<Option<Self>> {
        let has_read = object.hasattr(intern!(object.py(), "read"))?;
        if has_read && object.is_instance(&object.py().import("io")?.getattr("TextIOBase")?)? {
            return Err(PyTypeError::new_err("the file is open in text mode; open it in binary mode, or pass a logsegment.FileSource"));
        }
        if has_read {
            signals.expect_to_wait();
        }
        Ok(has_read.then(|| Self { object: object.clone().unbind(), signals: Arc::clone(signals) }))
    }

    fn call(&self, py: Python<'_>, to: &mut [u8]) -> PyResult<usize> {
        let given = self.object.call_method1(py, intern!(py, "read"), (to.len(),))?;
        let Ok(given) = given.bind(py).cast::<PyBytes>() else {
            return Err(PyTypeError::new_err("read() must return bytes; open the file in binary mode"));
        };
        let bytes = given.as_bytes();
        let Some(front) = to.get_mut(..bytes.len()) else { return Err(PyValueError::new_err("read(n) returned more than n bytes")) };
        front.copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Read for FileObject {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            self.call(py, to).map_err(|error| {
                let problem = io::Error::other(error.to_string());
                self.signals.keep(error);
                problem
            })
        })
    }
}
