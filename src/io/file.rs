use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Result, plural};
use crate::framing::{Positioned, Source};
use crate::limits::Limits;
use crate::log::ReadAt;
use crate::log::bounds::first_valid_entry;
use crate::wire::as_u64;

/// A range of bytes of a file, read front to back without moving a shared file position.
///
/// It takes a length when it is opened: what is appended later is not part of it, nor what is written later into the zeros at its end, as
/// a broker writes into a segment that it preallocated. A file that becomes shorter is an error, unless only those zeros went.
#[derive(Debug)]
pub struct FileRange {
    file: File,
    at: u64,
    end: u64,
    /// Bytes of the file when it was opened; 0 where nobody knew.
    len: u64,
    /// From here on to `end` there were only zeros then; they are not read again.
    zeros_from: u64,
}

impl FileRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file.
    ///
    /// # Errors
    /// When the file cannot be opened for reading, or is a directory.
    pub fn open(path: &Path, start: u64, end: Option<u64>) -> io::Result<Self> {
        let (file, len) = open(path)?;
        let end = end.unwrap_or(u64::MAX);
        if !has_length(&file, len)? {
            return Ok(Self { file, at: start, end, len: 0, zeros_from: end });
        }
        let end = end.min(len);
        let zeros_from = zeros_from(&file, start, end)?;
        Ok(Self { file, at: start, end, len, zeros_from })
    }

    /// The same bytes once more from where this one is, of the same file even when another one has got its name.
    ///
    /// # Errors
    /// When the system gives no more handles.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, ..*self })
    }

    /// A cut between two entries would look like the end of the log.
    #[cold]
    fn became_shorter(&self) -> io::Error {
        let (at, len) = (self.at, self.len);
        let at = plural(at, "byte");
        let problem = format!("the file was truncated to {at} or less while it was read; it had {len} when it was opened");
        io::Error::new(io::ErrorKind::UnexpectedEof, problem)
    }
}

/// False of a device, and of what a system makes while it is read: that says that it is empty, and gives bytes.
fn has_length(file: &File, len: u64) -> io::Result<bool> {
    let is_file = file.metadata()?.is_file();
    // A file into which somebody has just written its first bytes has a length by now.
    Ok(is_file && (len > 0 || read_at(file, &mut [0], 0)? == 0 || file.metadata()?.len() > 0))
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

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        let range = FileRange { file: self.file.try_clone()?, at: position, end: self.len, len: self.len, zeros_from: self.len };
        first_valid_entry(Source::positioned(Box::new(range), position), limits)
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
        let end = if self.at < self.zeros_from { self.zeros_from } else { self.end };
        let left = usize::try_from(end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let Some(buffer) = buffer.get_mut(..wanted) else { return Ok(0) };
        if self.at >= self.zeros_from {
            buffer.fill(0);
            self.at = self.at.saturating_add(as_u64(wanted));
            return Ok(wanted);
        }
        let len = read_at(&self.file, buffer, self.at)?;
        if len == 0 && wanted > 0 && self.at < self.len {
            return Err(self.became_shorter());
        }
        self.at = self.at.saturating_add(as_u64(len));
        Ok(len)
    }
}

impl Positioned for FileRange {
    fn read_ahead(&mut self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let at = std::mem::replace(&mut self.at, position);
        let read = self.read(buffer);
        self.at = at;
        read
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

/// Fills a buffer; with zeros after the end of the file, which may just have been trimmed.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    /// A file of this test alone; it is removed at the end.
    struct Made(PathBuf);

    impl Made {
        fn of(name: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("logsegment-{name}-{}", std::process::id()));
            fs::write(&path, bytes).unwrap();
            Self(path)
        }

        fn range(&self, end: Option<u64>) -> FileRange {
            FileRange::open(&self.0, 0, end).unwrap()
        }

        fn write(&self, bytes: &[u8], at: u64) {
            let mut file = OpenOptions::new().write(true).open(&self.0).unwrap();
            io::Seek::seek(&mut file, io::SeekFrom::Start(at)).unwrap();
            file.write_all(bytes).unwrap();
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            fs::remove_file(&self.0).unwrap();
        }
    }

    fn rest(mut range: FileRange) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        range.read_to_end(&mut bytes).map(|_| bytes)
    }

    #[test]
    fn what_is_appended_later_is_not_read_also_of_an_empty_file() {
        for before in [&b""[..], b"there"] {
            for end in [None, Some(100)] {
                let made = Made::of("appended", before);
                let (range, other) = (made.range(end), made.range(end).again().unwrap());
                made.write(b"more", as_u64(before.len()));
                assert_eq!(rest(range).unwrap(), before);
                assert_eq!(rest(other).unwrap(), before);
            }
        }
    }

    #[test]
    fn zeros_at_the_end_are_those_of_when_it_was_opened() {
        let made = Made::of("zeros", &[b"data".to_vec(), vec![0; 100]].concat());
        for change in [|made: &Made| made.write(b"more", 4), |made: &Made| made.write(&[1; 200], 50)] {
            let range = made.range(None);
            change(&made);
            assert_eq!(rest(range).unwrap(), [b"data".to_vec(), vec![0; 100]].concat());
            fs::write(&made.0, [b"data".to_vec(), vec![0; 100]].concat()).unwrap();
        }
        for (cut, is_whole) in [(100, true), (4, true), (3, false)] {
            let range = made.range(None);
            OpenOptions::new().write(true).open(&made.0).unwrap().set_len(cut).unwrap();
            assert_eq!(rest(range).is_ok(), is_whole, "{cut}");
            fs::write(&made.0, [b"data".to_vec(), vec![0; 100]].concat()).unwrap();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_system_makes_while_it_is_read_is_read_to_its_end() {
        let path = Path::new("/proc/self/status");
        assert_eq!(fs::metadata(path).unwrap().len(), 0);
        assert!(rest(FileRange::open(path, 0, None).unwrap()).unwrap().starts_with(b"Name:"));
        assert_eq!(rest(FileRange::open(path, 0, Some(5)).unwrap()).unwrap(), b"Name:");
        assert_eq!(rest(FileRange::open(Path::new("/dev/zero"), 0, Some(5)).unwrap()).unwrap(), [0; 5]);
    }
}
