use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::log::ReadAt;
use crate::wire::as_u64;

/// A range of bytes of a file, read front to back without moving a shared file position.
#[derive(Debug)]
pub struct FileRange {
    file: File,
    at: u64,
    end: u64,
    /// Bytes of the file when it was opened.
    len: u64,
}

impl FileRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file.
    ///
    /// # Errors
    /// When the file cannot be opened for reading, or is a directory.
    pub fn open(path: &Path, start: u64, end: Option<u64>) -> io::Result<Self> {
        let (file, len) = open(path)?;
        Ok(Self { file, at: start, end: end.unwrap_or(u64::MAX), len })
    }

    #[cold]
    fn became_shorter(&self) -> String {
        format!("the file was cut to {} bytes or less while it was read; it had {} when it was opened", self.at, self.len)
    }
}

/// A file that is read at any position. It takes a length when it is opened; what is appended later is not part of it.
#[derive(Debug)]
pub struct RandomFile {
    file: File,
    len: u64,
}

impl RandomFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// When the file cannot be opened for reading, or is a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (file, len) = open(path)?;
        Ok(Self { file, len })
    }

    /// Its bytes, when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True when it had none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl ReadAt for RandomFile {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        read_at(&self.file, to, position)
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        // Unix opens a directory and fails at the first read; say it as `open` in Python does.
        return Err(io::Error::from_raw_os_error(EISDIR));
    }
    Ok((file, metadata.len()))
}

/// "Is a directory", the same number on every system that this runs on.
const EISDIR: i32 = 21;

impl Read for FileRange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let Some(buffer) = buffer.get_mut(..wanted) else { return Ok(0) };
        let len = read_at(&self.file, buffer, self.at)?;
        if len == 0 && wanted > 0 && self.at < self.len {
            // A cut between two entries would look like the end of the log.
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, self.became_shorter()));
        }
        self.at = self.at.saturating_add(as_u64(len));
        Ok(len)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}
