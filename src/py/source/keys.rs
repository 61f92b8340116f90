//! The keys of encrypted uploads: a private key decrypts the data key of a segment in Python, by the package `cryptography`.

use std::sync::Arc;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::py::errors::SegmentKeyError;
use crate::py::package;
use crate::tiered::{DataKey, Encryption, Keys, TieredError, TieredResult, UnwrapKey};

/// The keys in the text of a URI.
pub fn of(text: &str) -> Keys {
    Keys::new(text, Arc::new(KeyRing(text.to_owned())))
}

/// The result of a request that was begun ahead, if it was. The error is that of the later question, but Ctrl-C must not be lost.
pub fn begun<T>(result: TieredResult<T>) -> Option<T> {
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
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> TieredResult<DataKey> {
        let unwrapped = Python::attach(|py| package::data_key(py, &self.0, &encryption.key_id, &encryption.wrapped_key, name));
        match unwrapped {
            Ok(key) => DataKey::new(&key).ok_or_else(|| TieredError::Key(format!("{name}: its data key is not of AES-256"))),
            Err(error) => Err(Python::attach(|py| {
                let is_about_key = error.is_instance_of::<SegmentKeyError>(py);
                if is_about_key { TieredError::Key(error.value(py).to_string()) } else { TieredError::KeyRing(Arc::new(error)) }
            })),
        }
    }
}
