//! Binary file objects (standard input, an open file, a BytesIO, an object of a file-system library), read front to back.

use std::io::{self, Read};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Calls `read(n)` of a Python object.
pub struct FileObject(Py<PyAny>);

impl FileObject {
    /// The object, when it can be read from.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(object.hasattr(intern!(object.py(), "read"))?.then(|| Self(object.clone().unbind())))
    }
}

impl Read for FileObject {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let given = self.0.call_method1(py, intern!(py, "read"), (to.len(),)).map_err(io::Error::other)?;
            let given = given.bind(py).cast::<PyBytes>().map_err(|_| io::Error::other("read() must give bytes"))?;
            let bytes = given.as_bytes();
            let Some(front) = to.get_mut(..bytes.len()) else { return Err(io::Error::other("read(n) gave more than n bytes")) };
            front.copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}
