//! A file as it was when it was opened.

use std::ops::Range;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error as ObjectError, GetOptions, GetResult, ObjectMeta, ObjectStoreExt};
use tokio::runtime::Handle;

use super::error::{StoreError, StoreErrorKind};
use super::location::Location;
use super::open::{Store, open, path_of};
use super::process::{Pending, handle, wait};
use super::stats::{count_open, count_range};
use crate::error::plural;
use crate::interrupt::Interrupt;
use crate::wire::as_u64;

/// An open file of a store. Each request names its version, so that bytes of another one are an error.
#[derive(Clone, Debug)]
pub struct StoredFile {
    store: Store,
    location: Location,
    path: Path,
    size: u64,
    tag: Option<String>,
    /// Without a tag, the time of the last write in ms is the version.
    modified: i64,
}

impl StoredFile {
    /// Open a file.
    ///
    /// # Errors
    /// `NotFound`, and those of the store.
    pub fn open(location: &Location, interrupt: &Interrupt) -> Result<Self, StoreError> {
        let store = open(location, interrupt)?;
        Self::in_store(store, location, interrupt)
    }

    pub(super) fn in_store(store: Store, location: &Location, interrupt: &Interrupt) -> Result<Self, StoreError> {
        wait(&location.to_string(), interrupt, Self::asked(store, location.clone()))
    }

    /// Opens a file without waiting.
    pub(super) async fn asked(store: Store, location: Location) -> Result<Self, StoreError> {
        let path = path_of(&location)?;
        count_open();
        let meta = store.client.head(&path).await.map_err(|error| store.error(&error, &location))?;
        Ok(Self::of(store, location, path, &meta))
    }

    /// Return the first bytes of a small file, at most `most` of them, with one request. The range in the answer names the size of the file.
    ///
    /// # Errors
    /// `NotFound`, `ShortRead`, and those of the store.
    pub fn read_small(location: &Location, most: u64, interrupt: &Interrupt) -> Result<Bytes, StoreError> {
        let store = open(location, interrupt)?;
        wait(&location.to_string(), interrupt, Self::range_of(store, location.clone(), 0..most))
    }

    /// Return the bytes of a range of a file, fewer only at the end of the file, with one request.
    ///
    /// # Errors
    /// `NotFound`, `ShortRead`, and those of the store.
    pub fn read_range(location: &Location, range: Range<u64>, interrupt: &Interrupt) -> Result<Bytes, StoreError> {
        let store = open(location, interrupt)?;
        wait(&location.to_string(), interrupt, Self::range_of(store, location.clone(), range))
    }

    /// Begin to read a small file; see `read_small`.
    ///
    /// # Errors
    /// `Invalid`, and those of opening the store.
    pub fn begin_small(location: &Location, most: u64, interrupt: &Interrupt) -> Result<Pending<Bytes>, StoreError> {
        let store = open(location, interrupt)?;
        Ok(Pending::begin(&handle(&location.to_string())?, Self::range_of(store, location.clone(), 0..most)))
    }

    async fn range_of(store: Store, location: Location, range: Range<u64>) -> Result<Bytes, StoreError> {
        // HDFS has no range that ends after the end of a file.
        if store.hdfs.is_none() {
            match ranged(&store, &path_of(&location)?, range.clone()).await.map_err(|error| store.error(&error, &location)) {
                Ok(answer) => {
                    let wanted = answer.meta.size.min(range.end).saturating_sub(range.start);
                    let bytes = answer.bytes().await.map_err(|error| store.error(&error, &location))?;
                    count_range(as_u64(bytes.len()));
                    return if as_u64(bytes.len()) == wanted { Ok(bytes) } else { Err(short(&location, wanted, range.start)) };
                }
                // After the end of a file there is no range.
                Err(error) if error.kind == StoreErrorKind::Other => {}
                Err(error) => return Err(error),
            }
        }
        let file = Self::asked(store, location).await?;
        let range = range.start.min(file.size)..range.end.min(file.size);
        file.fetch(range).await
    }

    /// Opens a file and fetches its first bytes, at most `most` of them, with one request.
    pub(super) async fn front(store: Store, location: Location, most: u64) -> Result<(Self, Bytes), StoreError> {
        // HDFS has no range that ends after the end of a file.
        if store.hdfs.is_none() {
            let path = path_of(&location)?;
            match ranged(&store, &path, 0..most).await {
                Ok(answer) => {
                    let file = Self::of(store, location, path, &answer.meta);
                    let bytes = answer.bytes().await.map_err(|error| file.error(&error))?;
                    count_range(as_u64(bytes.len()));
                    let wanted = file.size.min(most);
                    return if as_u64(bytes.len()) == wanted { Ok((file, bytes)) } else { Err(short(&file.location, wanted, 0)) };
                }
                Err(error) => match store.error(&error, &location) {
                    // Of an empty file there is no range.
                    error if error.kind == StoreErrorKind::Other => {}
                    error => return Err(error),
                },
            }
        }
        let file = Self::asked(store, location).await?;
        let bytes = file.clone().fetch(0..file.size.min(most)).await?;
        Ok((file, bytes))
    }

    /// Fetches a range of a file that is not open yet; `None` if the store does not give it. With the file as it is in the answer.
    pub(super) async fn part(store: Store, location: Location, range: Range<u64>) -> Option<(Self, Bytes)> {
        let path = path_of(&location).ok()?;
        let answer = ranged(&store, &path, range.clone()).await.ok()?;
        let file = Self::of(store, location, path, &answer.meta);
        let bytes = answer.bytes().await.ok()?;
        count_range(as_u64(bytes.len()));
        let wanted = range.end.min(file.size).saturating_sub(range.start);
        (as_u64(bytes.len()) == wanted).then_some((file, bytes))
    }

    fn of(store: Store, location: Location, path: Path, meta: &ObjectMeta) -> Self {
        let (size, tag, modified) = (meta.size, meta.e_tag.clone(), meta.last_modified.timestamp_millis());
        Self { store, location, path, size, tag, modified }
    }

    /// True if each request names the version, so that no later question is needed.
    pub(super) fn has_tag(&self) -> bool {
        self.tag.is_some()
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The size, and a text that differs between versions of the same size.
    pub fn version(&self) -> (u64, String) {
        (self.size, self.tag.clone().unwrap_or_else(|| self.modified.to_string()))
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Return the bytes of a range, fewer only at the end of the file.
    ///
    /// # Errors
    /// `Changed` if the file was replaced, `ShortRead`, and those of the store.
    pub fn read(&self, range: Range<u64>, interrupt: &Interrupt) -> Result<Bytes, StoreError> {
        let uri = self.location.to_string();
        self.begin(range, &handle(&uri)?).answer(&uri, interrupt)
    }

    /// Begin to fetch the bytes of a range.
    pub(super) fn begin(&self, range: Range<u64>, runtime: &Handle) -> Pending<Bytes> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        let file = self.clone();
        Pending::begin(runtime, async move { file.fetch(range).await })
    }

    /// Begin to fetch the bytes of a range, and to work on them in another thread as soon as they are there.
    ///
    /// # Errors
    /// `Other`, if the system gives no threads.
    pub fn begin_work<T: Send + 'static>(
        &self,
        range: Range<u64>,
        work: impl FnOnce(Bytes) -> T + Send + 'static,
    ) -> Result<Pending<T>, StoreError> {
        let file = self.clone();
        let uri = self.location.to_string();
        Ok(Pending::begin(&handle(&uri)?, async move {
            let bytes = file.fetch(range).await?;
            let done = tokio::task::spawn_blocking(move || work(bytes)).await;
            done.map_err(|error| StoreError::new(StoreErrorKind::Other, uri, error.to_string()))
        }))
    }

    async fn fetch(self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let wanted = range.end.saturating_sub(range.start);
        if wanted == 0 {
            return Ok(Bytes::new());
        }
        let options = GetOptions { range: Some(range.clone().into()), if_match: self.tag.clone(), ..GetOptions::default() };
        let answer = match self.store.client.get_opts(&self.path, options).await {
            Err(ObjectError::Precondition { .. }) => {
                // Azure answers so about a file that is gone, too.
                self.store.client.head(&self.path).await.map_err(|error| self.error(&error))?;
                return Err(self.changed(self.size));
            }
            answer => answer.map_err(|error| self.error(&error))?,
        };
        // A server may ignore the condition.
        let is_other = match &self.tag {
            Some(tag) => answer.meta.e_tag.as_ref() != Some(tag),
            None => answer.meta.last_modified.timestamp_millis() != self.modified,
        };
        if answer.meta.size != self.size || is_other {
            return Err(self.changed(answer.meta.size));
        }
        let bytes = answer.bytes().await.map_err(|error| self.error(&error))?;
        count_range(as_u64(bytes.len()));
        if as_u64(bytes.len()) == wanted {
            return Ok(bytes);
        }
        Err(short(&self.location, wanted, range.start))
    }

    /// Ask the store whether the file is still the one that was opened.
    ///
    /// # Errors
    /// `Changed`, `NotFound`, and those of the store.
    pub fn ensure_same(&self, interrupt: &Interrupt) -> Result<(), StoreError> {
        let now = Self::in_store(self.store.clone(), &self.location, interrupt)?;
        if now.version() == self.version() { Ok(()) } else { Err(self.changed(now.size)) }
    }

    fn changed(&self, size: u64) -> StoreError {
        let sizes = if size == self.size { String::new() } else { format!(": it had {}, now {size}", plural(self.size, "byte")) };
        let text = format!("the file was replaced while it was read{sizes}");
        StoreError::new(StoreErrorKind::Changed, self.location.to_string(), text)
    }

    fn error(&self, error: &object_store::Error) -> StoreError {
        self.store.error(error, &self.location)
    }
}

/// Asks for a range of a file of any version.
async fn ranged(store: &Store, path: &Path, range: Range<u64>) -> Result<GetResult, ObjectError> {
    let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
    store.client.get_opts(path, options).await
}

fn short(location: &Location, wanted: u64, position: u64) -> StoreError {
    let text = format!("the store returned fewer than {} at position {position}", plural(wanted, "byte"));
    StoreError::new(StoreErrorKind::ShortRead, location.to_string(), text)
}
