//! Paths and directories of this machine.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::partition::{DirectoryEntry, Listing};
use crate::stores;

/// The path from the root on, without `.` and `..`, as its text has them: links are not followed.
pub fn absolute(path: &Path) -> PathBuf {
    let here = if path.is_absolute() { PathBuf::new() } else { std::env::current_dir().unwrap_or_default() };
    let mut absolute = PathBuf::new();
    for component in here.components().chain(path.components()) {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                absolute.pop();
            }
            other => absolute.push(other),
        }
    }
    absolute
}

/// The path with its links followed, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    let mut existing = absolute(path);
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let mut missing: Vec<OsString> = Vec::new();
    while let Some(name) = existing.file_name().map(ToOwned::to_owned) {
        missing.push(name);
        existing.pop();
        if let Ok(real) = fs::canonicalize(&existing) {
            existing = real;
            break;
        }
    }
    existing.extend(missing.into_iter().rev());
    existing
}

/// How many parts of a path are links.
pub fn links_in(path: &Path) -> usize {
    let absolute = absolute(path);
    absolute.ancestors().filter(|part| fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_symlink())).count()
}

/// A text that all paths of a file or directory share.
///
/// # Errors
/// If there is none.
pub fn identity(path: &Path) -> io::Result<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;

        let metadata = fs::metadata(path)?;
        Ok(format!("{} {}", metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    fs::canonicalize(path).map(|path| path.to_string_lossy().into_owned())
}

/// The last part of a path.
pub fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The entry of a path.
///
/// # Errors
/// If there is nothing.
pub fn entry(path: &Path) -> io::Result<DirectoryEntry> {
    let metadata = fs::metadata(path)?;
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
    let (is_directory, size) = (metadata.is_dir(), Some(metadata.len()));
    Ok(DirectoryEntry { path: path.to_owned(), name: name_of(path), is_directory, size, modified_ns, tag: None })
}

/// The entries of a directory, by name. Only links are followed, so that files have no size: a file may grow or be removed meanwhile.
///
/// # Errors
/// If it cannot be listed.
pub fn listing(directory: &Path) -> io::Result<Listing> {
    let mut found = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    found.sort_unstable_by_key(fs::DirEntry::file_name);
    let mut listing = Listing::default();
    for local in found {
        let (path, name) = (local.path(), local.file_name().to_string_lossy().into_owned());
        let entry = DirectoryEntry { path, name, ..DirectoryEntry::default() };
        match kind_of(&local) {
            Ok(kind) if kind.is_dir() => listing.directories.push(DirectoryEntry { is_directory: true, ..entry }),
            Ok(kind) if kind.is_file() => listing.files.push(entry),
            Ok(_) => listing.special.push(entry),
            Err(error) => listing.broken.push((entry, stores::system_text(&error))),
        }
    }
    Ok(listing)
}

/// The kind of an entry, of a link that of its target. A link without a target cannot be followed.
fn kind_of(local: &fs::DirEntry) -> io::Result<fs::FileType> {
    let own = local.file_type()?;
    if own.is_symlink() { fs::metadata(local.path()).map(|metadata| metadata.file_type()) } else { Ok(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_absolute_by_its_text() {
        assert_eq!(absolute(Path::new("/a/./b/../c//d")), Path::new("/a/c/d"));
        assert_eq!(absolute(Path::new("/../a")), Path::new("/a"));
        assert_eq!(absolute(Path::new("")), std::env::current_dir().unwrap());
        assert_eq!(absolute(Path::new("x/..")), std::env::current_dir().unwrap());
    }
}
