//! Chunks as they are stored: AES-256-GCM over a zstd frame, either of which may be missing (TS-25 to TS-28).

use bytes::Bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::error::counted;
use super::keys::DataKey;
use crate::codec::{Codec, Decompressed, Decompressor};
use crate::error::grouped;
use crate::limits::{Budget, Limits};
use crate::wire::as_u64;

const IV_LEN: usize = 12;
const TAG_LEN: usize = 16;
/// IV and tag of an encrypted chunk.
pub(super) const SEAL_LEN: u64 = 28;
/// A block of zstd has at least four bytes, and holds at most 128 KiB. A chunk that claims more is refused before it is decompressed.
const MOST_RATIO: u64 = (128 << 10) / 4;

/// Decrypts and decompresses the chunks of one segment. Any thread may use it.
pub(super) struct ChunkOpener {
    cipher: Option<(LessSafeKey, Vec<u8>)>,
    is_compressed: bool,
}

impl ChunkOpener {
    /// `encryption` is the data key of an encrypted segment and the associated data of its chunks.
    pub(super) fn new(encryption: Option<(&DataKey, &[u8])>, is_compressed: bool) -> Self {
        // A data key has the 32 bytes of AES-256.
        let cipher = encryption.and_then(|(key, aad)| {
            let key = UnboundKey::new(&AES_256_GCM, key.bytes()).ok()?;
            Some((LessSafeKey::new(key), aad.to_owned()))
        });
        Self { cipher, is_compressed }
    }

    /// Returns the bytes of the segment in a stored chunk, which must be `size`.
    ///
    /// # Errors
    /// What is wrong with the chunk; the text does not say which chunk.
    pub(super) fn opened(&self, stored: &[u8], size: u64) -> Result<Bytes, String> {
        let data = self.decrypted(stored)?;
        let data = if self.is_compressed { decompressed(&data, size)? } else { data };
        if as_u64(data.len()) == size { Ok(data) } else { Err(other_size(as_u64(data.len()), size)) }
    }

    fn decrypted(&self, stored: &[u8]) -> Result<Bytes, String> {
        let Some((cipher, aad)) = &self.cipher else { return Ok(Bytes::copy_from_slice(stored)) };
        let Some((iv, sealed)) = stored.split_first_chunk::<IV_LEN>().filter(|(_, sealed)| sealed.len() >= TAG_LEN) else {
            return Err(format!("{} cannot have an IV and a tag", counted(as_u64(stored.len()), "byte")));
        };
        let mut data = sealed.to_vec();
        let opened = cipher.open_in_place(Nonce::assume_unique_for_key(*iv), Aad::from(aad), &mut data);
        let len = opened.map_err(|_| "its AES-GCM tag does not fit its bytes".to_owned())?.len();
        data.truncate(len);
        Ok(data.into())
    }
}

/// What is wrong with a chunk of another size.
pub(super) fn other_size(found: u64, size: u64) -> String {
    format!("it has {} instead of {}", counted(found, "byte"), grouped(size))
}

fn decompressed(frame: &[u8], size: u64) -> Result<Bytes, String> {
    if size > as_u64(frame.len()).saturating_mul(MOST_RATIO) {
        return Err(format!("its zstd frame of {} cannot have {}", counted(as_u64(frame.len()), "byte"), grouped(size)));
    }
    let most = Limits::default().max_decompressed_bytes;
    if size > most {
        return Err(format!("it would have {}: over the limit max_decompressed_bytes {}", counted(size, "byte"), grouped(most)));
    }
    let limits = Limits { max_decompressed_bytes: size, max_ratio: u64::MAX, ..Limits::default() };
    let (mut data, budget) = (Decompressed::default(), Budget::for_entry(&limits, frame.len()));
    let done = Decompressor::default().decompress(Codec::Zstd, frame, &mut data, &budget, None);
    done.map_err(|error| format!("its zstd frame is bad: {error}"))?;
    let len = data.bytes().len();
    let mut data = data.into_vec();
    data.truncate(len);
    Ok(data.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_only_claimed_takes_no_memory() {
        let opener = ChunkOpener::new(None, true);
        assert_eq!(opener.opened(&[0; 13], 0x7fff_ffff).unwrap_err(), "its zstd frame of 13 bytes cannot have 2,147,483,647");
        let bomb = vec![0; 2_000 << 10];
        assert!(opener.opened(&bomb, 2_000 << 20).unwrap_err().contains("over the limit max_decompressed_bytes 1,073,741,824"));
    }

    #[test]
    fn chunks_of_each_kind_are_opened() {
        let data = b"a segment".repeat(100);
        let frame = zstd::bulk::compress(&data, 3).unwrap();
        let size = as_u64(data.len());
        assert_eq!(ChunkOpener::new(None, false).opened(&data, size).unwrap(), data);
        assert_eq!(ChunkOpener::new(None, true).opened(&frame, size).unwrap(), data);
        assert_eq!(ChunkOpener::new(None, false).opened(&data, 7).unwrap_err(), "it has 900 bytes instead of 7");
        assert!(ChunkOpener::new(None, true).opened(&frame[1..], size).unwrap_err().starts_with("its zstd frame is bad: "));
        let (key, aad) = (DataKey::new(&[7; 32]).unwrap(), b"aad".to_vec());
        let sealer = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.bytes()).unwrap());
        let mut sealed = frame.clone();
        sealer.seal_in_place_append_tag(Nonce::assume_unique_for_key([3; IV_LEN]), Aad::from(&aad), &mut sealed).unwrap();
        let mut stored = [&[3; IV_LEN][..], &sealed].concat();
        assert_eq!(as_u64(stored.len()), as_u64(frame.len()) + SEAL_LEN);
        let opener = ChunkOpener::new(Some((&key, &aad)), true);
        assert_eq!(opener.opened(&stored, size).unwrap(), data);
        stored[20] ^= 1;
        assert_eq!(opener.opened(&stored, size).unwrap_err(), "its AES-GCM tag does not fit its bytes");
        assert_eq!(opener.opened(&stored[..27], size).unwrap_err(), "27 bytes cannot have an IV and a tag");
    }
}
