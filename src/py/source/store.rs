//! Files of a store. S3, GCS, Azure and HDFS are read by `crate::stores`; uploads in tiered storage and buffers of this process by the Python
//! modules that implement them. The exception for an error is kept aside and raised again by the verb.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error::{Error, ErrorKind, Result};
use crate::framing::{LostRanges, Source};
use crate::limits::Limits;
use crate::log::ReadAt;
use crate::log::bounds::first_valid_entry;
use crate::model::UploadOffsets;
use crate::py::errors::{self, RecordBatchError};
use crate::py::finding::Finding;
use crate::py::interrupt::Signals;
use crate::py::lost_ranges;
use crate::stores::{self, Location, StorageOptions, StoreError, StoreErrorKind, StoredFile};
use crate::wire::as_u64;

/// A file of a store, read at any position through one window of bytes that grows while the reading goes on front to back.
pub struct StoredLog {
    opened: Arc<Opened>,
    /// Where the wanted bytes end.
    end: u64,
    /// The reader: whether it skips damage, and its findings.
    signals: Arc<Signals>,
    /// This reading goes on past damage, whatever the others of who asks do.
    is_recovering: bool,
}

/// The open file, shared by all readers.
struct Opened {
    object: Object,
    losses: Arc<LostRanges>,
    /// The offsets that the batches of an upload must have.
    upload: Option<UploadOffsets>,
    uri: PathBuf,
    window: Mutex<Window>,
}

/// Who gives the bytes.
enum Object {
    Stored(Box<StoredFile>),
    Python(Py<PyAny>),
}

struct Window {
    position: u64,
    bytes: Bytes,
    /// Size of the next request.
    size: u64,
    /// Some of the bytes stand for damaged ones, for those who read on past them.
    is_damaged: bool,
}

/// Smallest request: a look-up goes by the header of a batch and a few that follow it.
const LEAST: u64 = 64 << 10;
/// Largest request: above this size, the latency of a request no longer matters.
const MOST: u64 = 8 << 20;

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
            None => kept(signals, uri, |py| {
                let object = module(py)?.call_method1(intern!(py, "open_file"), (text(uri),))?;
                let end = object.getattr(intern!(py, "size"))?.extract()?;
                let upload = offsets_of(&object, uri)?;
                Ok((Object::Python(object.unbind()), end, upload))
            })?,
        };
        let window = Mutex::new(Window { position: 0, bytes: Bytes::new(), size: LEAST / 2, is_damaged: false });
        let opened = Arc::new(Opened { object, losses: Arc::default(), upload, uri: uri.to_owned(), window });
        Ok(Self { opened, end, signals: Arc::clone(signals), is_recovering: false })
    }

    /// The same open file for somebody else, whose question has its own signals.
    #[must_use]
    pub fn asked_by(&self, signals: &Arc<Signals>) -> Self {
        Self { opened: Arc::clone(&self.opened), end: self.end, signals: Arc::clone(signals), is_recovering: false }
    }

    /// The same with other bytes in the place of damaged ones.
    #[must_use]
    fn with_recovery(self) -> Self {
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
        self.opened.window().size = MOST;
        self
    }

    /// Fails when the file is another one by now.
    fn ensure_same(&self) -> io::Result<()> {
        match &self.opened.object {
            Object::Stored(file) => asked(&self.signals, || file.ensure_same(&self.signals.interrupt())),
            Object::Python(object) => {
                kept(&self.signals, &self.opened.uri, |py| object.call_method0(py, intern!(py, "ensure_same")).map(drop))
            }
        }
    }

    /// Some bytes, and whether damaged ones are among them.
    fn fetch(&self, position: u64, len: u64) -> io::Result<(Bytes, bool)> {
        let object = match &self.opened.object {
            Object::Stored(file) => {
                let wanted = position..position.saturating_add(len);
                let bytes = asked(&self.signals, || file.read(wanted, &self.signals.interrupt()))?;
                self.signals.fetched(1, as_u64(bytes.len()));
                return Ok((bytes, false));
            }
            Object::Python(object) => object,
        };
        kept(&self.signals, &self.opened.uri, |py| {
            let read = if self.skips_damage() { intern!(py, "read_past_damage") } else { intern!(py, "read_at") };
            let bytes = object.call_method1(py, read, (position, len));
            let taken = object.bind(py).call_method0(intern!(py, "taken"))?;
            let (requests, fetched, findings): (u64, u64, Vec<PyRef<'_, Finding>>) = taken.extract()?;
            self.signals.fetched(requests, fetched);
            findings
                .iter()
                .filter(|finding| finding.rule() == lost_ranges::RULE)
                .for_each(|finding| self.opened.losses.add(finding.bytes()));
            self.signals.note(findings.iter().map(|finding| Finding::clone(finding)).collect());
            Ok((Bytes::from_owner(bytes?.extract::<PyBackedBytes>(py)?), !findings.is_empty()))
        })
    }
}

impl ReadAt for StoredLog {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        if position >= self.end || to.is_empty() {
            return Ok(0);
        }
        let mut window = self.opened.window();
        if window.from(position).is_empty() || (window.is_damaged && !self.skips_damage()) {
            let size = window.next_size(position).max(as_u64(to.len()).min(MOST));
            let stop = aligned(position, size).min(self.end);
            let (bytes, is_damaged) = self.fetch(position, stop.saturating_sub(position))?;
            *window = Window { position, bytes, size, is_damaged };
        }
        let given = window.from(position);
        let len = given.len().min(to.len());
        if let (Some(to), Some(given)) = (to.get_mut(..len), given.get(..len)) {
            to.copy_from_slice(given);
        }
        Ok(len)
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        let log = self.asked_by(&self.signals).with_recovery();
        let source = StoredRange { log, at: position, is_checked: true, ahead: None }.into_source();
        first_valid_entry(source, limits)
    }
}

impl Opened {
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    /// Returns the fetched bytes from a position on.
    fn from(&self, position: u64) -> &[u8] {
        let Some(at) = position.checked_sub(self.position).and_then(|at| usize::try_from(at).ok()) else { return &[] };
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Returns the size of the next request: after the window twice the last size, elsewhere the smallest.
    fn next_size(&self, position: u64) -> u64 {
        let end = self.position.saturating_add(as_u64(self.bytes.len()));
        let is_near = self.bytes.is_empty() || (position >= end && position - end <= self.size);
        if is_near { self.size.saturating_mul(2).clamp(LEAST, MOST) } else { LEAST }
    }
}

/// The end of a request of about `size` bytes, where requests of that size would meet.
fn aligned(position: u64, size: u64) -> u64 {
    let half = size / 2;
    position.saturating_add(half).div_euclid(size).saturating_add(1).saturating_mul(size).max(position.saturating_add(half))
}

/// A range of bytes of a file of a store, read front to back. At the end it asks whether the file is still the same.
pub struct StoredRange {
    log: StoredLog,
    at: u64,
    is_checked: bool,
    /// The same bytes of a store, fetched ahead, and the requests and bytes that were counted.
    ahead: Option<(stores::StoredRange, (u64, u64))>,
}

impl StoredRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file.
    ///
    /// # Errors
    /// When the store does not give the file.
    pub fn open(uri: &Path, start: u64, end: Option<u64>, signals: &Arc<Signals>) -> io::Result<Self> {
        let log = StoredLog::open(uri, signals)?;
        let ahead = match &log.opened.object {
            Object::Stored(file) => Some((stores::StoredRange::new(StoredFile::clone(file), start, end, signals.interrupt()), (0, 0))),
            Object::Python(_) => None,
        };
        let log = if let Some(end) = end { log.up_to(end) } else { log };
        Ok(Self { log, at: start, is_checked: false, ahead })
    }

    /// The range as a source; only the thread that asks for records may call Python code.
    pub fn into_source(self) -> Source {
        let (start, losses, upload) = (self.at, Arc::clone(&self.log.opened.losses), self.log.opened.upload);
        let calls_python = self.ahead.is_none();
        let source = Source::reader(Box::new(self), start).with_lost_ranges(losses).of_upload(upload);
        if calls_python { source.read_by_caller() } else { source }
    }

    /// The same with other bytes in the place of damaged ones, whether or not who asks goes on past damage.
    #[must_use]
    pub fn with_recovery(self) -> Self {
        Self { log: self.log.with_recovery(), ..self }
    }
}

impl Read for StoredRange {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Some((range, counted)) = &mut self.ahead {
            let read = released(|| range.read(to));
            let (requests, bytes) = range.fetched();
            self.log.signals.fetched(requests.saturating_sub(counted.0), bytes.saturating_sub(counted.1));
            *counted = (requests, bytes);
            return read.map_err(|error| raised_later(&self.log.signals, error));
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

/// True for a URI of a store. The Python layer brings all other URIs into this form or to a path of this machine.
pub fn is_stored(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// True for a URI of tiered storage, to which nothing is uploaded before it is closed.
pub fn is_uploaded(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("tiered+"))
}

/// The offsets of an upload, which the file has as `offsets`. What a broker wrote is in order all the same.
fn offsets_of(object: &Bound<'_, PyAny>, uri: &Path) -> PyResult<Option<UploadOffsets>> {
    if !is_uploaded(uri) {
        return Ok(None);
    }
    let known = object.getattr_opt(intern!(object.py(), "offsets"))?;
    let (start, end) = known.map_or(Ok((i64::MIN, None)), |offsets| offsets.extract())?;
    Ok(Some(UploadOffsets { start, end }))
}

/// A path or URI in the form that is used inside.
///
/// # Errors
/// ValueError for a `file:` URI of another machine.
pub fn placed(py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
    if !path.to_str().is_some_and(|text| text.contains(":/")) {
        return Ok(path);
    }
    module(py)?.call_method1(intern!(py, "placed"), (text(&path),))?.extract()
}

/// The same with options of its store.
///
/// # Errors
/// When the path or the options are invalid.
pub fn reached(py: Python<'_>, path: &Path, options: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let path = py.import("logsegment._storage")?.call_method1("reached", (text(path), options))?;
    placed(py, path.extract()?)
}

/// A path or URI for a Python user, as an object that shows no secret: a `pathlib.Path` or a `StoreUri`.
pub fn to_py<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    if is_stored(path) { module(py)?.call_method1(intern!(py, "StoreUri"), (text(path),)) } else { Ok(path.into_pyobject(py)?.into_any()) }
}

/// A path or URI as people may see it.
pub fn shown(path: &Path) -> String {
    if !is_stored(path) {
        return escaped(path);
    }
    let text = path.to_string_lossy();
    let shown = Python::attach(|py| module(py)?.call_method1(intern!(py, "shown"), (&*text,))?.extract::<String>());
    shown.unwrap_or_else(|_| "a file of a store".to_owned())
}

/// A path as text; a byte that is not UTF-8 is `\xNN`, as in Python's `shown`.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The bytes of a small file, up to `most` of them; `None` when there is none.
///
/// # Errors
/// When the store does not answer.
pub fn read(uri: &Path, most: u64, signals: &Arc<Signals>) -> io::Result<Option<Vec<u8>>> {
    if let Some(location) = located(uri) {
        let bytes = asked(signals, || {
            let interrupt = signals.interrupt();
            match StoredFile::open(&location?, &interrupt) {
                Ok(file) => file.read(0..most, &interrupt).map(Some),
                Err(error) if error.kind == StoreErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        });
        return bytes.map(|bytes| bytes.map(|bytes| bytes.to_vec()));
    }
    kept(signals, uri, |py| {
        let bytes: Option<PyBackedBytes> = module(py)?.call_method1(intern!(py, "read_file"), (text(uri), most))?.extract()?;
        Ok(bytes.map(|bytes| bytes.to_vec()))
    })
}

/// Names of what lies in a directory, in order.
///
/// # Errors
/// When it cannot be listed.
pub fn names(uri: &Path, signals: &Arc<Signals>) -> io::Result<Vec<String>> {
    if let Some(location) = located(uri) {
        let found = asked(signals, || stores::entries(&location?, &signals.interrupt()))?;
        return Ok(found.iter().map(|entry| entry.name().to_owned()).collect());
    }
    kept(signals, uri, |py| module(py)?.call_method1("names_in", (text(uri),))?.extract())
}

/// The location of a file that `crate::stores` reads; `None` for those that Python implements.
pub fn located(uri: &Path) -> Option<stores::Result<Location>> {
    let uri = uri.to_str().filter(|uri| !uri.starts_with("tiered+") && !uri.starts_with("memory:"))?;
    Some(Location::parse(uri, &StorageOptions::new()))
}

/// Asks a store without the interpreter; the exception for an error is kept for the verb.
fn asked<T: Send>(signals: &Signals, ask: impl FnOnce() -> stores::Result<T> + Send) -> io::Result<T> {
    released(ask).map_err(|error| raised_later(signals, error.into()))
}

/// Runs without the interpreter: other threads go on, and an answer may take long.
fn released<T: Send>(run: impl FnOnce() -> T + Send) -> T {
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

/// The same error for native code, with the exception kept for the verb.
fn kept<T>(signals: &Signals, uri: &Path, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
    Python::attach(|py| {
        call(py).map_err(|error| {
            errors::set_path(py, &error, &shown(uri));
            let as_io_error = as_io_error(&error, py);
            signals.keep(error);
            as_io_error
        })
    })
}

/// Converts an exception of Python code, with the lost bytes if it has them.
fn as_io_error(error: &PyErr, py: Python<'_>) -> io::Error {
    let value = error.value(py);
    let number = |name: &str| value.getattr(name).and_then(|number| number.extract::<u64>()).ok();
    let place = if error.is_instance_of::<RecordBatchError>(py) { number("position").zip(number("length")) } else { None };
    let message = value.to_string();
    match place {
        Some((start, len)) => io::Error::other(Error::from(ErrorKind::LostBytes { bytes: start..start.saturating_add(len), message })),
        None => io::Error::other(message),
    }
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("logsegment.stores")
}

fn text(uri: &Path) -> std::borrow::Cow<'_, str> {
    uri.to_string_lossy()
}
