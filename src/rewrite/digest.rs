//! SHA-256 of files, and of values that are masked.

use std::fmt::Write as _;

use hmac::{Hmac, Mac};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of bytes that come one after the other.
#[derive(Clone, Default)]
pub struct Digest {
    hash: Sha256,
    bytes: u64,
}

impl Digest {
    /// Goes on with these bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes = self.bytes.saturating_add(crate::wire::as_u64(bytes.len()));
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash in hexadecimal digits.
    pub fn finish(self) -> String {
        hex(&self.hash.finalize())
    }
}

/// What takes the place of a value that is masked. Null stays null, so that a tombstone stays one.
#[derive(Clone, Debug)]
pub enum Mask {
    /// Null: the record becomes a tombstone.
    Null,
    /// No bytes.
    Empty,
    /// The keyed hash of the value in hexadecimal digits, as the command line shows it under `--redact`.
    Hash(Box<Hmac<Sha256>>),
}

/// Bytes of the hash that are kept, as under `--redact`.
const HASH_BYTES: usize = 12;

impl Mask {
    /// The mask that gives equal values of one key equal hashes (HMAC-SHA-256).
    pub fn hash(key: &[u8]) -> Option<Self> {
        Hmac::new_from_slice(key).ok().map(|keyed| Self::Hash(Box::new(keyed)))
    }

    /// Puts what is stored instead of a value into `hash` where it is a hash, and gives it.
    pub(super) fn mask<'a>(&self, value: Option<&[u8]>, hash: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let value = value?;
        hash.clear();
        match self {
            Self::Null => return None,
            Self::Empty => {}
            Self::Hash(keyed) => {
                let mut keyed = keyed.clone();
                keyed.update(value);
                let digest = keyed.finalize().into_bytes();
                hash.extend_from_slice(hex(digest.get(..HASH_BYTES).unwrap_or_default()).as_bytes());
            }
        }
        Some(hash)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_all_bytes() {
        let mut digest = Digest::default();
        digest.put(b"a");
        digest.put(b"bc");
        assert_eq!(digest.bytes(), 3);
        assert_eq!(digest.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn null_stays_null_under_every_mask() {
        let mut hash = Vec::new();
        for mask in [Mask::Null, Mask::Empty, Mask::hash(b"0123456789abcdef").unwrap()] {
            assert_eq!(mask.mask(None, &mut hash), None);
        }
        assert_eq!(Mask::Null.mask(Some(b"x"), &mut hash), None);
        assert_eq!(Mask::Empty.mask(Some(b"x"), &mut hash), Some(b"".as_slice()));
    }

    #[test]
    fn hashes_are_hmac_sha_256() {
        // RFC 4231, test case 2.
        let mut hash = Vec::new();
        let mask = Mask::hash(b"Jefe").unwrap();
        assert_eq!(mask.mask(Some(b"what do ya want for nothing?"), &mut hash), Some(b"5bdcc146bf60754e6a042426".as_slice()));
    }
}
