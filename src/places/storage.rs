//! The storage that questions about partitions are asked of.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::store_file::StoreFile;
use super::{local_paths, uris};
use crate::error::{Error, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::io::{self as files, FileRange, RandomFile};
use crate::log::{ReadAt, not_a_segment};
use crate::partition::storage::LogCache;
use crate::partition::{AtDamage, DirectoryEntry, Listing, Storage, Uploaded};
use crate::stores::{self, PlaceEntry, StoragePlace, StoreErrorKind, StoredFile};
use crate::tiered::{self, Keys, TieredError, TieredResult, UnwrapKey};
use crate::validate::Finding;

/// Bytes of a file next to a log that are read; no broker writes larger ones.
const MOST: u64 = 256 << 20;

/// Makes the keys of uploads of the text in their URIs.
pub type KeyRings = Arc<dyn Fn(&str) -> Arc<dyn UnwrapKey> + Send + Sync>;
/// Gets each error of tiered storage, of which an error of reading has only the text.
pub type OnTieredError = Arc<dyn Fn(&TieredError) + Send + Sync>;

/// Files of this machine, of stores, and of tiered storage.
#[derive(Clone)]
pub struct FileStorage {
    rings: KeyRings,
    on_error: OnTieredError,
    interrupt: Interrupt,
}

impl FileStorage {
    /// A storage whose encrypted uploads are decrypted by these rings.
    pub fn new(rings: KeyRings, on_error: OnTieredError, interrupt: Interrupt) -> Self {
        Self { rings, on_error, interrupt }
    }

    /// The upload at a URI of tiered storage.
    ///
    /// # Errors
    /// `Store` for a URI of objects that is invalid.
    pub fn upload(&self, uri: &Path) -> TieredResult<tiered::Uri> {
        uris::upload_at(uri, |text| self.keys(text))
    }

    fn keys(&self, text: &str) -> Keys {
        Keys::new(text, (self.rings)(text))
    }

    fn opened(&self, path: &Path) -> Result<StoreFile> {
        self.asked(path, || StoreFile::open(path, |text| self.keys(text), &self.interrupt))
    }

    /// Ask a store or tiered storage. The error names the path.
    ///
    /// # Errors
    /// Those of the question.
    pub fn asked<T>(&self, path: &Path, ask: impl FnOnce() -> TieredResult<T>) -> Result<T> {
        ask().map_err(|error| {
            (self.on_error)(&error);
            named(io::Error::from(error), path)
        })
    }

    /// A file of a listing as tiered storage takes it. Files of this machine are asked for their sizes.
    fn object(&self, file: &DirectoryEntry) -> Result<PlaceEntry> {
        let found = if file.size.is_some() { file.clone() } else { self.entry(&file.path)? };
        let DirectoryEntry { size, modified_ns, tag, .. } = found;
        Ok(PlaceEntry { name: file.name.clone(), is_directory: false, size: size.unwrap_or(0), modified_ns, tag })
    }
}

impl Storage for FileStorage {
    fn open(&self, path: &Path, at_damage: AtDamage) -> Result<(Box<dyn ReadAt>, u64)> {
        if uris::is_stored(path) {
            let log = self.opened(path)?.with_recovery(at_damage == AtDamage::GoOn);
            let len = log.len();
            return Ok((Box::new(log), len));
        }
        let file = RandomFile::open(path).map_err(|error| named(error, path))?;
        let len = file.len();
        Ok((Box::new(file), len))
    }

    /// A file of this machine may grow, and is opened for each look-up; one of a store is opened once.
    fn open_again(&self, path: &Path, at_damage: AtDamage, kept: &LogCache) -> Result<(Box<dyn ReadAt>, u64)> {
        if !uris::is_stored(path) {
            return self.open(path, at_damage);
        }
        let known = kept.get().and_then(|known| known.downcast_ref::<StoreFile>()).cloned();
        let log = match known {
            Some(log) => log,
            None => {
                let opened = self.opened(path)?;
                let _ = kept.set(Box::new(opened.clone()));
                opened
            }
        };
        let len = log.len();
        Ok((Box::new(log.with_recovery(at_damage == AtDamage::GoOn)), len))
    }

    fn source(&self, path: &Path, start: u64, end: Option<u64>, at_damage: AtDamage) -> Result<Source> {
        if uris::is_stored(path) {
            return Ok(self.opened(path)?.with_recovery(at_damage == AtDamage::GoOn).source(start, end));
        }
        let file = FileRange::open(path, start, end).map_err(|error| named(error, path))?;
        Ok(Source::positioned(Box::new(file), start))
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        if !uris::is_stored(path) {
            return local_bytes(path).map_err(|error| named(error, path));
        }
        let bytes = self.asked(path, || match uris::located(path) {
            Some(location) => match StoredFile::read_small(&location?, MOST, &self.interrupt) {
                Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
                bytes => Ok(Some(bytes?)),
            },
            None => tiered::read(&self.upload(path)?, MOST, &self.interrupt),
        })?;
        Ok(bytes.map(|bytes| bytes.to_vec()))
    }

    fn tail(&self, path: &Path, most: u64) -> Result<Vec<u8>> {
        if uris::is_stored(path) || !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(self.read(path)?.unwrap_or_default());
        }
        local_tail(path, most).map_err(|error| named(error, path))
    }

    fn entry(&self, path: &Path) -> Result<DirectoryEntry> {
        if !uris::is_stored(path) {
            return local_paths::entry(path).map_err(|error| named(error, path));
        }
        let found = self.asked(path, || match uris::located(path) {
            Some(location) => Ok(StoragePlace::Stored(location?).entry(&self.interrupt)?),
            None => tiered::entry(&self.upload(path)?, &self.interrupt),
        })?;
        Ok(stored_entry(uris::normal(path), found))
    }

    fn list(&self, directory: &Path) -> Result<Listing> {
        if !uris::is_stored(directory) {
            return local_paths::listing(directory).map_err(|error| named(error, directory));
        }
        let found = self.asked(directory, || match uris::located(directory) {
            Some(location) => Ok(StoragePlace::Stored(location?).entries(&self.interrupt)?),
            None => tiered::entries(&self.upload(directory)?, &self.interrupt),
        })?;
        let entries = found.into_iter().map(|entry| stored_entry(uris::joined(directory, &entry.name), entry));
        let (directories, files) = entries.partition(|entry| entry.is_directory);
        Ok(Listing { files, directories, ..Listing::default() })
    }

    fn tree(&self, directory: &Path) -> Result<Option<Vec<(PathBuf, Listing)>>> {
        let Some(location) = uris::located(directory).filter(|_| uris::is_stored(directory)) else { return Ok(None) };
        let (root, _) = uris::names_of(directory);
        let found = self.asked(directory, || Ok(stores::tree(&location?, &self.interrupt)?))?;
        Ok(Some(by_directory(found.into_iter().map(|entry| (uris::joined(&root, &entry.key), PlaceEntry::of(&entry))))))
    }

    fn identity(&self, directory: &Path) -> Result<String> {
        if uris::is_stored(directory) {
            return Ok(directory.to_string_lossy().into_owned());
        }
        local_paths::identity(directory).map_err(|error| named(error, directory))
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
        uris::is_stored(path) || files::has_next(path, next_offset)
    }

    fn is_stored(&self, path: &Path) -> bool {
        uris::is_stored(path)
    }

    fn layout_of(&self, path: &Path) -> Option<String> {
        let uri = Some(path).filter(|path| uris::is_uploaded(path)).and_then(|path| self.upload(path).ok())?;
        uri.layouts.template().map(str::to_owned)
    }

    fn cut_of(&self, path: &Path) -> Option<i64> {
        Some(path).filter(|path| uris::is_uploaded(path)).and_then(|path| self.upload(path).ok())?.before
    }

    fn is_uploaded(&self, path: &Path) -> bool {
        uris::is_uploaded(path)
    }

    fn shown(&self, path: &Path) -> String {
        uris::redacted_uri(path)
    }

    fn ensure_segment(&self, path: &Path) -> Result<()> {
        if !uris::is_stored(path) {
            return files::ensure_segment(path);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        not_a_segment::error(&name, &[]).map_or(Ok(()), |error| Err(error.in_file(&uris::redacted_uri(path).into())))
    }

    fn uploaded_max_timestamp(&self, path: &Path) -> Result<Option<i64>> {
        self.asked(path, || tiered::max_timestamp(&self.upload(path)?, &self.interrupt))
    }

    fn uploads(&self, directory: &Path, keys_of: Option<&Path>, files: &[DirectoryEntry]) -> Result<(Vec<Uploaded>, Vec<Finding>)> {
        let uri = uris::tiered_uri(directory, keys_of);
        let listed = files.iter().map(|file| self.object(file)).collect::<Result<_>>()?;
        let (found, findings) = self.asked(directory, || tiered::segments_in(&self.upload(&uri)?, Some(listed), &self.interrupt))?;
        let uploaded = |found: tiered::UploadedSegment| {
            let path = uris::joined(&uri, &found.name);
            Uploaded { path, topic: found.topic, partition: found.partition, base_offset: found.base_offset, size: found.size }
        };
        Ok((found.into_iter().map(uploaded).collect(), findings))
    }

    fn upload_at(&self, path: &Path, keys_of: Option<&Path>) -> Result<Option<Uploaded>> {
        let uri = uris::cut_as(&uris::tiered_uri(path, keys_of), keys_of);
        let found = self.asked(path, || tiered::segment_at(&self.upload(&uri)?, &self.interrupt))?;
        Ok(found.map(|found| Uploaded {
            path: uri,
            topic: found.topic,
            partition: found.partition,
            base_offset: found.base_offset,
            size: found.size,
        }))
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

/// The same error, with the name of the file.
fn named(error: io::Error, path: &Path) -> Error {
    Error::from(error).in_file(&uris::redacted_uri(path).into())
}

/// The bytes of a file next to a log: a regular file, since to open a FIFO waits for a writer. `None` if there is none.
fn local_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(None);
    }
    match fs::File::open(path) {
        Ok(file) => {
            let mut bytes = Vec::new();
            file.take(MOST).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last bytes of a file of entries of eight bytes.
fn local_tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start.next_multiple_of(8)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The files of a store by their directories.
fn by_directory(files: impl Iterator<Item = (PathBuf, PlaceEntry)>) -> Vec<(PathBuf, Listing)> {
    let mut at: HashMap<PathBuf, usize> = HashMap::new();
    let mut tree: Vec<(PathBuf, Listing)> = Vec::new();
    for (path, entry) in files {
        let Some(above) = path.parent().map(Path::to_owned) else { continue };
        let number = *at.entry(above.clone()).or_insert(tree.len());
        if number == tree.len() {
            tree.push((above, Listing::default()));
        }
        if let Some((_, listing)) = tree.get_mut(number) {
            listing.files.push(stored_entry(path, entry));
        }
    }
    tree
}

fn stored_entry(path: PathBuf, entry: PlaceEntry) -> DirectoryEntry {
    let PlaceEntry { name, is_directory, size, modified_ns, tag } = entry;
    DirectoryEntry { path, name, is_directory, size: Some(size), modified_ns, tag }
}
