//! A file or directory of a store.

use object_store::ObjectMeta;
use object_store::path::Path;

/// A file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreEntry {
    /// Its key in the store.
    pub key: String,
    /// A directory, or a prefix of keys.
    pub is_directory: bool,
    /// Bytes of a file; 0 of a directory.
    pub size: u64,
    /// Time of the last write of a file, ms since the epoch.
    pub modified_ms: Option<i64>,
    /// The tag of its version, where the store has one.
    pub tag: Option<String>,
}

impl StoreEntry {
    /// The last part of the key.
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn file(meta: &ObjectMeta) -> Self {
        let modified_ms = Some(meta.last_modified.timestamp_millis());
        let (key, tag) = (meta.location.to_string(), meta.e_tag.clone());
        Self { key, is_directory: false, size: meta.size, modified_ms, tag }
    }

    pub(super) fn directory(path: &Path) -> Self {
        Self { key: path.to_string(), is_directory: true, size: 0, modified_ms: None, tag: None }
    }
}
