use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::log::ReadAt;
use crate::wire::as_u64;

/// A range of bytes of a file, read front to back without moving a shared file position.
///
/// It takes a length when it is opened: what is appended later is not part of it. A file that becomes shorter is an error, unless only
/// zeros at its end went, as when a broker trims a segment that it preallocated: then the range goes on with those zeros.
#[derive(Debug)]
pub struct FileRange {
    file: File,
    at: u64,
    end: u64,
    /// Bytes of the file when it was opened.
    len: u64,
    /// From here on to `end` there were only zeros then.
    zeros_from: u64,
}

impl FileRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file.
    ///
    /// # Errors
    /// When the file cannot be opened for reading, or is a directory.
    pub fn open(path: &Path, start: u64, end: Option<u64>) -> io::Result<Self> {
        let (file, len) = open(path)?;
        // Of a device nobody knows the length, and what a system makes while it is read says that it has none.
        let known = if len > 0 && file.metadata()?.is_file() { len } else { u64::MAX };
        let end = end.unwrap_or(u64::MAX).min(known);
        let zeros_from = zeros_from(&file, start, end.min(len))?;
        Ok(Self { file, at: start, end, len, zeros_from })
    }

    /// The same bytes once more from where this one stands, of the same file even when another one has got its name.
    ///
    /// # Errors
    /// When the system gives no more handles.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, ..*self })
    }

    /// The end of what there is: the zeros that were cut off since the file was opened, or an error when more was.
    fn past_end(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.min(self.len).saturating_sub(self.at)).unwrap_or(usize::MAX);
        if left > 0 && (self.at < self.zeros_from || self.file.metadata()?.len() < self.zeros_from) {
            // A cut between two entries would look like the end of the log.
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, self.became_shorter()));
        }
        let len = left.min(buffer.len());
        buffer.iter_mut().take(len).for_each(|byte| *byte = 0);
        Ok(len)
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
        let len = match read_at(&self.file, buffer, self.at)? {
            0 if wanted > 0 => self.past_end(buffer)?,
            len => len,
        };
        self.at = self.at.saturating_add(as_u64(len));
        Ok(len)
    }
}

/// Bytes of a search for zeros at a time: few at first, since most files end in something else.
const STEPS: [u64; 2] = [32, 64 << 10];

/// Where the zeros begin that end a range of a file; `end` when it does not end in zeros.
fn zeros_from(file: &File, start: u64, end: u64) -> io::Result<u64> {
    let ([mut step, long], mut from, mut storage) = (STEPS, end, Vec::new());
    while from > start {
        step = step.min(from - start);
        storage.resize(usize::try_from(step).unwrap_or(0), 0);
        read_exact_at(file, &mut storage, from - step)?;
        // One by one only where there is something: a preallocated file may have a GiB of zeros.
        if storage.iter().fold(0, |seen, byte| seen | byte) != 0 {
            let zeros = storage.iter().rev().take_while(|byte| **byte == 0).count();
            return Ok(from - as_u64(zeros));
        }
        (from, step) = (from - step, long);
    }
    Ok(from)
}

/// Fills a buffer; with zeros behind the end of the file, which may just have been trimmed.
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let len = read_at(file, buffer, at)?;
        if len == 0 {
            buffer.fill(0);
            return Ok(());
        }
        buffer = buffer.get_mut(len..).unwrap_or_default();
        at = at.saturating_add(as_u64(len));
    }
    Ok(())
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}
