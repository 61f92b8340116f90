//! Segments and the files next to them, on this machine or in a store, as the core wants them.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::framing::Source;
use crate::io::{self as files, FileRange, RandomFile};
use crate::limits::Limits;
use crate::log::partition::{Directory, SidecarNames, snapshot_before};
use crate::log::{EntrySource, ReadAt, RecordedHeaders, committed, not_a_segment};
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::source::store;
use crate::py::source::uris;
use crate::sidecar::ProducerEntry;

/// A segment by its path or URI.
pub struct SegmentAtPath {
    path: PathBuf,
    base_offset: i64,
    signals: Arc<Signals>,
    /// Its headers, if it is in a store and was read already.
    recorded: Option<Arc<RecordedHeaders>>,
}

impl SegmentAtPath {
    /// A segment, and the names of the files next to it.
    pub fn named((path, base_offset): (PathBuf, i64), signals: &Arc<Signals>) -> (SidecarNames, Self) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (SidecarNames::of_log(&name), Self { path, base_offset, signals: Arc::clone(signals), recorded: None })
    }

    /// The same with the headers that were kept when it was read.
    #[must_use]
    pub fn with_headers(self, recorded: Option<Arc<RecordedHeaders>>) -> Self {
        Self { recorded, ..self }
    }
}

impl EntrySource for SegmentAtPath {
    fn source(&self, start: u64) -> Result<Source> {
        Ok(recovering(&self.path, start, None, &self.signals)?)
    }

    fn named(&self, error: Error) -> Error {
        in_file(error, &self.path)
    }
}

impl committed::SegmentSource for SegmentAtPath {
    fn base_offset(&self) -> i64 {
        self.base_offset
    }

    fn open(&self) -> Result<(Box<dyn ReadAt>, u64)> {
        let Some(recorded) = &self.recorded else { return Ok(open(&self.path, &self.signals)?) };
        let (path, signals) = (self.path.clone(), Arc::clone(&self.signals));
        let log = RecordedLog { recorded: Arc::clone(recorded), path, signals, opened: OnceLock::new() };
        Ok((Box::new(log), recorded.len()))
    }

    fn has_headers_only(&self) -> bool {
        self.recorded.is_some()
    }

    fn snapshot(&self) -> Option<Vec<ProducerEntry>> {
        let folder = SidecarFolder { path: self.path.parent()?.to_owned(), signals: Arc::clone(&self.signals) };
        snapshot_before(&folder, self.base_offset)
    }
}

/// A log whose headers were recorded. Other bytes are fetched.
struct RecordedLog {
    recorded: Arc<RecordedHeaders>,
    path: PathBuf,
    signals: Arc<Signals>,
    opened: OnceLock<Box<dyn ReadAt>>,
}

impl RecordedLog {
    fn whole(&self) -> io::Result<&dyn ReadAt> {
        if let Some(opened) = self.opened.get() {
            return Ok(&**opened);
        }
        let (opened, _) = open(&self.path, &self.signals)?;
        Ok(&**self.opened.get_or_init(|| opened))
    }
}

impl ReadAt for RecordedLog {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        match self.recorded.read_at(to, position) {
            Some(len) => Ok(len),
            None => self.whole()?.read_at(to, position),
        }
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        self.whole()?.valid_from(position, limits)
    }
}

/// A directory by its path or URI.
pub struct SidecarFolder {
    pub path: PathBuf,
    pub signals: Arc<Signals>,
}

/// Bytes of a file next to a log that are read; no broker writes larger ones, and a lookup holds all of it.
pub const MOST: u64 = 256 << 20;

impl Directory for SidecarFolder {
    fn names(&self) -> Result<Vec<String>> {
        let listed = || Ok(store::entries(&self.path, &self.signals)?.into_iter().map(|entry| entry.name).collect());
        let names = if uris::is_stored(&self.path) { listed() } else { names(&self.path) };
        names.map_err(|error| in_file(error.into(), &self.path))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        read(&path, &self.signals).map_err(|error| in_file(error.into(), &path))
    }

    fn open(&self, name: &str) -> Result<(Box<dyn ReadAt>, u64)> {
        let path = self.path.join(name);
        open(&path, &self.signals).map_err(|error| in_file(error.into(), &path))
    }

    fn is_metadata_log(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("__cluster_metadata-"))
    }

    fn path_of(&self, name: &str) -> String {
        uris::redacted_uri(&self.path.join(name))
    }
}

/// A file that is read at any position, and its bytes.
pub fn open(path: &Path, signals: &Arc<Signals>) -> io::Result<(Box<dyn ReadAt>, u64)> {
    if uris::is_stored(path) {
        let log = store::StoredLog::open(path, signals)?;
        let len = log.len();
        return Ok((Box::new(log), len));
    }
    let file = RandomFile::open(path)?;
    let len = file.len();
    Ok((Box::new(file), len))
}

/// The bytes of a file from `start` to `end` (exclusive), or to its end.
pub fn source(path: &Path, start: u64, end: Option<u64>, signals: &Arc<Signals>) -> io::Result<Source> {
    if uris::is_stored(path) {
        return Ok(store::PyStoredRange::open(path, start, end, signals)?.into_source());
    }
    Ok(Source::positioned(Box::new(FileRange::open(path, start, end)?), start))
}

/// As `source`; a store gives other bytes for those that it has lost.
pub fn recovering(path: &Path, start: u64, end: Option<u64>, signals: &Arc<Signals>) -> io::Result<Source> {
    if uris::is_stored(path) {
        return Ok(store::PyStoredRange::open(path, start, end, signals)?.with_recovery().into_source());
    }
    source(path, start, end, signals)
}

/// False if the next segment of a directory on this machine is gone. The names of a store are those of its listing.
pub fn has_next(path: &Path, next_offset: i64) -> bool {
    uris::is_stored(path) || files::has_next(path, next_offset)
}

/// Check that a file may be a log segment, by its name and, on this machine, by its first bytes.
///
/// # Errors
/// `NotASegment`, with the name of the file. What cannot be opened is for the read to report.
pub fn ensure_segment(path: &Path) -> Result<()> {
    if !uris::is_stored(path) {
        return files::ensure_segment(path);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    not_a_segment::error(&name, &[]).map_or(Ok(()), |error| Err(in_file(error, path)))
}

/// Raise `InvalidError` for a file or directory that is not a log segment, by its name and first bytes.
#[pyfunction]
pub fn ensure_log_segment(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    ensure_segment(&uris::to_internal_uri(py, &path)?).map_err(|error| errors::to_py(py, &error))
}

/// The bytes of a file, up to 256 MiB of them; `None` when there is none.
pub fn read(path: &Path, signals: &Arc<Signals>) -> io::Result<Option<Vec<u8>>> {
    if uris::is_stored(path) {
        return store::read(path, MOST, signals);
    }
    // A sidecar file is a regular file: to open a FIFO waits for a writer.
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

/// The last bytes of a file, whole entries of eight bytes; of a file in a store all of them. None of a missing file.
pub fn tail(path: &Path, most: u64, signals: &Arc<Signals>) -> io::Result<Vec<u8>> {
    if uris::is_stored(path) || !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(read(path, signals)?.unwrap_or_default());
    }
    let mut file = fs::File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start.next_multiple_of(8)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the exception of a store, or an OSError with number and file name.
pub fn raised(py: Python<'_>, error: &io::Error, path: &Path, signals: &Signals) -> PyErr {
    if error.kind() == io::ErrorKind::IsADirectory {
        return errors::to_py(py, &in_file(not_a_segment::directory_error(), path));
    }
    signals.take().unwrap_or_else(|| {
        if error.kind() == io::ErrorKind::NotFound && is_pattern(path) {
            let problem = "No such file; logsegment.Log reads the files of a pattern";
            return PyFileNotFoundError::new_err((error.raw_os_error(), problem, uris::redacted_uri(path)));
        }
        errors::io_error(py, error, path)
    })
}

fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// The same error, with the name of the file.
pub fn in_file(error: Error, path: &Path) -> Error {
    error.in_file(&uris::redacted_uri(path).into())
}

/// Most bytes of a path.
const MOST_PATH_BYTES: usize = 4096;

/// True for bytes that are the path of a segment, or of a file that exists. Entries have bytes that are not text.
pub fn is_likely(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    if !(4..=MOST_PATH_BYTES).contains(&bytes.len()) || text.chars().any(char::is_control) {
        return false;
    }
    let has_end = [".log", ".kafka", ".index", ".timeindex", ".log.swap", ".log.deleted"].iter().any(|end| text.ends_with(end));
    let has_start = ["./", "../", "~/"].iter().any(|start| text.starts_with(start)) || text.contains("://");
    has_end || has_start || std::path::Path::new(text).exists()
}
