//! A storage in memory, for tests: files, links and entries that are not files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::storage::LogCache;
use super::{AtDamage, DirectoryEntry, Listing, Storage, Uploaded};
use crate::error::{Error, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::log::ReadAt;
use crate::validate::Finding;
use crate::wire::{as_u64, checksum};

/// Files by their paths.
#[derive(Clone, Debug, Default)]
pub struct FilesInMemory {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Links to directories.
    links: BTreeMap<PathBuf, PathBuf>,
    special: BTreeSet<PathBuf>,
    broken: BTreeSet<PathBuf>,
}

impl FilesInMemory {
    /// Files with these batches: each has offsets from the first to the last one.
    pub fn of(files: &[(&str, &[(i64, i64)])]) -> Self {
        let batches = |spans: &[(i64, i64)]| spans.iter().flat_map(|(first, last)| batch(*first, *last)).collect();
        Self { files: files.iter().map(|(path, spans)| (path.into(), batches(spans))).collect(), ..Self::default() }
    }

    /// The same with a file of these bytes.
    pub fn with(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.into(), bytes.to_vec());
        self
    }

    /// The same with a link to a directory.
    pub fn linked(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.into(), target.into());
        self
    }

    /// The same with a FIFO, and with a link that leads nowhere.
    pub fn with_odd(mut self, special: &str, broken: &str) -> Self {
        self.special.insert(special.into());
        self.broken.insert(broken.into());
        self
    }

    fn real(&self, path: &Path) -> PathBuf {
        let mut real = path.to_owned();
        while let Some((link, target)) = self.links.iter().find(|(link, _)| real.starts_with(link)) {
            real = target.join(real.strip_prefix(link).unwrap());
        }
        real
    }

    fn bytes(&self, path: &Path) -> Result<&Vec<u8>> {
        self.files.get(&self.real(path)).ok_or_else(missing)
    }

    fn is_directory(&self, path: &Path) -> bool {
        let real = self.real(path);
        self.files.keys().any(|file| file != &real && file.starts_with(&real))
    }
}

/// The bytes of a log.
struct Log(Vec<u8>);

impl ReadAt for Log {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        self.0.as_slice().read_at(to, position)
    }
}

fn missing() -> Error {
    io::Error::from(io::ErrorKind::NotFound).into()
}

/// A batch of magic 2 without records, which compaction may leave.
fn batch(first: i64, last: i64) -> Vec<u8> {
    let mut batch = vec![0; 61];
    batch[..8].copy_from_slice(&first.to_be_bytes());
    batch[11] = 49;
    batch[16] = 2;
    batch[23..27].copy_from_slice(&i32::try_from(last - first).unwrap().to_be_bytes());
    let crc = checksum::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}

impl Storage for FilesInMemory {
    fn open(&self, path: &Path, _: AtDamage) -> Result<(Box<dyn ReadAt>, u64)> {
        let bytes = self.bytes(path)?.clone();
        let len = as_u64(bytes.len());
        Ok((Box::new(Log(bytes)), len))
    }

    fn open_again(&self, path: &Path, at_damage: AtDamage, _: &LogCache) -> Result<(Box<dyn ReadAt>, u64)> {
        self.open(path, at_damage)
    }

    fn source(&self, path: &Path, start: u64, end: Option<u64>, _: AtDamage) -> Result<Source> {
        let bytes = self.bytes(path)?;
        let place = |at: u64| usize::try_from(at).unwrap().min(bytes.len());
        assert_eq!(start, 0, "tests read from the beginning");
        Ok(Source::memory(Bytes::from(bytes[..place(end.unwrap_or(u64::MAX))].to_vec())))
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        Ok(self.bytes(path).ok().cloned())
    }

    fn tail(&self, path: &Path, _: u64) -> Result<Vec<u8>> {
        Ok(self.read(path)?.unwrap_or_default())
    }

    fn entry(&self, path: &Path) -> Result<DirectoryEntry> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let entry = DirectoryEntry { path: path.to_owned(), name, ..DirectoryEntry::default() };
        if self.is_directory(path) {
            return Ok(DirectoryEntry { is_directory: true, ..entry });
        }
        Ok(DirectoryEntry { size: Some(as_u64(self.bytes(path)?.len())), ..entry })
    }

    fn list(&self, directory: &Path) -> Result<Listing> {
        let real = self.real(directory);
        let all = self.files.keys().chain(self.links.keys()).chain(&self.special).chain(&self.broken);
        let names: BTreeSet<_> =
            all.filter_map(|path| path.strip_prefix(&real).ok()?.components().next().map(|name| name.as_os_str().to_owned())).collect();
        let mut listing = Listing::default();
        for name in names {
            let path = directory.join(&name);
            let entry = DirectoryEntry { path: path.clone(), name: name.to_string_lossy().into_owned(), ..DirectoryEntry::default() };
            match self.entry(&path) {
                _ if self.special.contains(&real.join(&name)) => listing.special.push(entry),
                _ if self.broken.contains(&real.join(&name)) => listing.broken.push((entry, "No such file or directory".to_owned())),
                Ok(found) if found.is_directory => listing.directories.push(DirectoryEntry { is_directory: true, ..entry }),
                _ => listing.files.push(entry),
            }
        }
        if listing.files.is_empty() && listing.directories.is_empty() { Err(missing()) } else { Ok(listing) }
    }

    fn tree(&self, _: &Path) -> Result<Option<Vec<(PathBuf, Listing)>>> {
        Ok(None)
    }

    fn identity(&self, directory: &Path) -> Result<String> {
        Ok(self.real(directory).to_string_lossy().into_owned())
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        self.real(path)
    }

    fn links_in(&self, path: &Path) -> usize {
        path.ancestors().filter(|part| self.links.contains_key(*part)).count()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn joined(&self, directory: &Path, name: &str) -> PathBuf {
        directory.join(name)
    }

    fn names_of(&self, uri: &Path) -> (PathBuf, Vec<String>) {
        (uri.to_owned(), Vec::new())
    }

    fn untiered(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn uploaded(&self, path: &Path, _: Option<&Path>) -> PathBuf {
        path.to_owned()
    }

    fn is_there(&self, path: &Path) -> bool {
        self.entry(path).is_ok()
    }

    fn has_next(&self, _: &Path, _: i64) -> bool {
        true
    }

    fn is_stored(&self, _: &Path) -> bool {
        false
    }

    fn layout_of(&self, _: &Path) -> Option<String> {
        None
    }

    fn cut_of(&self, _: &Path) -> Option<i64> {
        None
    }

    fn is_uploaded(&self, _: &Path) -> bool {
        false
    }

    fn shown(&self, path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }

    fn ensure_segment(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn uploaded_max_timestamp(&self, _: &Path) -> Result<Option<i64>> {
        Ok(None)
    }

    fn uploads(&self, _: &Path, _: Option<&Path>, _: &[DirectoryEntry]) -> Result<(Vec<Uploaded>, Vec<Finding>)> {
        Ok((Vec::new(), Vec::new()))
    }

    fn upload_at(&self, _: &Path, _: Option<&Path>) -> Result<Option<Uploaded>> {
        Ok(None)
    }

    fn interrupt(&self) -> Interrupt {
        Interrupt::default()
    }
}
