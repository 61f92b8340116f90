//! What look-ups in logs of stores ask for first, fetched before they ask.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::keys;
use super::paths::MOST;
use super::store::{self, StoredLog};
use crate::interrupt::Interrupt;
use crate::partition::WantedEnds;
use crate::partition::storage::sidecar;
use crate::py::interrupt::Signals;
use crate::py::source::uris;
use crate::stores::{FileEnds, Pending, StoreErrorKind, StoredFile};
use crate::tiered::{self, TieredFile};

/// The ends and the indexes of logs, by their URIs.
#[derive(Default)]
pub struct LookupsAhead {
    logs: Mutex<HashMap<PathBuf, PendingLog>>,
    indexes: Mutex<HashMap<PathBuf, PendingIndex>>,
}

enum PendingLog {
    Stored(Pending<FileEnds>),
    Uploaded(Pending<tiered::TieredResult<TieredFile>>),
}

enum PendingIndex {
    Stored(Pending<Bytes>),
    Uploaded(Pending<tiered::TieredResult<Option<Bytes>>>),
}

impl LookupsAhead {
    /// Begin to fetch the ends of a log of a store, and the `.index` for its end.
    pub fn begin(&self, path: &Path, ends: WantedEnds) {
        let index = sidecar(path, "index");
        let (log, in_index) = if uris::is_uploaded(path) { upload(path, &index) } else { stored(path, ends, &index) };
        let Some(log) = log else { return };
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), log);
        if let Some(in_index) = in_index.filter(|_| ends.size.is_some()) {
            self.indexes.lock().unwrap_or_else(PoisonError::into_inner).insert(index, in_index);
        }
    }

    /// Open a log that was begun, with the bytes that were fetched.
    pub fn log(&self, path: &Path, signals: &Arc<Signals>) -> Option<io::Result<StoredLog>> {
        let pending = self.logs.lock().unwrap_or_else(PoisonError::into_inner).remove(path)?;
        let (shown, interrupt) = (uris::redacted_uri(path), signals.interrupt());
        Some(match pending {
            PendingLog::Stored(pending) => {
                store::asked(signals, || pending.answer(&shown, &interrupt)).map(|ends| StoredLog::of_ends(path, ends, signals))
            }
            PendingLog::Uploaded(pending) => match store::released(|| pending.answer(&shown, &interrupt)) {
                Ok(Ok(file)) => Ok(StoredLog::of_upload(path, file, signals)),
                Err(error) if error.kind == StoreErrorKind::Interrupted => Err(error.into()),
                // The error is that of the question, or of a key that only this thread has.
                _ => return None,
            },
        })
    }

    /// Return the bytes of an index that was begun; `None` in them if there is no such file.
    pub fn bytes(&self, path: &Path, signals: &Arc<Signals>) -> Option<io::Result<Option<Vec<u8>>>> {
        let pending = self.indexes.lock().unwrap_or_else(PoisonError::into_inner).remove(path)?;
        let (shown, interrupt) = (uris::redacted_uri(path), signals.interrupt());
        let bytes = match pending {
            PendingIndex::Stored(pending) => store::asked(signals, || match pending.answer(&shown, &interrupt) {
                Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
                answer => answer.map(Some),
            }),
            PendingIndex::Uploaded(pending) => match store::released(|| pending.answer(&shown, &interrupt)) {
                Ok(Ok(bytes)) => Ok(bytes),
                Err(error) if error.kind == StoreErrorKind::Interrupted => Err(error.into()),
                _ => return None,
            },
        };
        Some(bytes.map(|bytes| bytes.map(|bytes| bytes.to_vec())))
    }
}

fn stored(path: &Path, ends: WantedEnds, index: &Path) -> (Option<PendingLog>, Option<PendingIndex>) {
    let location_of = |path: &Path| uris::located(path).filter(|_| uris::is_stored(path)).and_then(Result::ok);
    let never = Interrupt::default();
    let log = location_of(path).and_then(|location| FileEnds::begin(&location, ends.has_front, ends.size, &never).ok());
    let in_index = location_of(index).filter(|_| ends.size.is_some()).and_then(|place| StoredFile::begin_small(&place, MOST, &never).ok());
    (log.map(PendingLog::Stored), in_index.map(PendingIndex::Stored))
}

fn upload(path: &Path, index: &Path) -> (Option<PendingLog>, Option<PendingIndex>) {
    let place_of = |path: &Path| uris::upload_at(path).ok().filter(|upload| upload.place.is_stored());
    let log = place_of(path).and_then(|place| keys::begun(tiered::begin_end(&place)));
    let in_index = place_of(index).and_then(|place| keys::begun(tiered::begin_read(&place, MOST)));
    (log.map(PendingLog::Uploaded), in_index.map(PendingIndex::Uploaded))
}
