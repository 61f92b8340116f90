//! URIs as text, in the form that is used inside: taken apart and put together.

use std::path::{Path, PathBuf};

use crate::py::source::local_paths;
use crate::py::source::store::{is_stored, is_uploaded, joined, located, upload_at};
use crate::stores;
use crate::tiered;

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
