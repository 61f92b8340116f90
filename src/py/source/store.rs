//! Files of a store: those of S3, GCS, Azure and HDFS, uploads of tiered storage, and buffers of this process. The exception for an error is
//! kept aside and raised again by the verb.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use pyo3::prelude::*;

use crate::error::Result;
use crate::framing::{LostRanges, Source};
use crate::limits::Limits;
use crate::log::bounds::first_valid_entry;
use crate::log::{ReadAt, RecordedHeaders, Recording};
use crate::model::UploadOffsets;
use crate::py::errors;
use crate::py::finding;
use crate::py::interrupt::Signals;
use crate::py::source::buffer::Readable;
use crate::py::source::memory;
use crate::py::source::upcoming::UpcomingRange;
use crate::py::source::uris::{is_stored, is_uploaded, joined, located, names_of, redacted_uri, upload_at};
use crate::stores::{self, FileEnds, PlaceEntry, StoragePlace, StoreError, StoreErrorKind, StoredFile};
use crate::tiered::{self, FetchedBytes, TieredFile, TieredRange};
use crate::validate::lost_ranges;
use crate::wire::as_u64;

/// A file of a store, read at any position through one window of bytes that grows while the reading goes on front to back.
pub struct StoredLog {
    opened: Arc<SharedFile>,
    /// Where the wanted bytes end.
    end: u64,
    /// The reader: whether it skips damage, and its findings.
    signals: Arc<Signals>,
    /// This reading goes on past damage, whatever the others of who asks do.
    is_recovering: bool,
}

/// The open file, shared by all readers.
struct SharedFile {
    object: Object,
    losses: Arc<LostRanges>,
    /// The offsets that the batches of an upload must have.
    upload: Option<UploadOffsets>,
    uri: PathBuf,
    window: stores::ReadWindow,
}

/// Who gives the bytes.
enum Object {
    Stored(Box<StoredFile>),
    Uploaded(Box<TieredFile>),
    Memory(Arc<Readable>),
}

impl StoredLog {
    /// Opens a file.
    ///
    /// # Errors
    /// When the store does not give it.
    pub fn open(uri: &Path, signals: &Arc<Signals>) -> io::Result<Self> {
        let (object, end, upload) = match located(uri) {
            Some(location) => {
                let file = asked(signals, || StoredFile::open(&location?, &signals.interrupt()))?;
                let size = file.size();
                (Object::Stored(Box::new(file)), size, None)
            }
            None if is_uploaded(uri) => {
                let opened = uploaded(signals, uri, || tiered::open(&upload_at(uri)?, &signals.interrupt()))?;
                return Ok(Self::of_upload(uri, opened, signals));
            }
            None => {
                let buffer = memory::buffer_at(uri).ok_or(io::ErrorKind::NotFound)?;
                let end = as_u64(buffer.len());
                (Object::Memory(buffer), end, None)
            }
        };
        Ok(Self::of(uri, object, end, upload, signals))
    }

    /// A file of which some bytes are there already.
    pub fn of_ends(uri: &Path, FileEnds { file, pieces }: FileEnds, signals: &Arc<Signals>) -> Self {
        let (end, window) = (file.size(), stores::ReadWindow::with(pieces));
        let (object, losses) = (Object::Stored(Box::new(file)), Arc::default());
        let opened = Arc::new(SharedFile { object, losses, upload: None, uri: uri.to_owned(), window });
        Self { opened, end, signals: Arc::clone(signals), is_recovering: false }
    }

    /// An upload that was opened.
    pub fn of_upload(uri: &Path, file: TieredFile, signals: &Arc<Signals>) -> Self {
        // What a broker wrote is in order all the same.
        let offsets = file.offsets.unwrap_or(UploadOffsets { start: i64::MIN, end: None });
        let size = file.size();
        Self::of(uri, Object::Uploaded(Box::new(file)), size, Some(offsets), signals)
    }

    fn of(uri: &Path, object: Object, end: u64, upload: Option<UploadOffsets>, signals: &Arc<Signals>) -> Self {
        let opened =
            Arc::new(SharedFile { object, losses: Arc::default(), upload, uri: uri.to_owned(), window: stores::ReadWindow::default() });
        Self { opened, end, signals: Arc::clone(signals), is_recovering: false }
    }

    /// The same open file for somebody else, whose question has its own signals.
    #[must_use]
    pub fn asked_by(&self, signals: &Arc<Signals>) -> Self {
        Self { opened: Arc::clone(&self.opened), end: self.end, signals: Arc::clone(signals), is_recovering: false }
    }

    /// The same with other bytes in the place of damaged ones.
    #[must_use]
    pub fn with_recovery(self) -> Self {
        Self { is_recovering: true, ..self }
    }

    fn skips_damage(&self) -> bool {
        self.is_recovering || self.signals.skips_damage()
    }

    /// Its bytes, when it was opened.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Nothing from `end` on is wanted; what is wanted is known, so that large requests are right from the start.
    fn up_to(mut self, end: u64) -> Self {
        self.end = self.end.min(end);
        self.opened.window.expect_all();
        self
    }

    /// Fails when the file is another one by now.
    fn ensure_same(&self) -> io::Result<()> {
        match &self.opened.object {
            Object::Stored(file) => asked(&self.signals, || file.ensure_same(&self.signals.interrupt())),
            Object::Uploaded(file) => uploaded(&self.signals, &self.opened.uri, || file.ensure_same(&self.signals.interrupt())),
            Object::Memory(_) => Ok(()),
        }
    }

    /// Some bytes, and whether damaged ones are among them.
    fn fetch(&self, position: u64, len: u64) -> io::Result<(Bytes, bool)> {
        let wanted = position..position.saturating_add(len);
        match &self.opened.object {
            Object::Stored(file) => {
                let bytes = asked(&self.signals, || file.read(wanted, &self.signals.interrupt()))?;
                self.signals.fetched(1, as_u64(bytes.len()));
                Ok((bytes, false))
            }
            Object::Uploaded(file) => {
                let (skips, interrupt) = (self.skips_damage(), self.signals.interrupt());
                let part = uploaded(&self.signals, &self.opened.uri, || file.read(position, len, skips, &interrupt))?;
                let is_damaged = !part.findings.is_empty();
                Ok((self.opened.counted(part, &self.signals), is_damaged))
            }
            Object::Memory(buffer) => {
                let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
                Ok((buffer.read(at(wanted.start)..at(wanted.end)), false))
            }
        }
    }
}

impl SharedFile {
    /// Counts what a part of an upload took, and keeps its findings.
    fn counted(&self, part: FetchedBytes, signals: &Signals) -> Bytes {
        signals.fetched(part.requests, part.fetched);
        for finding in part.findings.iter().filter(|finding| finding.rule() == lost_ranges::RULE) {
            self.losses.add(finding.position..finding.position.saturating_add(finding.length));
        }
        signals.note(finding::to_py(&part.findings));
        part.bytes
    }
}

impl ReadAt for StoredLog {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        self.opened.window.read(to, position, self.end, self.skips_damage(), |position, len| self.fetch(position, len))
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        let log = self.asked_by(&self.signals).with_recovery();
        let source = PyStoredRange { log, at: position, is_checked: true, ahead: FetchedAhead::None }.into_source();
        first_valid_entry(source, limits)
    }
}

/// A range of bytes of a file of a store, read front to back. At the end it asks whether the file is still the same.
pub struct PyStoredRange {
    log: StoredLog,
    at: u64,
    is_checked: bool,
    ahead: FetchedAhead,
}

/// The same bytes, fetched ahead.
enum FetchedAhead {
    None,
    /// Of a store, with the requests and bytes that were counted.
    Stored(Box<stores::StoredRange>, (u64, u64)),
    Uploaded(Box<TieredRange>),
}

impl PyStoredRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file.
    ///
    /// # Errors
    /// When the store does not give the file.
    pub fn open(uri: &Path, start: u64, end: Option<u64>, signals: &Arc<Signals>) -> io::Result<Self> {
        let interrupt = signals.interrupt();
        let (log, ahead) = match signals.upcoming().take(uri, (start, end)) {
            Some(UpcomingRange::Stored(range)) => {
                let range = asked(signals, || range.answer(&redacted_uri(uri), &interrupt))?.with_interrupt(interrupt);
                let file = range.file().clone();
                let log = StoredLog::of(uri, Object::Stored(Box::new(file.clone())), file.size(), None, signals);
                (log, FetchedAhead::Stored(Box::new(range), (0, 0)))
            }
            Some(UpcomingRange::Uploaded(range)) => match released(|| range.answer("", &interrupt)) {
                Ok(Ok(range)) => {
                    let log = StoredLog::of_upload(uri, range.file().clone(), signals);
                    (log, FetchedAhead::Uploaded(Box::new(range.with_interrupt(interrupt))))
                }
                Err(error) if error.kind == StoreErrorKind::Interrupted => return Err(error.into()),
                // The error is that of the question, or of a key that only this thread has.
                _ => Self::open_now(uri, (start, end), signals)?,
            },
            None => Self::open_now(uri, (start, end), signals)?,
        };
        let log = if let Some(end) = end { log.up_to(end) } else { log };
        Ok(Self { log, at: start, is_checked: false, ahead })
    }

    fn open_now(uri: &Path, (start, end): (u64, Option<u64>), signals: &Arc<Signals>) -> io::Result<(StoredLog, FetchedAhead)> {
        let (log, interrupt) = (StoredLog::open(uri, signals)?, signals.interrupt());
        let ahead = match &log.opened.object {
            Object::Stored(file) => {
                FetchedAhead::Stored(Box::new(stores::StoredRange::new(StoredFile::clone(file), start, end, interrupt)), (0, 0))
            }
            Object::Uploaded(file) => FetchedAhead::Uploaded(Box::new(TieredRange::new(TieredFile::clone(file), start, end, interrupt))),
            Object::Memory(_) => FetchedAhead::None,
        };
        Ok((log, ahead))
    }

    /// The range as a source.
    pub fn into_source(self) -> Source {
        let (start, losses, upload) = (self.at, Arc::clone(&self.log.opened.losses), self.log.opened.upload);
        Source::reader(Box::new(self), start).with_lost_ranges(losses).of_upload(upload)
    }

    /// The range as a source whose headers are kept, with what keeps them; at most `left` bytes.
    pub fn into_recorded(self, left: &Arc<AtomicUsize>) -> (Source, Arc<RecordedHeaders>) {
        let (start, losses, upload) = (self.at, Arc::clone(&self.log.opened.losses), self.log.opened.upload);
        let headers = Arc::new(RecordedHeaders::new(self.log.len(), left));
        let reader = Recording::new(self, Arc::clone(&headers));
        (Source::reader(Box::new(reader), start).with_lost_ranges(losses).of_upload(upload), headers)
    }

    /// The same with other bytes in the place of damaged ones, whether or not who asks goes on past damage.
    #[must_use]
    pub fn with_recovery(self) -> Self {
        Self { log: self.log.with_recovery(), ..self }
    }
}

impl Read for PyStoredRange {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let skips_damage = self.log.skips_damage();
        match &mut self.ahead {
            FetchedAhead::None => {}
            FetchedAhead::Stored(range, counted) => {
                let read = released(|| range.read(to));
                let (requests, bytes) = range.fetched();
                self.log.signals.fetched(requests.saturating_sub(counted.0), bytes.saturating_sub(counted.1));
                *counted = (requests, bytes);
                return read.map_err(|error| raised_later(&self.log.signals, error));
            }
            FetchedAhead::Uploaded(range) => {
                let (len, part) = uploaded(&self.log.signals, &self.log.opened.uri, || range.read_part(to, skips_damage))?;
                self.log.opened.counted(part, &self.log.signals);
                return Ok(len);
            }
        }
        let len = self.log.read_at(to, self.at)?;
        self.at = self.at.saturating_add(as_u64(len));
        if len == 0 && !to.is_empty() && !self.is_checked {
            self.is_checked = true;
            self.log.ensure_same()?;
        }
        Ok(len)
    }
}

/// The bytes of a small file, up to `most` of them; `None` when there is none.
///
/// # Errors
/// When the store does not answer.
pub fn read(uri: &Path, most: u64, signals: &Arc<Signals>) -> io::Result<Option<Vec<u8>>> {
    if let Some(location) = located(uri) {
        let bytes = asked(signals, || match StoredFile::read_small(&location?, most, &signals.interrupt()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        });
        return bytes.map(|bytes| bytes.map(|bytes| bytes.to_vec()));
    }
    if is_uploaded(uri) {
        let bytes = uploaded(signals, uri, || tiered::read(&upload_at(uri)?, most, &signals.interrupt()))?;
        return Ok(bytes.map(|bytes| bytes.to_vec()));
    }
    Ok(memory::buffer_at(uri).map(|buffer| buffer.read(0..usize::MAX).to_vec()))
}

/// The content of a directory, by name.
///
/// # Errors
/// When it cannot be listed.
pub fn entries(uri: &Path, signals: &Arc<Signals>) -> io::Result<Vec<PlaceEntry>> {
    if let Some(location) = located(uri) {
        return asked(signals, || StoragePlace::Stored(location?).entries(&signals.interrupt()));
    }
    if is_uploaded(uri) {
        return uploaded(signals, uri, || tiered::entries(&upload_at(uri)?, &signals.interrupt()));
    }
    Ok(vec![PlaceEntry::of_bytes("buffer".to_owned(), StoredLog::open(uri, signals)?.len())])
}

/// The entry of a file or directory.
///
/// # Errors
/// `NotFound` if there is neither.
pub fn entry(uri: &Path, signals: &Arc<Signals>) -> io::Result<PlaceEntry> {
    if let Some(location) = located(uri) {
        return asked(signals, || StoragePlace::Stored(location?).entry(&signals.interrupt()));
    }
    if is_uploaded(uri) {
        return uploaded(signals, uri, || tiered::entry(&upload_at(uri)?, &signals.interrupt()));
    }
    Ok(PlaceEntry::of_bytes("buffer".to_owned(), StoredLog::open(uri, signals)?.len()))
}

/// All files below a directory of a store, with their URIs, from one request; `None` where each directory is listed on its own.
pub fn tree(uri: &Path, signals: &Arc<Signals>) -> Option<io::Result<Vec<(PathBuf, PlaceEntry)>>> {
    let location = located(uri).filter(|_| is_stored(uri))?;
    let (root, _) = names_of(uri);
    let found = asked(signals, || stores::tree(&location?, &signals.interrupt()));
    let placed = |entry: stores::StoreEntry| (joined(&root, &entry.key), PlaceEntry::of(&entry));
    Some(found.map(|found| found.into_iter().map(placed).collect()))
}

/// Asks tiered storage without the interpreter; the exception for an error is kept for the verb.
pub fn uploaded<T: Send>(signals: &Signals, uri: &Path, ask: impl FnOnce() -> tiered::TieredResult<T> + Send) -> io::Result<T> {
    released(ask).map_err(|error| {
        if !error.is_interrupted() {
            signals.keep(Python::attach(|py| {
                let raised = errors::tiered_error(py, &error);
                errors::set_path(py, &raised, &redacted_uri(uri));
                raised
            }));
        }
        error.into()
    })
}

/// Asks a store without the interpreter; the exception for an error is kept for the verb.
pub(super) fn asked<T: Send>(signals: &Signals, ask: impl FnOnce() -> stores::StoreResult<T> + Send) -> io::Result<T> {
    released(ask).map_err(|error| raised_later(signals, error.into()))
}

/// Runs without the interpreter: other threads go on, and an answer may take long.
pub(super) fn released<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(run))
}

/// Keeps the exception for an error of a store.
fn raised_later(signals: &Signals, error: io::Error) -> io::Error {
    let Some(found) = error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>()) else { return error };
    if found.kind != StoreErrorKind::Interrupted {
        signals.keep(Python::attach(|py| errors::store_error(py, found)));
    }
    error
}
