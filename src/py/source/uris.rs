//! Paths and URIs from Python and back.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::places::uris;
pub use crate::places::uris::{
    BUFFER_SCHEME, absolute, cut_as, is_stored, is_uploaded, joined, located, name_of, names_of, normal, parent, redacted_uri, tiered_uri,
    untiered,
};
use crate::py::errors;
use crate::py::package;
use crate::py::source::keys;
use crate::stores::{self, StorageOptions, UriParts};
use crate::tiered::{self, Uri};

/// The upload at a URI of tiered storage, with the keys of Python.
///
/// # Errors
/// `Store` for a URI of objects that is invalid.
pub fn upload_at(uri: &Path) -> tiered::TieredResult<Uri> {
    uris::upload_at(uri, keys::of)
}

/// A path or URI in the form that is used inside.
///
/// # Errors
/// ValueError for a `file:` URI of another machine, and for a URI with keys or settings.
pub fn to_internal_uri(py: Python<'_>, path: &Path) -> PyResult<PathBuf> {
    stores::to_internal_uri(path).map_err(|error| errors::store_error(py, &error))
}

/// The same with options of its store. Those of a path of this machine do not matter.
///
/// # Errors
/// TypeError if they are not a mapping of text to text, and those of `to_internal_uri`.
pub fn reached(py: Python<'_>, path: &Path, options: Option<&Bound<'_, PyAny>>) -> PyResult<PathBuf> {
    let options = options.map(options_of).transpose()?.unwrap_or_default();
    let path = to_internal_uri(py, path)?;
    if options.is_empty() || !is_stored(&path) {
        return Ok(path);
    }
    Ok(UriParts::parse(&path.to_string_lossy()).with_options(&options).to_uri().into())
}

/// Options of a store. The message of an error has no value.
fn options_of(given: &Bound<'_, PyAny>) -> PyResult<StorageOptions> {
    let Ok(mapping) = given.cast::<PyMapping>() else {
        let text = format!("storage_options must be a mapping of names to text, not {}", given.get_type().name()?);
        return Err(PyTypeError::new_err(text));
    };
    let mut options = StorageOptions::new();
    for pair in mapping.items()? {
        let (name, value) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let (Ok(name), Ok(value)) = (name.extract(), value.extract()) else {
            let text = format!("storage_options must have text, but {} has {}", name.repr()?, value.get_type().name()?);
            return Err(PyTypeError::new_err(text));
        };
        options.insert(name, value);
    }
    Ok(options)
}

/// A path or URI for a Python user, as an object that shows no secret: a `pathlib.Path` or a `StoreUri`.
pub fn to_py<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    if is_stored(path) { package::store_uri(py, &path.to_string_lossy()) } else { Ok(path.into_pyobject(py)?.into_any()) }
}

/// A path or URI as text that shows no secret: a `str` or a `StoreUri`.
pub fn text_of<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    if is_stored(path) { to_py(py, path) } else { Ok(path.as_os_str().into_pyobject(py)?.into_any()) }
}
