//! The files next to segments in a store. They are small and many, so that they are fetched before they are read, several at a time.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::keys;
use super::paths::{MOST, SidecarFolder, in_file};
use super::store;
use crate::error::Result;
use crate::log::ReadAt;
use crate::log::partition::{Directory, SidecarNames};
use crate::py::interrupt::Signals;
use crate::py::source::uris;
use crate::stores::{Location, Pending, PlaceEntry, StoreErrorKind, StoredFile};
use crate::tiered::{self, Sidecars};

/// Files that are fetched ahead, and their bytes.
const MOST_AHEAD: usize = 16;
const MOST_BYTES: u64 = 32 << 20;
/// A larger file is fetched when it is read.
const MOST_LEN: u64 = 8 << 20;

/// The directory of segments, for the check of their sidecar files.
pub fn directory(path: PathBuf, segments: &[SidecarNames], signals: &Arc<Signals>) -> Box<dyn Directory> {
    let folder = SidecarFolder { path, signals: Arc::clone(signals) };
    let place = match uris::located(&folder.path).filter(|_| uris::is_stored(&folder.path)) {
        Some(Ok(location)) => SidecarStore::Stored(location),
        _ if uris::is_uploaded(&folder.path) => SidecarStore::Uploaded(OnceLock::new()),
        _ => return Box::new(folder),
    };
    let of_segments = segments.iter().flat_map(|names| ["index", "timeindex", "txnindex"].map(|suffix| names.of(suffix)));
    let order = ["leader-epoch-checkpoint".to_owned()].into_iter().chain(of_segments).collect();
    Box::new(FolderAhead { folder, place, order, listing: OnceLock::new(), ahead: Mutex::default() })
}

/// A directory of a store.
struct FolderAhead {
    folder: SidecarFolder,
    place: SidecarStore,
    /// Names of files in the order in which they are read first.
    order: Vec<String>,
    /// Names of its files, and their bytes.
    listing: OnceLock<HashMap<String, u64>>,
    ahead: Mutex<FilesAhead>,
}

/// Where the files are.
enum SidecarStore {
    Stored(Location),
    /// Uploads, once they were listed.
    Uploaded(OnceLock<Arc<Sidecars>>),
}

#[derive(Default)]
struct FilesAhead {
    /// Names of files that are not requested yet.
    next: VecDeque<String>,
    pending: HashMap<String, (PendingFile, u64)>,
    /// Bytes of the files that are pending.
    bytes: u64,
}

/// A file that was requested.
enum PendingFile {
    Stored(Pending<Bytes>),
    Uploaded(Pending<tiered::TieredResult<Option<Bytes>>>),
}

impl FolderAhead {
    /// Takes a file that was requested, and requests those after it.
    fn take(&self, name: &str, listing: &HashMap<String, u64>) -> Option<PendingFile> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = ahead.pending.remove(name);
        ahead.bytes = ahead.bytes.saturating_sub(taken.as_ref().map_or(0, |(_, len)| *len));
        while ahead.pending.len() < MOST_AHEAD && ahead.bytes < MOST_BYTES {
            let Some(next) = ahead.next.pop_front() else { break };
            let Some(len) = listing.get(&next).copied().filter(|len| *len <= MOST_LEN && next != name) else { continue };
            // An empty file needs no request. The listing has no size of some files of uploads.
            if len == 0 && matches!(self.place, SidecarStore::Stored(_)) {
                continue;
            }
            // The error of a request that cannot begin is met when the file is read.
            let Some(pending) = self.begin(&next) else { break };
            ahead.bytes = ahead.bytes.saturating_add(len);
            ahead.pending.insert(next, (pending, len));
        }
        taken.map(|(pending, _)| pending)
    }

    fn begin(&self, name: &str) -> Option<PendingFile> {
        match &self.place {
            SidecarStore::Stored(location) => {
                let place = location.at(&format!("{}/{name}", location.key));
                StoredFile::begin_small(&place, MOST_LEN, &self.folder.signals.interrupt()).ok().map(PendingFile::Stored)
            }
            SidecarStore::Uploaded(sidecars) => {
                let uri = uris::upload_at(&self.folder.path.join(name)).ok()?;
                keys::begun(sidecars.get()?.begin(&uri, MOST)).map(PendingFile::Uploaded)
            }
        }
    }

    fn entries(&self) -> std::io::Result<Vec<PlaceEntry>> {
        let (path, signals) = (&self.folder.path, &self.folder.signals);
        let SidecarStore::Uploaded(known) = &self.place else { return store::entries(path, signals) };
        store::uploaded(signals, path, || {
            let listed = Arc::new(Sidecars::of(&uris::upload_at(path)?, &signals.interrupt())?);
            known.get_or_init(|| listed).entries(&signals.interrupt())
        })
    }

    /// Reads a file that was not requested.
    fn read_now(&self, name: &str, path: &Path) -> Result<Option<Vec<u8>>> {
        let SidecarStore::Uploaded(known) = &self.place else { return self.folder.read(name) };
        let Some(sidecars) = known.get() else { return self.folder.read(name) };
        let signals = &self.folder.signals;
        let bytes = store::uploaded(signals, path, || sidecars.read(&uris::upload_at(path)?, MOST, &signals.interrupt()));
        Ok(bytes.map_err(|error| in_file(error.into(), path))?.map(|bytes| bytes.to_vec()))
    }
}

impl Directory for FolderAhead {
    fn names(&self) -> Result<Vec<String>> {
        let entries = self.entries().map_err(|error| in_file(error.into(), &self.folder.path))?;
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        if self.listing.set(entries.into_iter().map(|entry| (entry.name, entry.size)).collect()).is_ok() {
            let others = names.iter().filter(|name| name.ends_with(".snapshot")).cloned();
            self.ahead.lock().unwrap_or_else(PoisonError::into_inner).next = self.order.iter().cloned().chain(others).collect();
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(listing) = self.listing.get() else { return self.folder.read(name) };
        if matches!(self.place, SidecarStore::Stored(_)) {
            match listing.get(name) {
                None => return Ok(None),
                Some(0) => return Ok(Some(Vec::new())),
                Some(_) => {}
            }
        }
        let (signals, path) = (&self.folder.signals, self.folder.path.join(name));
        let Some(pending) = self.take(name, listing) else { return self.read_now(name, &path) };
        let read = match pending {
            PendingFile::Stored(pending) => {
                store::asked(signals, || match pending.answer(&uris::redacted_uri(&path), &signals.interrupt()) {
                    Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
                    answer => answer.map(Some),
                })
            }
            PendingFile::Uploaded(pending) => match store::released(|| pending.answer("", &signals.interrupt())) {
                Ok(Ok(bytes)) => Ok(bytes),
                Err(error) if error.kind == StoreErrorKind::Interrupted => Err(error.into()),
                // The error is that of the question, or of a key that only this thread has.
                _ => return self.read_now(name, &path),
            },
        };
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
