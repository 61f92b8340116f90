//! Data keys of segments (TS-29 to TS-32). A private key decrypts them outside of this module.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::encryption::Encryption;
use super::error::{TieredError, TieredResult};

/// The AES-256 key of one segment.
#[derive(Clone, PartialEq, Eq)]
pub struct DataKey([u8; Self::LEN]);

impl DataKey {
    const LEN: usize = 32;

    /// A key; `None` for another number of bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(..)")
    }
}

/// Decrypts data keys.
pub trait UnwrapKey: Send + Sync {
    /// Return the data key of a segment with this name.
    ///
    /// # Errors
    /// `Key` if there is no key of that id, or it is the wrong one; `KeyRing` for another failure.
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> TieredResult<DataKey>;
}

/// The keys of a reader, as a text that URIs carry, which no message may have.
#[derive(Clone)]
pub struct Keys {
    text: Arc<str>,
    ring: Arc<dyn UnwrapKey>,
}

/// Begins the text of the data keys of single segments.
const DATA: &str = "data.";

impl Keys {
    /// The keys in a text: data keys, or for any other text a ring.
    pub fn new(text: &str, ring: Arc<dyn UnwrapKey>) -> Self {
        let ring = DataKeys::parse(text).map_or(ring, |keys| Arc::new(keys));
        Self { text: text.into(), ring }
    }

    /// The text of the data key of one segment, for a task that reads this segment.
    pub(super) fn text_of(encryption: &Encryption, key: &DataKey) -> String {
        format!("{DATA}{}.{}", URL_SAFE_NO_PAD.encode(&encryption.wrapped_key), URL_SAFE_NO_PAD.encode(key.bytes()))
    }

    /// The text of which they were made.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The same keys for another thread, which cannot ask a ring: of a ring only the data key of this encryption is left.
    ///
    /// # Errors
    /// Those of the ring.
    pub(super) fn without_ring(&self, encryption: Option<&Encryption>, name: &str) -> TieredResult<Self> {
        if self.text.starts_with(DATA) {
            return Ok(self.clone());
        }
        let key = |encryption: &Encryption| Ok::<_, TieredError>((encryption.wrapped_key.clone(), self.data_key(encryption, name)?));
        let known = encryption.map(key).transpose()?;
        // Another text, so that a view of a directory by these keys is not that of the ring.
        Ok(Self { text: DATA.into(), ring: Arc::new(DataKeys(known.into_iter().collect())) })
    }

    /// The data key of a segment with this name.
    pub(super) fn data_key(&self, encryption: &Encryption, name: &str) -> TieredResult<DataKey> {
        self.ring.unwrap_key(encryption, name)
    }
}

/// No key and no path of one.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// Data keys by what they are wrapped as.
struct DataKeys(BTreeMap<Vec<u8>, DataKey>);

impl DataKeys {
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.strip_prefix(DATA)?.split('.').collect();
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let pairs = parts.chunks(2).filter_map(|pair| {
            let [wrapped, key] = pair else { return None };
            Some((decoded(wrapped)?, DataKey::new(&decoded(key)?)?))
        });
        Some(Self(pairs.collect()))
    }
}

impl UnwrapKey for DataKeys {
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> TieredResult<DataKey> {
        self.0.get(&encryption.wrapped_key).cloned().ok_or_else(|| {
            TieredError::Key(format!("{name} is encrypted under the key '{}': the task has keys of other segments only", encryption.key_id))
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A ring without keys.
    pub(in crate::tiered) struct NoKeys;

    impl UnwrapKey for NoKeys {
        fn unwrap_key(&self, encryption: &Encryption, name: &str) -> TieredResult<DataKey> {
            Err(TieredError::Key(format!("{name} is encrypted under the key '{}': no keys were given", encryption.key_id)))
        }
    }

    #[test]
    fn a_task_has_the_data_key_of_its_segment_and_no_other() {
        let encryption = |wrapped: &[u8]| Encryption { key_id: "key1".to_owned(), wrapped_key: wrapped.to_owned(), aad: vec![1] };
        let key = DataKey::new(&[9; 32]).unwrap();
        let text = Keys::text_of(&encryption(b"wrapped"), &key);
        let keys = Keys::new(&text, Arc::new(NoKeys));
        assert_eq!(keys.data_key(&encryption(b"wrapped"), "a.log").unwrap(), key);
        let error = keys.data_key(&encryption(b"other"), "a.log").unwrap_err().to_string();
        assert_eq!(error, "a.log is encrypted under the key 'key1': the task has keys of other segments only");
        assert_eq!(format!("{keys:?} {key:?}"), "Keys(..) DataKey(..)");
        let none = Keys::new("", Arc::new(NoKeys)).data_key(&encryption(b"wrapped"), "a.log").unwrap_err().to_string();
        assert!(none.ends_with("no keys were given"));
        assert_eq!(DataKey::new(&[9; 31]), None);
    }
}
