//! What look-ups in logs of stores ask for first, fetched before they ask.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::paths::MOST;
use super::store::{self, StoredLog};
use crate::interrupt::Interrupt;
use crate::partition::storage::sidecar;
use crate::py::interrupt::Signals;
use crate::stores::{FileEnds, Pending, StoreErrorKind, StoredFile};

/// The ends and the indexes of logs, by their URIs.
#[derive(Default)]
pub struct LookupsAhead {
    logs: Mutex<HashMap<PathBuf, Pending<FileEnds>>>,
    indexes: Mutex<HashMap<PathBuf, Pending<Bytes>>>,
}

impl LookupsAhead {
    /// Begin to fetch the front of a log, and with its size its end and its `.index`. Only logs of stores are fetched ahead.
    pub fn begin(&self, path: &Path, size: Option<u64>) {
        let location_of = |path: &Path| store::located(path).filter(|_| store::is_stored(path)).and_then(Result::ok);
        let never = Interrupt::default();
        let Some(pending) = location_of(path).and_then(|location| FileEnds::begin(&location, size, &never).ok()) else { return };
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), pending);
        let index = sidecar(path, "index");
        if let Some(location) = location_of(&index).filter(|_| size.is_some())
            && let Ok(pending) = StoredFile::begin_small(&location, MOST, &never)
        {
            self.indexes.lock().unwrap_or_else(PoisonError::into_inner).insert(index, pending);
        }
    }

    /// Open a log that was begun, with the bytes that were fetched.
    pub fn log(&self, path: &Path, signals: &Arc<Signals>) -> Option<io::Result<StoredLog>> {
        let pending = self.logs.lock().unwrap_or_else(PoisonError::into_inner).remove(path)?;
        let ends = store::asked(signals, || pending.answer(&store::shown(path), &signals.interrupt()));
        Some(ends.map(|ends| StoredLog::of_ends(path, ends, signals)))
    }

    /// Return the bytes of an index that was begun; `None` in them if there is no such file.
    pub fn bytes(&self, path: &Path, signals: &Arc<Signals>) -> Option<io::Result<Option<Vec<u8>>>> {
        let pending = self.indexes.lock().unwrap_or_else(PoisonError::into_inner).remove(path)?;
        Some(store::asked(signals, || match pending.answer(&store::shown(path), &signals.interrupt()) {
            Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
            answer => answer.map(|bytes| Some(bytes.to_vec())),
        }))
    }
}
