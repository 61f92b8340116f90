//! Paths and URIs, in the form that is used inside: from Python and back, taken apart and put together.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::py::errors;
use crate::py::package;
use crate::py::source::{keys, local_paths};
use crate::stores::{self, Location, StorageOptions, UriParts};
use crate::tiered::{self, Uri};

/// Begins the URIs of buffers.
pub const BUFFER_SCHEME: &str = "memory://";

/// The root of the store of a URI, and the names on the way from there.
pub fn names_of(uri: &Path) -> (PathBuf, Vec<String>) {
    let text = uri.to_string_lossy();
    let (scheme, rest) = text.split_once("://").unwrap_or(("", &text));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let names = path.split('/').filter(|name| !name.is_empty()).map(stores::decoded).collect();
    (format!("{scheme}://{authority}").into(), names)
}

/// The same URI as listings have it.
pub fn normal(uri: &Path) -> PathBuf {
    let (root, names) = names_of(uri);
    if is_uploaded(uri) || located(uri).is_none() || names.is_empty() { uri.to_owned() } else { joined(&root, &names.join("/")) }
}

/// The path or URI of the objects of a URI of uploads; any other path as it is.
pub fn untiered(path: &Path) -> PathBuf {
    if is_uploaded(path) { tiered::objects_text(&path.to_string_lossy()).into() } else { path.to_owned() }
}

/// A URI of an upload, read up to the offset at which another URI ends.
pub fn cut_as(uri: &Path, other: Option<&Path>) -> PathBuf {
    let before = other.and_then(|other| upload_at(other).ok()).and_then(|other| other.before);
    tiered::cut_text(&uri.to_string_lossy(), before).into()
}

/// The last part of a path or URI.
pub fn name_of(path: &Path) -> String {
    if is_stored(path) { names_of(path).1.pop().unwrap_or_default() } else { local_paths::name_of(path) }
}

/// The path or URI of the directory of a file.
pub fn parent(path: &Path) -> PathBuf {
    if is_stored(path) {
        let text = path.to_string_lossy();
        return text.rsplit_once('/').map_or(text.as_ref(), |(above, _)| above).into();
    }
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new(".")).to_owned()
}

/// A path or URI that means the same in every directory.
pub fn absolute(path: &Path) -> PathBuf {
    match (is_uploaded(path), is_stored(path)) {
        (true, _) => tiered::absolute_text(&path.to_string_lossy(), local_paths::absolute).into(),
        (_, true) => path.to_owned(),
        _ => local_paths::absolute(path),
    }
}

/// True for a URI of a store, an upload or a buffer; false for a path of this machine.
pub fn is_stored(path: &Path) -> bool {
    stores::scheme_of_uri(path).is_some()
}

/// True for a URI of tiered storage, to which nothing is uploaded before it is closed.
pub fn is_uploaded(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("tiered+"))
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
    Ok(UriParts::parse(&text(&path)).with_options(&options).to_uri().into())
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
    if is_stored(path) { package::store_uri(py, &text(path)) } else { Ok(path.into_pyobject(py)?.into_any()) }
}

/// A path or URI as text that shows no secret: a `str` or a `StoreUri`.
pub fn text_of<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    if is_stored(path) { to_py(py, path) } else { Ok(path.as_os_str().into_pyobject(py)?.into_any()) }
}

/// A path or URI as people may see it.
pub fn redacted_uri(path: &Path) -> String {
    stores::redacted_uri(&untiered(path))
}

/// The URI of a file in a directory.
pub fn joined(directory: &Path, name: &str) -> PathBuf {
    stores::joined_text(&text(directory), name).into()
}

/// The URI of uploads with the keys and layouts of another one.
pub fn tiered_uri(objects: &Path, keys_of: Option<&Path>) -> PathBuf {
    let other = keys_of.and_then(|uri| upload_at(uri).ok());
    let (keys, layouts) = other.as_ref().map_or(("", ""), |uri| (uri.keys.text(), uri.layouts.text()));
    tiered::uri_text(&text(objects), keys, layouts).into()
}

/// The location of a file that `crate::stores` reads; `None` for uploads and buffers.
pub fn located(uri: &Path) -> Option<stores::StoreResult<Location>> {
    let uri = uri.to_str().filter(|uri| !uri.starts_with("tiered+") && !is_buffer(Path::new(uri)))?;
    Some(Location::parse(uri, &StorageOptions::new()))
}

/// The upload at a URI of tiered storage.
///
/// # Errors
/// `Store` for a URI of objects that is invalid.
pub fn upload_at(uri: &Path) -> tiered::TieredResult<Uri> {
    Uri::parse(&text(uri), keys::of)
}

fn text(uri: &Path) -> std::borrow::Cow<'_, str> {
    uri.to_string_lossy()
}

/// True for the URI of a buffer.
pub fn is_buffer(uri: &Path) -> bool {
    uri.to_str().is_some_and(|text| text.starts_with(BUFFER_SCHEME))
}
