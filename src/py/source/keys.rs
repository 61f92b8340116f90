//! The keys of encrypted uploads: a private key decrypts the data key of a segment in Python, by the package `cryptography`.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::py::errors::SegmentKeyError;
use crate::tiered::{DataKey, Encryption, Keys, Result, TieredError, UnwrapKey};

/// The function that decrypts data keys.
static UNWRAP: OnceLock<Py<PyAny>> = OnceLock::new();

/// Decrypt the data keys of uploads by a function. The package gives it once, when it is imported.
///
/// Args:
///     unwrap: gets the text of a key ring, the id of a key, the wrapped key and the name of the segment, and returns the data key.
#[pyfunction]
pub fn use_key_ring(unwrap: Py<PyAny>) {
    drop(UNWRAP.set(unwrap));
}

/// The keys in the text of a URI.
pub fn of(text: &str) -> Keys {
    Keys::new(text, Arc::new(KeyRing(text.to_owned())))
}

/// The result of a request that was begun ahead, if it was. The error is that of the later question, but Ctrl-C must not be lost.
pub fn begun<T>(result: Result<T>) -> Option<T> {
    if let Err(TieredError::KeyRing(error)) = &result
        && let Some(error) = error.downcast_ref::<PyErr>()
    {
        Python::attach(|py| noted(py, error));
    }
    result.ok()
}

/// Lets the next look at signals find Ctrl-C, if that is an error of Python code that is dropped.
pub fn noted(py: Python<'_>, error: &PyErr) {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        let _ = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
    }
}

/// A key ring of the package, by its text.
struct KeyRing(String);

impl UnwrapKey for KeyRing {
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> Result<DataKey> {
        let unwrapped = Python::attach(|py| {
            let unwrap = UNWRAP.get().ok_or_else(|| PyValueError::new_err("no key ring"))?;
            let wrapped = PyBytes::new(py, &encryption.wrapped_key);
            unwrap.call1(py, (&self.0, &encryption.key_id, wrapped, name))?.extract::<Vec<u8>>(py)
        });
        match unwrapped {
            Ok(key) => DataKey::new(&key).ok_or_else(|| TieredError::Key(format!("{name}: its data key is not of AES-256"))),
            Err(error) => Err(Python::attach(|py| {
                let is_about_key = error.is_instance_of::<SegmentKeyError>(py);
                if is_about_key { TieredError::Key(error.value(py).to_string()) } else { TieredError::KeyRing(Arc::new(error)) }
            })),
        }
    }
}
