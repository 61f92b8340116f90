//! Files written to a store, and small ones of this machine. A file appears whole, when its last byte was sent.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path as LocalPath;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error as ObjectError, ObjectStoreExt, PutPayload, WriteMultipart};

use super::error::{StoreError, StoreErrorKind};
use super::location::Location;
use super::open::{Store, open, path_of};
use super::place::{StoragePlace, system_error};
use super::process::wait;
use crate::interrupt::Interrupt;

/// Bytes of a part of an upload.
const PART_LEN: usize = 8 << 20;
/// Parts in flight.
const MOST_PARTS: usize = 4;

/// Write a small file; replace an older one.
///
/// # Errors
/// Those of the store.
fn put_bytes(location: &Location, bytes: Bytes, interrupt: &Interrupt) -> Result<(), StoreError> {
    let place = location.clone();
    request(location, interrupt, move |store, path| async move {
        store.client.put(&path, PutPayload::from_bytes(bytes)).await.map(drop).map_err(|error| store.error(&error, &place))
    })
}

/// Copy a file of this machine into a store; replace an older one.
///
/// # Errors
/// `Other` if the file cannot be read, and those of the store.
pub fn put_file(source: &LocalPath, location: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
    let unreadable = |error: std::io::Error| StoreError::new(StoreErrorKind::Other, source.to_string_lossy(), error.to_string());
    let mut file = File::open(source).map_err(unreadable)?;
    let first = part_of(&mut file).map_err(unreadable)?;
    if first.len() < PART_LEN {
        return put_bytes(location, first, interrupt);
    }
    let store = open(location, interrupt)?;
    let (uri, path, place) = (location.to_string(), path_of(location)?, location.clone());
    wait(&uri, interrupt, async move {
        let upload = store.client.put_multipart(&path).await.map_err(|error| store.error(&error, &place))?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_LEN);
        let sent = send(&mut upload, file, first).await;
        match sent {
            Ok(()) => upload.finish().await.map(drop).map_err(|error| store.error(&error, &place)),
            Err(error) => {
                drop(upload.abort().await);
                Err(store.error(&error, &place))
            }
        }
    })
}

async fn send(upload: &mut WriteMultipart, mut file: File, first: Bytes) -> Result<(), ObjectError> {
    let mut part = first;
    while !part.is_empty() {
        upload.wait_for_capacity(MOST_PARTS).await?;
        upload.put(part);
        let read = tokio::task::spawn_blocking(move || part_of(&mut file).map(|part| (file, part))).await?;
        let source = |error: std::io::Error| ObjectError::Generic { store: "file", source: error.into() };
        (file, part) = read.map_err(source)?;
    }
    Ok(())
}

fn part_of(file: &mut File) -> std::io::Result<Bytes> {
    let mut part = Vec::with_capacity(PART_LEN);
    file.take(crate::wire::as_u64(PART_LEN)).read_to_end(&mut part)?;
    Ok(part.into())
}

/// Move a file to its place in the same store: HDFS renames it, and other stores copy it. To repeat it is harmless.
///
/// # Errors
/// Those of the store.
pub fn settle(source: &Location, place: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
    let (from, to, path) = (source.clone(), place.clone(), path_of(source)?);
    request(place, interrupt, move |store, target| async move {
        match &store.hdfs {
            Some(hdfs) => hdfs.rename(&from, &to).await,
            None => store.client.copy(&path, &target).await.map_err(|error| match store.error(&error, &to) {
                missing if missing.kind == StoreErrorKind::NotFound => store.error(&error, &from),
                refused => refused,
            }),
        }
    })
}

/// Undo `settle`.
///
/// # Errors
/// Those of the store.
pub fn unsettle(source: &Location, place: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
    let (from, to) = (source.clone(), place.clone());
    request(place, interrupt, move |store, target| async move {
        match &store.hdfs {
            Some(hdfs) if hdfs.entry_of(&from).await.is_ok() => Ok(()),
            Some(hdfs) => missing_is_done(hdfs.rename(&to, &from).await),
            None => missing_is_done(store.client.delete(&target).await.map_err(|error| store.error(&error, &to))),
        }
    })
}

/// Remove a file, if there is one.
///
/// # Errors
/// Those of the store.
fn remove(location: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
    let place = location.clone();
    request(location, interrupt, |store, path| async move {
        match &store.hdfs {
            Some(hdfs) => hdfs.remove(&place).await,
            None => missing_is_done(store.client.delete(&path).await.map_err(|error| store.error(&error, &place))),
        }
    })
}

/// Remove a directory with its files, if there is one.
///
/// # Errors
/// Those of the store.
fn remove_directory(location: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
    let place = location.clone();
    request(location, interrupt, |store, path| async move {
        if let Some(hdfs) = &store.hdfs {
            return hdfs.remove(&place).await;
        }
        let files = store.client.list(Some(&path)).map_ok(|meta| meta.location).boxed();
        let removed: Result<Vec<Path>, ObjectError> = store.client.delete_stream(files).try_collect().await;
        missing_is_done(removed.map(drop).map_err(|error| store.error(&error, &place)))
    })
}

impl StoragePlace {
    /// Write a small file; replace an older one. On this machine it is on disk afterwards.
    ///
    /// # Errors
    /// Those of the store or of the system.
    pub fn put(&self, bytes: Bytes, interrupt: &Interrupt) -> Result<(), StoreError> {
        match self {
            Self::Stored(location) => put_bytes(location, bytes, interrupt),
            Self::Local(path) => put_here(path, &bytes).map_err(|error| system_error(&error, path)),
        }
    }

    /// Remove a file, if there is one.
    ///
    /// # Errors
    /// Those of the store or of the system.
    pub fn remove(&self, interrupt: &Interrupt) -> Result<(), StoreError> {
        match self {
            Self::Stored(location) => remove(location, interrupt),
            Self::Local(path) => missing_is_done(fs::remove_file(path).map_err(|error| system_error(&error, path))),
        }
    }

    /// Remove a directory with its files, if there is one; one of this machine as far as possible.
    ///
    /// # Errors
    /// Those of the store.
    pub fn remove_directory(&self, interrupt: &Interrupt) -> Result<(), StoreError> {
        match self {
            Self::Stored(location) => remove_directory(location, interrupt),
            Self::Local(path) => {
                remove_here(path);
                Ok(())
            }
        }
    }
}

/// Writes a file under another name, and gives it its own when it is on disk.
fn put_here(path: &LocalPath, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let written = || {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    written().inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    if let Some(directory) = path.parent() {
        sync_directory(directory);
    }
    Ok(())
}

/// Write the names in a directory to disk, if its file system lets a directory be opened.
pub fn sync_directory(path: &LocalPath) {
    let path = if path.as_os_str().is_empty() { LocalPath::new(".") } else { path };
    let _ = File::open(path).and_then(|directory| directory.sync_all());
}

/// Removes what can be removed: a file that cannot does not keep the others.
fn remove_here(directory: &LocalPath) {
    if fs::remove_dir_all(directory).is_ok() {
        return;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_here(&entry.path()),
            _ => drop(fs::remove_file(entry.path())),
        }
    }
    let _ = fs::remove_dir(directory);
}

fn missing_is_done(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(error) if error.kind == StoreErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Sends a request about a location.
fn request<F: Future<Output = Result<(), StoreError>> + Send + 'static>(
    location: &Location,
    interrupt: &Interrupt,
    send: impl FnOnce(Store, Path) -> F + Send + 'static,
) -> Result<(), StoreError> {
    let store = open(location, interrupt)?;
    let path = path_of(location)?;
    wait(&location.to_string(), interrupt, async move { send(store, path).await })
}
