//! Paths and URIs, in the form that is used inside: taken apart and put together.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::local_paths;
use crate::stores::{self, Location, StorageOptions};
use crate::tiered::{self, DataKey, Encryption, Keys, TieredError, UnwrapKey, Uri};

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
    let before = other.and_then(parts_of).and_then(|other| other.before);
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
    let other = keys_of.and_then(parts_of);
    let (keys, layouts) = other.as_ref().map_or(("", ""), |uri| (uri.keys.text(), uri.layouts.text()));
    tiered::uri_text(&text(objects), keys, layouts).into()
}

/// The location of a file that `crate::stores` reads; `None` for uploads and buffers.
pub fn located(uri: &Path) -> Option<stores::StoreResult<Location>> {
    let uri = uri.to_str().filter(|uri| !uri.starts_with("tiered+") && !is_buffer(Path::new(uri)))?;
    Some(Location::parse(uri, &StorageOptions::new()))
}

/// The upload at a URI of tiered storage; `keys` makes keys of the text in it.
///
/// # Errors
/// `Store` for a URI of objects that is invalid.
pub fn upload_at(uri: &Path, keys: impl FnOnce(&str) -> Keys) -> tiered::TieredResult<Uri> {
    Uri::parse(&text(uri), keys)
}

/// The upload at a URI whose keys are not used.
fn parts_of(uri: &Path) -> Option<Uri> {
    upload_at(uri, without_ring).ok()
}

/// The keys in a text, which has data keys; a ring in it decrypts nothing.
pub fn without_ring(text: &str) -> Keys {
    Keys::new(text, Arc::new(NoKeys))
}

/// Decrypts nothing.
struct NoKeys;

impl UnwrapKey for NoKeys {
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> tiered::TieredResult<DataKey> {
        Err(TieredError::Key(format!("{name} is encrypted under the key '{}': no keys were given", encryption.key_id)))
    }
}

fn text(uri: &Path) -> Cow<'_, str> {
    uri.to_string_lossy()
}

/// True for the URI of a buffer.
pub fn is_buffer(uri: &Path) -> bool {
    uri.to_str().is_some_and(|text| text.starts_with(BUFFER_SCHEME))
}
