//! Names of files: paths, and the URIs that the Python package carries.

use std::path::Path;
use std::sync::Arc;

use crate::stores::{Location, StorageOptions};
use crate::tiered::{self, DataKey, Encryption, Keys, TieredError, UnwrapKey, Uri};

/// True for a URI of a store or of tiered storage.
pub fn is_stored(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// A path or URI without options and keys.
pub fn redacted_uri(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !is_stored(path) {
        return text.into_owned();
    }
    let place = if Uri::is_one(&text) {
        Uri::parse(&text, keys).map(|uri| uri.place.to_string()).ok()
    } else {
        Location::parse(&text, &StorageOptions::new()).map(|location| location.to_string()).ok()
    };
    place.unwrap_or_else(|| "a file of a store".to_owned())
}

/// The keys in the text of a URI.
pub fn keys(text: &str) -> Keys {
    Keys::new(text, Arc::new(NoRing))
}

/// Tasks have the data keys of their segments. A plan without a key has none for them.
struct NoRing;

impl UnwrapKey for NoRing {
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> tiered::TieredResult<DataKey> {
        Err(TieredError::Key(format!("{name} is encrypted under the key '{}': no keys were given", encryption.key_id)))
    }
}
