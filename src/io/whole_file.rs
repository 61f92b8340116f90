//! A file that is there whole or not at all: written beside its place under another name, and moved there at the end.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file being written. Dropped before `commit`, it leaves nothing behind, and what stood in its place stays.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    /// Where it is written; nothing once it was moved.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl WholeFile {
    /// A file that will stand at `path`, in place of what stands there.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn create(path: &Path) -> io::Result<Self> {
        let temporary = beside(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        Ok(Self { file, temporary: Some(temporary), path: path.to_owned() })
    }

    /// Puts the file in its place, with all bytes on disk.
    ///
    /// # Errors
    /// When the bytes cannot be written or the file cannot be moved; nothing is left behind then.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // Nobody is left to tell.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A name that no other file of this or another process has.
fn beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-{count}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("logsegment-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn it_is_there_whole_or_not_at_all() {
        let folder = folder("whole");
        let path = folder.join("out.log");
        fs::write(&path, b"before").unwrap();
        let mut dropped = WholeFile::create(&path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        let mut whole = WholeFile::create(&path).unwrap();
        whole.write_all(b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        whole.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
