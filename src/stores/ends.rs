//! The first and the last bytes of a file, fetched before they are asked for.

use bytes::Bytes;
use futures_util::future;

use super::error::StoreError;
use super::file::StoredFile;
use super::location::Location;
use super::open::open;
use super::process::{Pending, handle};
use crate::interrupt::Interrupt;
use crate::wire::as_u64;

/// First bytes of a file: the size of the smallest request of a look-up.
const FRONT: u64 = 64 << 10;
/// Last bytes of a file: the last batch, and what an index has no entry for.
const END: u64 = 32 << 10;

/// An open file, and bytes of it with their positions.
#[derive(Debug)]
pub struct FileEnds {
    /// The file.
    pub file: StoredFile,
    /// Bytes at its beginning and at its end, as they were wanted.
    pub pieces: Vec<(u64, Bytes)>,
}

impl FileEnds {
    /// Begin to open a file and to fetch its first bytes if they are wanted, and if its size is known its last bytes.
    ///
    /// # Errors
    /// `Invalid`, and those of opening the store.
    pub fn begin(location: &Location, has_front: bool, size: Option<u64>, interrupt: &Interrupt) -> Result<Pending<Self>, StoreError> {
        let (store, place) = (open(location, interrupt)?, location.clone());
        let least = if has_front { FRONT } else { 0 };
        let end = size.filter(|size| *size > least).map(|size| size.saturating_sub(END).max(least)..size);
        Ok(Pending::begin(&handle(&location.to_string())?, async move {
            let wanted = end.clone();
            let (other, at) = (store.clone(), place.clone());
            let end_part = async move {
                match wanted {
                    Some(range) => StoredFile::part(other, at, range).await,
                    None => None,
                }
            };
            if !has_front {
                return Ok(match end_part.await.zip(end) {
                    Some(((file, bytes), range)) if file.size() == range.end => Self { file, pieces: vec![(range.start, bytes)] },
                    _ => Self { file: StoredFile::asked(store, place).await?, pieces: Vec::new() },
                });
            }
            let (front, end_part) = future::join(StoredFile::front(store, place, FRONT), end_part).await;
            let (file, bytes) = front?;
            let mut pieces = vec![(0, bytes)];
            // Bytes of another version, and those of a file with another size, are of no use.
            let same = end_part.zip(end).filter(|((other, bytes), range)| {
                other.version() == file.version() && file.size() == range.end && as_u64(bytes.len()) == range.end - range.start
            });
            pieces.extend(same.map(|((_, bytes), range)| (range.start, bytes)));
            Ok(Self { file, pieces })
        }))
    }
}
