//! The storage that Python's questions about partitions are asked of: files of this machine, of stores, uploads, and buffers of Python.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::log::ReadAt;
use crate::partition::storage::LogCache;
use crate::partition::{AtDamage, DirectoryEntry, Listing, Storage, Uploaded, WantedEnds};
use crate::py::errors::SegmentKeyError;
use crate::py::interrupt::Signals;
use crate::py::source::lookups_ahead::LookupsAhead;
use crate::py::source::store::{self, PyStoredRange, StoredLog};
use crate::py::source::{local_paths, paths, uris};
use crate::stores::{PlaceEntry, StoreError, StoreErrorKind};
use crate::tiered;
use crate::validate::Finding;

/// The storage of one question.
pub struct PyStorage {
    signals: Arc<Signals>,
    ahead: LookupsAhead,
}

impl PyStorage {
    /// Ask a question without the interpreter. The exception of a failed call is that of whoever failed.
    ///
    /// # Errors
    /// The exception for the error.
    pub fn asked<T: Send>(py: Python<'_>, ask: impl FnOnce(&Self) -> Result<T> + Send) -> PyResult<T> {
        let (signals, _) = Signals::new();
        let storage = Self { signals, ahead: LookupsAhead::default() };
        py.detach(|| ask(&storage)).map_err(|error| storage.signals.raised(py, &error))
    }

    /// The exception for the error of one of several paths, of which the others are still asked for.
    ///
    /// # Errors
    /// The error itself, if it is not about the path.
    pub fn raised(&self, error: Error) -> Result<PyErr> {
        Python::attach(|py| {
            let raised = self.signals.raised(py, &error);
            let is_of_path = raised.is_instance_of::<PyOSError>(py) || raised.is_instance_of::<SegmentKeyError>(py);
            if is_of_path { Ok(raised) } else { Err(error) }
        })
    }

    /// Keeps the exception for an error of a file, which Python raises if the error ends the question.
    fn kept(&self, error: io::Error, path: &Path) -> Error {
        let found = error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>());
        if found.is_some_and(|found| found.kind == StoreErrorKind::Interrupted) {
            // A look-up that goes on after errors of files ends.
            return ErrorKind::Interrupted.into();
        }
        Python::attach(|py| {
            if !uris::is_stored(path) {
                // An earlier failure that did not end the question is not the cause of this one.
                drop(self.signals.take());
            }
            self.signals.keep(paths::raised(py, &error, path, &self.signals));
        });
        paths::in_file(error.into(), path)
    }

    /// A file of a listing as tiered storage takes it. Files of this machine are asked for their sizes.
    fn object(&self, file: &DirectoryEntry) -> Result<PlaceEntry> {
        let found = if file.size.is_some() { file.clone() } else { self.entry(&file.path)? };
        let DirectoryEntry { size, modified_ns, tag, .. } = found;
        Ok(PlaceEntry { name: file.name.clone(), is_directory: false, size: size.unwrap_or(0), modified_ns, tag })
    }

    fn opened(&self, path: &Path) -> Result<StoredLog> {
        let opened = self.ahead.log(path, &self.signals).unwrap_or_else(|| StoredLog::open(path, &self.signals));
        self.kept_as(opened, path)
    }

    fn kept_as<T>(&self, result: io::Result<T>, path: &Path) -> Result<T> {
        result.map_err(|error| self.kept(error, path))
    }

    /// Asks tiered storage, which keeps the exception itself.
    fn uploaded_as<T: Send>(&self, path: &Path, ask: impl FnOnce() -> tiered::TieredResult<T> + Send) -> Result<T> {
        store::uploaded(&self.signals, path, ask).map_err(|error| paths::in_file(error.into(), path))
    }
}

impl Storage for PyStorage {
    fn open(&self, path: &Path, at_damage: AtDamage) -> Result<(Box<dyn ReadAt>, u64)> {
        if !uris::is_stored(path) {
            return self.kept_as(paths::open(path, &self.signals), path);
        }
        let log = self.opened(path)?;
        let len = log.len();
        Ok((Box::new(recovering(log, at_damage)), len))
    }

    /// A file of this machine may grow, and is opened for each look-up; one of a store is opened once.
    fn open_again(&self, path: &Path, at_damage: AtDamage, kept: &LogCache) -> Result<(Box<dyn ReadAt>, u64)> {
        if !uris::is_stored(path) {
            return self.open(path, at_damage);
        }
        let known = kept.get().and_then(|known| known.downcast_ref::<StoredLog>());
        let log = match known {
            Some(log) => log.asked_by(&self.signals),
            None => {
                let opened = self.opened(path)?;
                let log = opened.asked_by(&self.signals);
                let _ = kept.set(Box::new(opened));
                log
            }
        };
        let len = log.len();
        Ok((Box::new(recovering(log, at_damage)), len))
    }

    fn expect(&self, path: &Path, ends: WantedEnds) {
        self.ahead.begin(path, ends);
    }

    fn source(&self, path: &Path, start: u64, end: Option<u64>, at_damage: AtDamage) -> Result<Source> {
        if !uris::is_stored(path) {
            return self.kept_as(paths::source(path, start, end, &self.signals), path);
        }
        let range = self.kept_as(PyStoredRange::open(path, start, end, &self.signals), path)?;
        Ok(if at_damage == AtDamage::GoOn { range.with_recovery() } else { range }.into_source())
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        self.kept_as(self.ahead.bytes(path, &self.signals).unwrap_or_else(|| paths::read(path, &self.signals)), path)
    }

    fn tail(&self, path: &Path, most: u64) -> Result<Vec<u8>> {
        if let Some(bytes) = self.ahead.bytes(path, &self.signals) {
            return Ok(self.kept_as(bytes, path)?.unwrap_or_default());
        }
        self.kept_as(paths::tail(path, most, &self.signals), path)
    }

    fn entry(&self, path: &Path) -> Result<DirectoryEntry> {
        if !uris::is_stored(path) {
            return self.kept_as(local_paths::entry(path), path);
        }
        let found = self.kept_as(store::entry(path, &self.signals), path)?;
        Ok(stored_entry(uris::normal(path), found))
    }

    fn list(&self, directory: &Path) -> Result<Listing> {
        if uris::is_stored(directory) {
            let found = self.kept_as(store::entries(directory, &self.signals), directory)?;
            let entries = found.into_iter().map(|entry| stored_entry(uris::joined(directory, &entry.name), entry));
            let (directories, files) = entries.partition(|entry| entry.is_directory);
            return Ok(Listing { files, directories, ..Listing::default() });
        }
        self.kept_as(local_paths::listing(directory), directory)
    }

    fn tree(&self, directory: &Path) -> Result<Option<Vec<(PathBuf, Listing)>>> {
        let Some(found) = store::tree(directory, &self.signals) else { return Ok(None) };
        let mut at: HashMap<PathBuf, usize> = HashMap::new();
        let mut tree: Vec<(PathBuf, Listing)> = Vec::new();
        for (path, entry) in self.kept_as(found, directory)? {
            let Some(above) = path.parent().map(Path::to_owned) else { continue };
            let number = *at.entry(above.clone()).or_insert(tree.len());
            if number == tree.len() {
                tree.push((above, Listing::default()));
            }
            if let Some((_, listing)) = tree.get_mut(number) {
                listing.files.push(stored_entry(path, entry));
            }
        }
        Ok(Some(tree))
    }

    fn identity(&self, directory: &Path) -> Result<String> {
        if uris::is_stored(directory) {
            return Ok(directory.to_string_lossy().into_owned());
        }
        self.kept_as(local_paths::identity(directory), directory)
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        if uris::is_stored(path) { path.to_owned() } else { local_paths::real(path) }
    }

    fn links_in(&self, path: &Path) -> usize {
        if uris::is_stored(path) { 0 } else { local_paths::links_in(path) }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        if uris::is_stored(path) { path.to_owned() } else { local_paths::absolute(path) }
    }

    fn joined(&self, directory: &Path, name: &str) -> PathBuf {
        if uris::is_stored(directory) { uris::joined(directory, name) } else { directory.join(name) }
    }

    fn names_of(&self, uri: &Path) -> (PathBuf, Vec<String>) {
        uris::names_of(uri)
    }

    fn untiered(&self, path: &Path) -> PathBuf {
        uris::untiered(path)
    }

    fn uploaded(&self, path: &Path, keys_of: Option<&Path>) -> PathBuf {
        uris::tiered_uri(path, keys_of)
    }

    fn is_there(&self, path: &Path) -> bool {
        uris::is_stored(path) || fs::symlink_metadata(path).is_ok()
    }

    fn has_next(&self, path: &Path, next_offset: i64) -> bool {
        paths::has_next(path, next_offset)
    }

    fn is_stored(&self, path: &Path) -> bool {
        uris::is_stored(path)
    }

    fn layout_of(&self, path: &Path) -> Option<String> {
        let uri = Some(path).filter(|path| uris::is_uploaded(path)).and_then(|path| uris::upload_at(path).ok())?;
        uri.layouts.template().map(str::to_owned)
    }

    fn cut_of(&self, path: &Path) -> Option<i64> {
        Some(path).filter(|path| uris::is_uploaded(path)).and_then(|path| uris::upload_at(path).ok())?.before
    }

    fn is_uploaded(&self, path: &Path) -> bool {
        uris::is_uploaded(path)
    }

    fn shown(&self, path: &Path) -> String {
        uris::redacted_uri(path)
    }

    fn ensure_segment(&self, path: &Path) -> Result<()> {
        paths::ensure_segment(path)
    }

    fn uploaded_max_timestamp(&self, path: &Path) -> Result<Option<i64>> {
        self.uploaded_as(path, || tiered::max_timestamp(&uris::upload_at(path)?, &self.interrupt()))
    }

    fn uploads(&self, directory: &Path, keys_of: Option<&Path>, files: &[DirectoryEntry]) -> Result<(Vec<Uploaded>, Vec<Finding>)> {
        let uri = uris::tiered_uri(directory, keys_of);
        let listed = files.iter().map(|file| self.object(file)).collect::<Result<_>>()?;
        let ask = || tiered::segments_in(&uris::upload_at(&uri)?, Some(listed), &self.interrupt());
        let (found, findings) = self.uploaded_as(directory, ask)?;
        let found = found.into_iter().map(|found| Uploaded {
            path: uris::joined(&uri, &found.name),
            topic: found.topic,
            partition: found.partition,
            base_offset: found.base_offset,
            size: found.size,
        });
        Ok((found.collect(), findings))
    }

    fn upload_at(&self, path: &Path, keys_of: Option<&Path>) -> Result<Option<Uploaded>> {
        let uri = uris::cut_as(&uris::tiered_uri(path, keys_of), keys_of);
        let ask = || tiered::segment_at(&uris::upload_at(&uri)?, &self.interrupt());
        let found = self.uploaded_as(path, ask)?;
        Ok(found.map(|found| Uploaded {
            path: uri,
            topic: found.topic,
            partition: found.partition,
            base_offset: found.base_offset,
            size: found.size,
        }))
    }

    fn interrupt(&self) -> Interrupt {
        self.signals.interrupt()
    }
}

fn recovering(log: StoredLog, at_damage: AtDamage) -> StoredLog {
    if at_damage == AtDamage::GoOn { log.with_recovery() } else { log }
}

fn stored_entry(path: PathBuf, entry: PlaceEntry) -> DirectoryEntry {
    let PlaceEntry { name, is_directory, size, modified_ns, tag } = entry;
    DirectoryEntry { path, name, is_directory, size: Some(size), modified_ns, tag }
}
