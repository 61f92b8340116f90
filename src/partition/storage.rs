//! What a partition asks of the place where its files lie: this machine, a store, or tiered storage.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, ErrorKind, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::log::ReadAt;
use crate::log::partition::SidecarNames;
use crate::validate::Finding;

/// A file or directory of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its whole path or URI.
    pub path: PathBuf,
    /// The last part of it.
    pub name: String,
    /// A directory, or a prefix of keys.
    pub is_directory: bool,
    /// Bytes of a file, where the listing has them: a file of this machine may grow, and is asked for when it matters.
    pub size: Option<u64>,
    /// Time of the last write, ns since the epoch, where the listing has it.
    pub modified_ns: Option<i64>,
    /// The tag of its version, where the store has one.
    pub tag: Option<String>,
}

/// The entries of a directory, each kind by name. Links are followed.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Regular files.
    pub files: Vec<DirectoryEntry>,
    /// Directories.
    pub directories: Vec<DirectoryEntry>,
    /// FIFOs, sockets and devices: a read of one may wait forever.
    pub special: Vec<DirectoryEntry>,
    /// Links that cannot be followed, each with the reason.
    pub broken: Vec<(DirectoryEntry, String)>,
}

/// An upload that is read as a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// The URI under which it is read.
    pub path: PathBuf,
    /// The topic, if it is known.
    pub topic: Option<String>,
    /// The partition, if it is known.
    pub partition: Option<i32>,
    /// The first offset.
    pub base_offset: i64,
    /// Bytes, if they are known.
    pub size: Option<u64>,
}

/// Reaction to damaged bytes of a store or of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtDamage {
    /// End with its error.
    Fail,
    /// Go on with other bytes in their place: whoever reads the records reports them.
    GoOn,
}

/// Logs about which a store is asked at once.
const MOST_AHEAD: usize = 16;

/// The ends of a log that look-ups ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedEnds {
    /// The first bytes are asked for.
    pub has_front: bool,
    /// Bytes of the log, if the last ones are asked for, and the `.index`.
    pub size: Option<u64>,
}

/// A log that is asked several questions: what its storage knows of it since the first one.
pub type LogCache = OnceLock<Box<dyn Any + Send + Sync>>;

/// Files by path or URI. Who asks one question has one storage; it may also be asked from other threads.
///
/// Errors of this machine and of stores are `Io` with the kind that says more (`NotFound`, `PermissionDenied`, `NotADirectory`), and name
/// the file.
pub trait Storage: Send + Sync {
    /// A file that is read at any position, and its bytes.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self, path: &Path, at_damage: AtDamage) -> Result<(Box<dyn ReadAt>, u64)>;

    /// The same file as it was opened for an earlier question, if each time costs a request; `kept` is empty at the first one.
    ///
    /// # Errors
    /// As `open`.
    fn open_again(&self, path: &Path, at_damage: AtDamage, kept: &LogCache) -> Result<(Box<dyn ReadAt>, u64)> {
        let _ = kept;
        self.open(path, at_damage)
    }

    /// Begin to fetch what look-ups in a log ask for. An error is that of the question that follows. Only a storage where each question costs a
    /// request does so.
    fn expect(&self, path: &Path, ends: WantedEnds) {
        let _ = (path, ends);
    }

    /// The bytes from `start` to `end` (exclusive), or to the end of the file, to be read front to back.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn source(&self, path: &Path, start: u64, end: Option<u64>, at_damage: AtDamage) -> Result<Source>;

    /// The bytes of a small file; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>>;

    /// About the last `most` bytes of a file of entries of eight bytes, whole ones; none of a missing file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn tail(&self, path: &Path, most: u64) -> Result<Vec<u8>>;

    /// The entry of a path, with its size.
    ///
    /// # Errors
    /// `NotFound` if there is nothing.
    fn entry(&self, path: &Path) -> Result<DirectoryEntry>;

    /// The entries of a directory.
    ///
    /// # Errors
    /// If it cannot be listed.
    fn list(&self, directory: &Path) -> Result<Listing>;

    /// The directories of a store at and below a directory that have files, each with its files, from one request. `None` where each
    /// directory is listed on its own.
    ///
    /// # Errors
    /// If the store does not answer.
    fn tree(&self, directory: &Path) -> Result<Option<Vec<(PathBuf, Listing)>>>;

    /// A text that all paths of a directory share; links are followed.
    ///
    /// # Errors
    /// If there is no such directory.
    fn identity(&self, directory: &Path) -> Result<String>;

    /// A path with its links followed, as far as it exists; of a store as it is.
    fn real_path(&self, path: &Path) -> PathBuf;

    /// How many parts of a path are links; 0 of a store.
    fn links_in(&self, path: &Path) -> usize;

    /// The path from the root on, without `.` and `..`; of a store as it is.
    fn absolute(&self, path: &Path) -> PathBuf;

    /// The path or URI of a file in a directory.
    fn joined(&self, directory: &Path, name: &str) -> PathBuf;

    /// The root of the store of a URI, and the names on the way from there.
    fn names_of(&self, uri: &Path) -> (PathBuf, Vec<String>);

    /// The path or URI of the objects of a URI of tiered storage, without keys and the end of an upload that is read in part; any other
    /// path as it is.
    fn untiered(&self, path: &Path) -> PathBuf;

    /// The URI under which an object is read as a segment of tiered storage. `keys_of` is a URI with keys.
    fn uploaded(&self, path: &Path, keys_of: Option<&Path>) -> PathBuf;

    /// True if there is something at a path, also a link that leads nowhere. Of a store the listing counts, and it is true.
    fn is_there(&self, path: &Path) -> bool;

    /// False if the next segment of a directory on this machine is gone.
    fn has_next(&self, path: &Path, next_offset: i64) -> bool;

    /// True for a URI of a store or of tiered storage, where each question costs a request.
    fn is_stored(&self, path: &Path) -> bool;

    /// The template of the layout in a URI of tiered storage, if it has one.
    fn layout_of(&self, path: &Path) -> Option<String>;

    /// The offset before which an upload is read that is not read to its end.
    fn cut_of(&self, path: &Path) -> Option<i64>;

    /// True for a URI of tiered storage.
    fn is_uploaded(&self, path: &Path) -> bool;

    /// The path or URI for people, without options and keys.
    fn shown(&self, path: &Path) -> String;

    /// Check by name, and on this machine by its first bytes, that a file may be a log segment.
    ///
    /// # Errors
    /// `NotASegment`. What cannot be opened is for the read to report.
    fn ensure_segment(&self, path: &Path) -> Result<()>;

    /// The largest timestamp (ms) of an upload by its manifest, if it has one.
    ///
    /// # Errors
    /// If the manifest cannot be read.
    fn uploaded_max_timestamp(&self, path: &Path) -> Result<Option<i64>>;

    /// The uploads of a directory that are read, and findings of those that are not read, or not to their end. `keys_of` is a URI with keys.
    ///
    /// # Errors
    /// If two uploads overlap and have different records, and those of the store.
    fn uploads(&self, directory: &Path, keys_of: Option<&Path>, files: &[DirectoryEntry]) -> Result<(Vec<Uploaded>, Vec<Finding>)>;

    /// The upload with its log at a path; `None` for any other file. `keys_of` is a URI with keys, and perhaps with the offset before which
    /// the upload is read.
    ///
    /// # Errors
    /// Those of the store.
    fn upload_at(&self, path: &Path, keys_of: Option<&Path>) -> Result<Option<Uploaded>>;

    /// Asked between batches.
    fn interrupt(&self) -> Interrupt;
}

/// The items that are to be requested when the work comes to the item at `number`, so that `MOST_AHEAD` of them are in flight.
pub(super) fn newly_near<T>(items: &[T], number: usize) -> &[T] {
    let end = number.saturating_add(MOST_AHEAD).min(items.len());
    let start = if number == 0 { 0 } else { number.saturating_add(MOST_AHEAD - 1).min(end) };
    items.get(start..end).unwrap_or_default()
}

/// The path of a file next to a log.
pub fn sidecar(log: &Path, suffix: &str) -> PathBuf {
    match log.file_name().and_then(|name| name.to_str()) {
        Some(name) => log.with_file_name(SidecarNames::of_log(name).of(suffix)),
        None => log.with_extension(suffix),
    }
}

/// True for the error of a missing file or directory, and of a file in the place of a directory.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { kind: io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, .. })
}

/// True for an error of the machine or of a store.
pub(super) fn is_io(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { .. })
}

/// The same error, with the name of the file.
pub(super) fn in_file(error: Error, path: &Path, storage: &dyn Storage) -> Error {
    error.in_file(&storage.shown(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_near_once() {
        for len in [0, 1, 15, 16, 17, 40] {
            let items: Vec<usize> = (0..len).collect();
            let mut near = Vec::new();
            for number in 0..len {
                near.extend_from_slice(newly_near(&items, number));
                assert_eq!(near.len(), (number + MOST_AHEAD).min(len));
            }
            assert_eq!(near, items);
        }
    }
}
