//! A file or directory of this machine or of a store: the same questions for both.

use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use super::entries::{entries, entry_of, tree};
use super::entry::StoreEntry;
use super::error::{StoreError, StoreErrorKind};
use super::escapes::escaped;
use super::file::StoredFile;
use super::location::Location;
use crate::error::plural;
use crate::interrupt::Interrupt;
use crate::io::RandomFile;
use crate::log::ReadAt;

/// A path of this machine, or a location of a store.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoragePlace {
    /// Of this machine.
    Local(PathBuf),
    /// Of a store.
    Stored(Location),
}

/// A file or directory in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceEntry {
    /// The last part of its path.
    pub name: String,
    /// A directory, or a prefix of keys.
    pub is_directory: bool,
    /// Bytes of a file.
    pub size: u64,
    /// Time of the last write, ns since the epoch, where it is known.
    pub modified_ns: Option<i64>,
    /// The tag of its version, where the store has one.
    pub tag: Option<String>,
}

impl StoragePlace {
    /// A file or directory in this directory.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(path.join(name)),
            Self::Stored(location) => Self::Stored(location.at(&format!("{}/{name}", location.key))),
        }
    }

    /// The directory of this file.
    #[must_use]
    pub fn parent(&self) -> Self {
        match self {
            Self::Local(path) => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                Self::Local(parent.unwrap_or_else(|| Path::new(".")).to_owned())
            }
            Self::Stored(location) => Self::Stored(location.at(location.key.rsplit_once('/').map_or("", |(above, _)| above))),
        }
    }

    /// The last part of the path.
    pub fn name(&self) -> String {
        match self {
            Self::Local(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            Self::Stored(location) => location.key.rsplit('/').next().unwrap_or_default().to_owned(),
        }
    }

    /// True for a location of a store, where an answer takes a while.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Stored(_))
    }

    /// Open a file.
    ///
    /// # Errors
    /// `NotFound`, and those of the store or of the system.
    pub fn open(&self, interrupt: &Interrupt) -> Result<PlacedFile, StoreError> {
        match self {
            Self::Local(path) => LocalFile::open(path).map(|file| PlacedFile::Local(Arc::new(file))),
            Self::Stored(location) => StoredFile::open(location, interrupt).map(|file| PlacedFile::Stored(Arc::new(file))),
        }
    }

    /// Return the bytes of a small file, at most `most` of them; `None` if there is none.
    ///
    /// # Errors
    /// Those of the store or of the system.
    pub fn read(&self, most: u64, interrupt: &Interrupt) -> Result<Option<Bytes>, StoreError> {
        let read = match self {
            Self::Local(path) => LocalFile::open(path).and_then(|file| file.read(0..most)),
            Self::Stored(location) => StoredFile::read_small(location, most, interrupt),
        };
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if matches!(error.kind, StoreErrorKind::NotFound | StoreErrorKind::System(EISDIR)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Return the bytes of a range of a file, fewer only at the end of the file. Of a store it is one request.
    ///
    /// # Errors
    /// `NotFound`, and those of the store or of the system.
    pub fn read_range(&self, range: Range<u64>, interrupt: &Interrupt) -> Result<Bytes, StoreError> {
        match self {
            Self::Local(path) => LocalFile::open(path)?.read(range),
            Self::Stored(location) => StoredFile::read_range(location, range, interrupt),
        }
    }

    /// Return the files and directories in a directory, by name. Links are followed; what is neither is left out.
    ///
    /// # Errors
    /// `NotFound`, and those of the store or of the system.
    pub fn entries(&self, interrupt: &Interrupt) -> Result<Vec<PlaceEntry>, StoreError> {
        match self {
            Self::Local(path) => Ok(local_entries(path)?.into_iter().map(|(_, entry)| entry).collect()),
            Self::Stored(location) => Ok(entries(location, interrupt)?.iter().map(PlaceEntry::of).collect()),
        }
    }

    /// Return a directory and those below it, each with its content; those of a store from one listing, without their directories.
    ///
    /// # Errors
    /// As `entries`.
    pub fn walk(&self, interrupt: &Interrupt) -> Result<Vec<(Self, Vec<PlaceEntry>)>, StoreError> {
        let mut found: Vec<(Self, Vec<PlaceEntry>)> = Vec::new();
        match self {
            Self::Local(path) => walk_local(path, &mut Vec::new(), &mut found, interrupt)?,
            Self::Stored(location) => {
                for file in tree(location, interrupt)? {
                    let directory = Self::Stored(location.at(&file.key)).parent();
                    match found.last_mut() {
                        Some((last, files)) if *last == directory => files.push(PlaceEntry::of(&file)),
                        _ => found.push((directory, vec![PlaceEntry::of(&file)])),
                    }
                }
                found.sort_by(|(left, _), (right, _)| left.cmp(right));
                found.dedup_by(|(later, files), (earlier, all)| {
                    later == earlier && {
                        all.append(files);
                        true
                    }
                });
            }
        }
        Ok(found)
    }

    /// Return the entry of a path.
    ///
    /// # Errors
    /// As `entries`.
    pub fn entry(&self, interrupt: &Interrupt) -> Result<PlaceEntry, StoreError> {
        match self {
            Self::Local(path) => {
                let found = local_entry(path).map_err(|error| system_error(&error, path))?;
                found.ok_or_else(|| StoreError::new(StoreErrorKind::NotFound, self.to_string(), "neither a file nor a directory"))
            }
            Self::Stored(location) => entry_of(location, interrupt).map(|entry| PlaceEntry::of(&entry)),
        }
    }
}

/// As people may see it: a URI without options; a byte of a path that is not UTF-8 is `\xNN`.
impl fmt::Display for StoragePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => f.write_str(&escaped(path)),
            Self::Stored(location) => write!(f, "{location}"),
        }
    }
}

/// The same, in quotes.
impl fmt::Debug for StoragePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl PlaceEntry {
    /// An entry of a store.
    pub fn of(entry: &StoreEntry) -> Self {
        let modified_ns = entry.modified_ms.map(|ms| ms.saturating_mul(1_000_000));
        let (name, tag) = (entry.name().to_owned(), entry.tag.clone());
        Self { name, is_directory: entry.is_directory, size: entry.size, modified_ns, tag }
    }

    /// A file that no file of a store is.
    pub fn of_bytes(name: String, size: u64) -> Self {
        Self { name, is_directory: false, size, modified_ns: None, tag: None }
    }

    /// The size, and a text that differs between versions of the same size: the tag, or the time of the last write.
    pub fn version(&self) -> (u64, String) {
        let time = || self.modified_ns.map(|time| time.to_string());
        (self.size, self.tag.clone().or_else(time).unwrap_or_default())
    }
}

/// What the system says of an error, without its number.
pub fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// "Is a directory", the same number on every system that this runs on.
const EISDIR: i32 = 21;

/// The error of the operating system about a path.
pub(super) fn system_error(error: &io::Error, path: &Path) -> StoreError {
    let kind = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => StoreErrorKind::NotFound,
        (_, Some(code)) => StoreErrorKind::System(code),
        _ => StoreErrorKind::Other,
    };
    let text = if kind == StoreErrorKind::NotFound { "no such file or directory".to_owned() } else { error.to_string() };
    StoreError::new(kind, escaped(path), text)
}

/// Adds a directory and those below it. A link cannot lead in a circle: `above` are the directories on the way down.
fn walk_local(
    path: &Path,
    above: &mut Vec<PathBuf>,
    found: &mut Vec<(StoragePlace, Vec<PlaceEntry>)>,
    interrupt: &Interrupt,
) -> Result<(), StoreError> {
    interrupt.ensure_wanted().map_err(|_| StoreError::new(StoreErrorKind::Interrupted, escaped(path), "interrupted"))?;
    let here = fs::canonicalize(path).map_err(|error| system_error(&error, path))?;
    if above.contains(&here) {
        return Ok(());
    }
    let (paths, entries): (Vec<PathBuf>, Vec<PlaceEntry>) = local_entries(path)?.into_iter().unzip();
    let below: Vec<PathBuf> = paths.into_iter().zip(&entries).filter(|(_, entry)| entry.is_directory).map(|(path, _)| path).collect();
    found.push((StoragePlace::Local(path.to_owned()), entries));
    above.push(here);
    for path in below {
        walk_local(&path, above, found, interrupt)?;
    }
    above.pop();
    Ok(())
}

/// The paths and entries in a directory, by name. A link without a target and a file that was removed meanwhile are no entries.
fn local_entries(path: &Path) -> Result<Vec<(PathBuf, PlaceEntry)>, StoreError> {
    let listed = fs::read_dir(path).and_then(|found| found.collect::<io::Result<Vec<_>>>());
    let listed = listed.map_err(|error| system_error(&error, path))?;
    let paths = listed.iter().map(fs::DirEntry::path);
    let mut found: Vec<_> = paths.filter_map(|path| Some((path.clone(), local_entry(&path).ok().flatten()?))).collect();
    found.sort_unstable_by(|(_, left), (_, right)| left.name.cmp(&right.name));
    Ok(found)
}

/// The entry of a file or directory; `None` for a FIFO, a socket or a device: a read may wait forever.
fn local_entry(path: &Path) -> io::Result<Option<PlaceEntry>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Ok(None);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let size = if metadata.is_file() { metadata.len() } else { 0 };
    Ok(Some(PlaceEntry { name, is_directory: metadata.is_dir(), size, modified_ns: modified_ns(&metadata), tag: None }))
}

fn modified_ns(metadata: &fs::Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// An open file of this machine.
#[derive(Debug)]
pub struct LocalFile {
    path: PathBuf,
    file: RandomFile,
    size: u64,
    modified_ns: Option<i64>,
}

impl LocalFile {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let metadata = fs::metadata(path).map_err(|error| system_error(&error, path))?;
        if !metadata.is_file() {
            return Err(system_error(&io::Error::from_raw_os_error(EISDIR), path));
        }
        let file = RandomFile::open(path).map_err(|error| system_error(&error, path))?;
        Ok(Self { path: path.to_owned(), file, size: metadata.len(), modified_ns: modified_ns(&metadata) })
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; wanted];
        let len = self.file.fill_at(&mut bytes, range.start).map_err(|error| system_error(&error, &self.path))?;
        if len < wanted {
            self.ensure_same()?;
            let text = format!("the file has fewer than {} at position {}", plural(wanted, "byte"), range.start);
            return Err(StoreError::new(StoreErrorKind::ShortRead, escaped(&self.path), text));
        }
        Ok(bytes.into())
    }

    fn ensure_same(&self) -> Result<(), StoreError> {
        let metadata = fs::metadata(&self.path).map_err(|error| system_error(&error, &self.path))?;
        if metadata.len() == self.size && modified_ns(&metadata) == self.modified_ns {
            return Ok(());
        }
        Err(StoreError::new(StoreErrorKind::Changed, escaped(&self.path), "the file was modified while it was read"))
    }
}

/// An open file of this machine or of a store, read by position.
#[derive(Clone, Debug)]
pub enum PlacedFile {
    /// Of this machine.
    Local(Arc<LocalFile>),
    /// Of a store.
    Stored(Arc<StoredFile>),
}

impl PlacedFile {
    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        match self {
            Self::Local(file) => file.size,
            Self::Stored(file) => file.size(),
        }
    }

    /// The size, and a text that differs between versions of the same size.
    pub fn version(&self) -> (u64, String) {
        match self {
            Self::Local(file) => (file.size, file.modified_ns.map(|time| time.to_string()).unwrap_or_default()),
            Self::Stored(file) => file.version(),
        }
    }

    /// Return the bytes of a range, fewer only at the end of the file.
    ///
    /// # Errors
    /// `Changed` if the file was replaced, `ShortRead`, and those of the store or of the system.
    pub fn read(&self, range: Range<u64>, interrupt: &Interrupt) -> Result<Bytes, StoreError> {
        match self {
            Self::Local(file) => file.read(range),
            Self::Stored(file) => file.read(range, interrupt),
        }
    }

    /// True if each request names the version of the file, so that no later question is needed.
    pub fn is_checked_by_requests(&self) -> bool {
        matches!(self, Self::Stored(file) if file.has_tag())
    }

    /// Check that the file is still the one that was opened.
    ///
    /// # Errors
    /// `Changed`, `NotFound`, and those of the store or of the system.
    pub fn ensure_same(&self, interrupt: &Interrupt) -> Result<(), StoreError> {
        match self {
            Self::Local(file) => file.ensure_same(),
            Self::Stored(file) => file.ensure_same(interrupt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::uri::StorageOptions;
    use super::*;

    #[test]
    fn places_of_both_kinds_are_joined_and_split() {
        let stored = StoragePlace::Stored(Location::parse("s3://bucket/logs/orders-0", &StorageOptions::new()).unwrap());
        for (place, file) in
            [(StoragePlace::Local("/logs/orders-0".into()), "/logs/orders-0/0.log"), (stored, "s3://bucket/logs/orders-0/0.log")]
        {
            let joined = place.join("0.log");
            assert_eq!((joined.to_string().as_str(), joined.name().as_str()), (file, "0.log"));
            assert_eq!(joined.parent(), place);
        }
        assert_eq!(StoragePlace::Local("0.log".into()).parent().to_string(), ".");
    }

    #[test]
    fn a_local_file_that_was_replaced_is_noticed() {
        let directory = std::env::temp_dir().join(format!("logsegment-place-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let place = StoragePlace::Local(directory.clone()).join("0.log");
        fs::write(directory.join("0.log"), b"0123456789").unwrap();
        let never = Interrupt::default();
        let file = place.open(&never).unwrap();
        assert_eq!((file.size(), file.read(2..50, &never).unwrap()), (10, Bytes::from_static(b"23456789")));
        let names: Vec<_> =
            StoragePlace::Local(directory.clone()).entries(&never).unwrap().into_iter().map(|entry| (entry.name, entry.size)).collect();
        assert_eq!(names, [("0.log".to_owned(), 10)]);
        fs::write(directory.join("0.log"), b"0123").unwrap();
        assert_eq!(file.read(2..50, &never).unwrap_err().kind, StoreErrorKind::Changed);
        assert_eq!(StoragePlace::Local(directory.clone()).open(&never).unwrap_err().kind, StoreErrorKind::System(EISDIR));
        assert_eq!(StoragePlace::Local(directory.clone()).read(9, &never), Ok(None));
        assert_eq!(place.join("missing").read(9, &never).unwrap_err().kind, StoreErrorKind::System(20));
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(place.read(9, &never), Ok(None));
    }
}
