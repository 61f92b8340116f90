//! The files next to segments in a store. They are small and many, so that they are fetched before they are read, several at a time.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::paths::{Folder, in_file};
use super::store;
use crate::error::Result;
use crate::log::ReadAt;
use crate::log::partition::{Directory, SidecarNames};
use crate::py::interrupt::Signals;
use crate::stores::{self, Location, Pending, StoreErrorKind, StoredFile};

/// Files that are fetched ahead, and their bytes.
const MOST_AHEAD: usize = 16;
const MOST_BYTES: u64 = 32 << 20;
/// A larger file is fetched when it is read.
const MOST_LEN: u64 = 8 << 20;

/// The directory of segments, for the check of their sidecar files.
pub fn directory(path: PathBuf, segments: &[SidecarNames], signals: &Arc<Signals>) -> Box<dyn Directory> {
    let folder = Folder { path, signals: Arc::clone(signals) };
    match store::located(&folder.path).filter(|_| store::is_stored(&folder.path)) {
        Some(Ok(location)) => {
            let suffixes = ["index", "timeindex", "txnindex"];
            let order = segments.iter().flat_map(|names| suffixes.map(|suffix| names.of(suffix))).collect();
            Box::new(FolderAhead { folder, location, order, listing: OnceLock::new(), ahead: Mutex::default() })
        }
        _ => Box::new(folder),
    }
}

/// A directory of a store.
struct FolderAhead {
    folder: Folder,
    location: Location,
    /// Names of files in the order in which they are read first.
    order: Vec<String>,
    /// Names of its files, and their bytes.
    listing: OnceLock<HashMap<String, u64>>,
    ahead: Mutex<Ahead>,
}

#[derive(Default)]
struct Ahead {
    /// Names of files that are not requested yet.
    next: VecDeque<String>,
    pending: HashMap<String, (Pending<Bytes>, u64)>,
    /// Bytes of the files that are pending.
    bytes: u64,
}

impl FolderAhead {
    /// Takes a file that was requested, and requests those after it.
    fn take(&self, name: &str, listing: &HashMap<String, u64>) -> Option<Pending<Bytes>> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = ahead.pending.remove(name);
        ahead.bytes = ahead.bytes.saturating_sub(taken.as_ref().map_or(0, |(_, len)| *len));
        while ahead.pending.len() < MOST_AHEAD && ahead.bytes < MOST_BYTES {
            let Some(next) = ahead.next.pop_front() else { break };
            let Some(len) = listing.get(&next).copied().filter(|len| *len <= MOST_LEN && next != name) else { continue };
            let place = self.location.at(&format!("{}/{next}", self.location.key));
            // The error of a request that cannot begin is met when the file is read.
            let Ok(pending) = StoredFile::begin_small(&place, MOST_LEN, &self.folder.signals.interrupt()) else { break };
            ahead.bytes = ahead.bytes.saturating_add(len);
            ahead.pending.insert(next, (pending, len));
        }
        taken.map(|(pending, _)| pending)
    }
}

impl Directory for FolderAhead {
    fn names(&self) -> Result<Vec<String>> {
        let signals = &self.folder.signals;
        let entries = store::asked(signals, || stores::entries(&self.location, &signals.interrupt()));
        let entries = entries.map_err(|error| in_file(error.into(), &self.folder.path))?;
        let names: Vec<String> = entries.iter().map(|entry| entry.name().to_owned()).collect();
        if self.listing.set(entries.iter().map(|entry| (entry.name().to_owned(), entry.size)).collect()).is_ok() {
            let others = names.iter().filter(|name| name.ends_with(".snapshot")).cloned();
            self.ahead.lock().unwrap_or_else(PoisonError::into_inner).next = self.order.iter().cloned().chain(others).collect();
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(listing) = self.listing.get() else { return self.folder.read(name) };
        match listing.get(name) {
            None => return Ok(None),
            Some(0) => return Ok(Some(Vec::new())),
            Some(_) => {}
        }
        let Some(pending) = self.take(name, listing) else { return self.folder.read(name) };
        let (signals, path) = (&self.folder.signals, self.folder.path.join(name));
        let read = store::asked(signals, || match pending.answer(&store::shown(&path), &signals.interrupt()) {
            Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
            answer => answer.map(Some),
        });
        let bytes = read.map_err(|error| in_file(error.into(), &path))?;
        Ok(bytes.map(|bytes| bytes.to_vec()))
    }

    fn open(&self, name: &str) -> Result<(Box<dyn ReadAt>, u64)> {
        self.folder.open(name)
    }

    fn is_metadata_log(&self) -> bool {
        self.folder.is_metadata_log()
    }

    fn path_of(&self, name: &str) -> String {
        self.folder.path_of(name)
    }
}
