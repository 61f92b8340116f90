//! Files and directories of a store. Object stores have no directories: a prefix of a key is one.

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error as ObjectError, ObjectMeta, ObjectStoreExt};

use super::entry::StoreEntry;
use super::error::{StoreError, StoreErrorKind};
use super::location::Location;
use super::open::{Store, open, path_of};
use super::process::wait;
use super::stats::count_listing;
use crate::interrupt::Interrupt;

/// Return the files and directories in a directory, by name.
///
/// # Errors
/// `NotFound` if there is neither a file nor a directory below it, and those of the store.
pub fn entries(directory: &Location, interrupt: &Interrupt) -> Result<Vec<StoreEntry>, StoreError> {
    listed(directory, interrupt, false)
}

/// Return all files below a directory, by key, with one listing.
///
/// # Errors
/// As `entries`.
pub fn tree(directory: &Location, interrupt: &Interrupt) -> Result<Vec<StoreEntry>, StoreError> {
    listed(directory, interrupt, true)
}

/// Return the entry of a location.
///
/// # Errors
/// `NotFound`, and those of the store.
pub fn entry_of(location: &Location, interrupt: &Interrupt) -> Result<StoreEntry, StoreError> {
    let store = open(location, interrupt)?;
    let (place, path) = (location.clone(), path_of(location)?);
    count_listing();
    wait(&location.to_string(), interrupt, async move { store.entry_of(&place, path).await })
}

fn listed(directory: &Location, interrupt: &Interrupt, is_deep: bool) -> Result<Vec<StoreEntry>, StoreError> {
    let store = open(directory, interrupt)?;
    let (place, path) = (directory.clone(), path_of(directory)?);
    count_listing();
    wait(&directory.to_string(), interrupt, async move {
        if let Some(hdfs) = &store.hdfs {
            let mut found = hdfs.entries_in(&place, is_deep).await?;
            if found.is_empty() {
                // Of a missing directory the listing is empty, too.
                hdfs.entry_of(&place).await?;
            }
            found.sort_unstable_by(|left, right| left.key.cmp(&right.key));
            return Ok(found);
        }
        let found = if is_deep { store.files_below(&path).await } else { store.entries_in(&path).await };
        let mut found = found.map_err(|error| store.error(&error, &place))?;
        if found.is_empty() && !path.is_root() {
            store.entry_of(&place, path).await?;
        }
        found.sort_unstable_by(|left, right| left.key.cmp(&right.key));
        Ok(found)
    })
}

impl Store {
    async fn entries_in(&self, path: &Path) -> Result<Vec<StoreEntry>, ObjectError> {
        let prefix = Some(path).filter(|path| !path.is_root());
        let listing = self.client.list_with_delimiter(prefix).await?;
        let files = listing.objects.iter().filter(|meta| is_file(meta, path)).map(StoreEntry::file);
        Ok(listing.common_prefixes.iter().map(StoreEntry::directory).chain(files).collect())
    }

    async fn files_below(&self, path: &Path) -> Result<Vec<StoreEntry>, ObjectError> {
        let prefix = Some(path).filter(|path| !path.is_root());
        let found: Vec<ObjectMeta> = self.client.list(prefix).try_collect().await?;
        Ok(found.iter().filter(|meta| is_file(meta, path)).map(StoreEntry::file).collect())
    }

    async fn entry_of(&self, place: &Location, path: Path) -> Result<StoreEntry, StoreError> {
        if let Some(hdfs) = &self.hdfs {
            return hdfs.entry_of(place).await;
        }
        if path.is_root() {
            self.entries_in(&path).await.map_err(|error| self.error(&error, place))?;
            return Ok(StoreEntry::directory(&path));
        }
        match self.client.head(&path).await {
            Ok(meta) => return Ok(StoreEntry::file(&meta)),
            Err(ObjectError::NotFound { .. }) => {}
            Err(error) => return Err(self.error(&error, place)),
        }
        match self.entries_in(&path).await {
            Ok(found) if !found.is_empty() => Ok(StoreEntry::directory(&path)),
            Ok(_) | Err(ObjectError::NotFound { .. }) => {
                Err(StoreError::new(StoreErrorKind::NotFound, place.to_string(), "no such file or directory"))
            }
            Err(error) => Err(self.error(&error, place)),
        }
    }
}

/// Returns false for the empty object that represents a directory in some stores.
fn is_file(meta: &ObjectMeta, directory: &Path) -> bool {
    meta.location != *directory || meta.size > 0
}
