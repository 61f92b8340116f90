//! Files written to a store. A file appears whole, when its last byte was sent.

use std::fs::File;
use std::io::Read;
use std::path::Path as LocalPath;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error as ObjectError, ObjectStoreExt, PutPayload, WriteMultipart};

use super::error::{StoreError, StoreErrorKind};
use super::location::Location;
use super::open::{Store, open, path_of};
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
pub fn put_bytes(location: &Location, bytes: Bytes, interrupt: &Interrupt) -> Result<(), StoreError> {
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
pub fn remove(location: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
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
pub fn remove_directory(location: &Location, interrupt: &Interrupt) -> Result<(), StoreError> {
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
