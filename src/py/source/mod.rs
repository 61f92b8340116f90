//! What a verb reads from: a buffer, a range of a file, or a binary file object.

pub mod buffer;
pub mod file_object;
pub mod keys;
pub mod local_paths;
pub mod lookups_ahead;
pub mod memory;
pub mod paths;
pub mod recorded;
pub mod sidecars;
pub mod storage;
pub mod store;
pub mod upcoming;
pub mod uris;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use self::upcoming::{MOST_AHEAD, UpcomingFiles};
use crate::decode::OffsetRange;
use crate::framing::{Ending, Source};
use crate::io::{self as files, FileRange, position_07};
use crate::log::RecordedHeaders;
use crate::partition::SegmentFile;
use crate::py::finding::PyFinding;
use crate::py::interrupt::Signals;

/// Arguments of the constructor.
type FileSourceParts<'py> = (Bound<'py, PyAny>, u64, Option<u64>, Option<OffsetBounds>, Option<PyFinding>, Option<i64>, bool);
/// First offset (inclusive) and end (exclusive).
type OffsetBounds = (i64, Option<i64>);

/// Name a range of bytes of a file. A read opens the file read-only and reads by position, in bounded memory.
///
/// Args:
///     path: the file; a path, or a URI of a store (`s3://bucket/orders-0/00000000000000000000.log`), whose ranges are fetched on
///         demand. Attribute and text show no option of the store.
///     start: first byte of the range, the start of an entry.
///     end: end of the range (exclusive), or None for the end of the file.
///     offsets: the offsets that the batches may contain: first (inclusive) and end (exclusive, or None). A batch with other offsets is an
///         error (SEG-1). None for any offsets.
///     finding: a finding that each read of the file reports with its own, or None.
///     next_offset: the first offset of the next segment of the partition, by its name; None without one. A segment that another segment
///         follows is complete: if the range ends inside an entry, that is an error (SEG-23).
///     is_inner: the range ends where another entry of the file begins. If it ends inside an entry, that is an error (L8-14).
///     storage_options: options of the store of a URI; see `Log`.
///
/// It can be pickled and used any number of times.
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.FileSource("00000000000000000000.log").start
///     0
#[pyclass(frozen, eq, module = "logsegment")]
#[derive(Clone, Default)]
pub struct FileSource {
    pub path: PathBuf,
    #[pyo3(get)]
    start: u64,
    #[pyo3(get)]
    end: Option<u64>,
    #[pyo3(get)]
    offsets: Option<OffsetBounds>,
    #[pyo3(get)]
    finding: Option<PyFinding>,
    #[pyo3(get)]
    next_offset: Option<i64>,
    #[pyo3(get)]
    is_inner: bool,
}

/// The same bytes, with the same offsets.
impl PartialEq for FileSource {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, self.start, self.end, self.offsets) == (&other.path, other.start, other.end, other.offsets)
    }
}

impl FileSource {
    /// The bytes of the range.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(&self, signals: &Arc<Signals>) -> std::io::Result<OpenedSource> {
        Ok(self.opened(paths::source(&self.path, self.start, self.end, signals)?, signals))
    }

    /// The same bytes; of a file of a store, which is read from its first byte on, also the headers that are kept meanwhile, at most `left`
    /// bytes of them.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_recording(
        &self,
        signals: &Arc<Signals>,
        left: &Arc<AtomicUsize>,
    ) -> std::io::Result<(OpenedSource, Option<Arc<RecordedHeaders>>)> {
        if !uris::is_stored(&self.path) || self.start > 0 || self.end.is_some() || self.is_kafka_07() {
            return Ok((self.open(signals)?, None));
        }
        let (source, headers) = store::PyStoredRange::open(&self.path, 0, None, signals)?.into_recorded(left);
        Ok((self.opened(source, signals), Some(headers)))
    }

    fn opened(&self, source: Source, signals: &Arc<Signals>) -> OpenedSource {
        let source = source.before(self.ending());
        self.report(signals);
        self.expect_to_wait(signals);
        let (kafka_07, segment) = (position_07(&self.path), self.segment());
        OpenedSource { source, is_repeatable: true, kafka_07, segment }
    }

    /// The first byte and the end of the range.
    pub fn bounds(&self) -> (u64, Option<u64>) {
        (self.start, self.end)
    }

    /// Check that a read from the first byte on reads a log segment.
    ///
    /// # Errors
    /// `NotASegment`, unless damage is skipped.
    pub fn ensure_segment(&self, signals: &Signals) -> crate::error::Result<()> {
        if self.start > 0 || signals.skips_damage() { Ok(()) } else { paths::ensure_segment(&self.path) }
    }

    /// Add the finding of the file to those of the read.
    pub fn report(&self, signals: &Signals) {
        signals.note(self.finding.iter().cloned().collect());
    }

    /// Note that bytes of a store have to be waited for.
    pub fn expect_to_wait(&self, signals: &Signals) {
        if uris::is_stored(&self.path) {
            signals.expect_to_wait();
        }
    }

    /// The offsets that the batches may hold.
    pub fn segment(&self) -> OffsetRange {
        self.offsets.map_or_else(OffsetRange::default, |(start, end)| OffsetRange { start, end })
    }

    /// First byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Byte after the range, when one was given.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Returns the rest of the source from a position of the file on.
    #[must_use]
    pub fn from(&self, position: u64) -> Self {
        Self { start: self.start.max(position), ..self.clone() }
    }

    /// Some bytes of the file.
    #[must_use]
    pub fn part(&self, position: u64, len: u64) -> Self {
        Self { start: position, end: Some(position.saturating_add(len)), next_offset: None, ..self.clone() }
    }

    /// True for a segment of Kafka 0.7, by its name.
    pub fn is_kafka_07(&self) -> bool {
        position_07(&self.path).is_some()
    }

    /// Return what follows the last byte of the range. Ask after the file was opened: a broker cuts a log by deleting the next segment first.
    pub fn ending(&self) -> Ending {
        match (self.end, self.next_offset) {
            (Some(at), _) if self.is_inner => Ending::Entry { at },
            (None, None) if uris::is_uploaded(&self.path) => Ending::Uploaded,
            (_, Some(next)) if paths::has_next(&self.path, next) => Ending::Segment { first: files::named_offset(&self.path), next },
            _ => Ending::Open,
        }
    }

    /// All bytes of a file whose batches may hold these offsets, or any.
    pub fn segment_of(path: PathBuf, offsets: Option<(i64, Option<i64>)>) -> Self {
        Self { path, offsets, ..Self::default() }
    }

    /// Bytes of a segment of a partition.
    pub fn of_segment(file: &SegmentFile, finding: Option<PyFinding>, start: u64, end: Option<u64>, is_inner: bool) -> Self {
        let offsets = file.offsets.map(|offsets| (offsets.start, offsets.end));
        Self { path: file.path.clone(), start, end, offsets, finding, next_offset: file.next_offset, is_inner }
    }

    /// The same file, with the first offset of the next segment.
    #[must_use]
    pub fn followed_by(self, next_offset: Option<i64>) -> Self {
        Self { next_offset, ..self }
    }
}

#[pymethods]
impl FileSource {
    #[new]
    #[pyo3(signature = (path, start=0, end=None, offsets=None, finding=None, next_offset=None, is_inner=false, *, storage_options=None),
        text_signature = "(path, start=0, end=None, offsets=None, finding=None, next_offset=None, is_inner=False, *, storage_options=None)")]
    #[expect(clippy::too_many_arguments, reason = "keywords of one call from Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        start: u64,
        end: Option<u64>,
        offsets: Option<OffsetBounds>,
        finding: Option<&Bound<'_, PyFinding>>,
        next_offset: Option<i64>,
        is_inner: bool,
        storage_options: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let finding = finding.map(|finding| finding.get().clone());
        let path = uris::reached(py, &path, storage_options.as_ref())?;
        Ok(Self { path, start, end, offsets, finding, next_offset, is_inner })
    }

    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::to_py(py, &self.path)
    }

    fn __repr__(&self) -> String {
        let end = self.end.map_or_else(|| "None".to_owned(), |end| end.to_string());
        format!("FileSource({:?}, start={}, end={end})", uris::redacted_uri(&self.path), self.start)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, FileSourceParts<'py>)> {
        let own = slf.get();
        Ok((
            slf.get_type().into_any(),
            (own.path(slf.py())?, own.start, own.end, own.offsets, own.finding.clone(), own.next_offset, own.is_inner),
        ))
    }
}

#[pymethods]
impl UpcomingFiles {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Begin to open the first of these files, which are read next in this order.
    fn expect(&self, py: Python<'_>, files: Vec<Bound<'_, FileSource>>) {
        let files: Vec<FileSource> = files.iter().map(|file| file.get().clone()).collect();
        py.detach(|| self.begin_files(&files));
    }
}

impl UpcomingFiles {
    /// Begin to open the first of these files, which are read next in this order.
    pub fn begin_files<'a>(&self, files: impl IntoIterator<Item = &'a FileSource>) {
        for file in files.into_iter().take(MOST_AHEAD).take_while(|file| uris::is_stored(&file.path)) {
            self.begin(&file.path, file.bounds());
        }
    }
}

/// A source that was opened, and whether it can be opened again for a second pass.
pub struct OpenedSource {
    pub source: Source,
    pub is_repeatable: bool,
    /// The position of a segment of Kafka 0.7 in its partition, from its name; 0 without one.
    pub kafka_07: Option<i64>,
    /// The offsets that its batches may hold.
    pub segment: OffsetRange,
}

/// A path as the `FileSource` of its file; everything else as it is.
pub fn to_file_source<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        let path = uris::to_internal_uri(object.py(), &object.extract::<PathBuf>()?)?;
        return Ok(Bound::new(object.py(), FileSource::segment_of(path, None))?.into_any());
    }
    Ok(object.clone())
}

/// Opens the only thing that is read; errors about a file name it.
pub fn open_alone(object: &Bound<'_, PyAny>, signals: &Arc<Signals>) -> PyResult<OpenedSource> {
    let object = &to_file_source(object)?;
    if let Ok(file) = object.cast::<FileSource>() {
        signals.read_file(uris::redacted_uri(&file.get().path));
        file.get().ensure_segment(signals).map_err(|error| signals.raised(object.py(), &error))?;
    }
    open(object, signals)
}

/// Opens whatever a user may give.
pub fn open(object: &Bound<'_, PyAny>, signals: &Arc<Signals>) -> PyResult<OpenedSource> {
    let object = &to_file_source(object)?;
    if let Ok(file) = object.cast::<FileSource>() {
        let file = file.get();
        return file.open(signals).map_err(|error| paths::raised(object.py(), &error, &file.path, signals));
    }
    if let Ok(bytes) = object.cast::<PyBytes>()
        && paths::is_likely(bytes.as_bytes())
    {
        let text = String::from_utf8_lossy(bytes.as_bytes());
        return Err(PyTypeError::new_err(format!("source: these bytes look like a path; pass a str: {text:?}")));
    }
    if let Some(source) = buffer::source(object)? {
        return Ok(OpenedSource { source, is_repeatable: true, kafka_07: None, segment: OffsetRange::default() });
    }
    match file_object::FileObject::of(object, signals)? {
        Some(file) => {
            let source = Source::reader(Box::new(file), 0).read_by_caller();
            // A file that is read front to back, to show how far, may name its place in a partition.
            let place = object.getattr_opt(intern!(object.py(), "file_source"))?;
            let Some(place) = place.as_ref().and_then(|place| place.cast::<FileSource>().ok()).map(Bound::get) else {
                return Ok(OpenedSource { source, is_repeatable: false, kafka_07: None, segment: OffsetRange::default() });
            };
            let (source, segment) = (source.before(place.ending()), place.segment());
            Ok(OpenedSource { source, is_repeatable: false, kafka_07: None, segment })
        }
        None => Err(no_source(object)?),
    }
}

/// A source for those who read it several times: a file that grows meanwhile is read as long as it was, and one that gets the name of
/// another file in its place is not looked at.
pub enum Snapshot<'py> {
    /// An open local file, the start of its bytes, the position in the name of a file of Kafka 0.7, and what follows the bytes.
    File { range: FileRange, start: u64, kafka_07: Option<i64>, ending: Ending },
    /// Everything else: memory, and a file of a store, which is written whole and asked at the end whether it is still the same.
    Other(Bound<'py, PyAny>),
}

impl<'py> Snapshot<'py> {
    /// Opens the argument of a user.
    pub fn of(object: &Bound<'py, PyAny>, signals: &Arc<Signals>) -> PyResult<Self> {
        let object = &to_file_source(object)?;
        let Ok(file) = object.cast::<FileSource>() else { return Ok(Self::Other(object.clone())) };
        let own = file.get();
        let FileSource { path, start, end, .. } = own;
        if uris::is_stored(path) {
            return Ok(Self::Other(object.clone()));
        }
        let range = FileRange::open(path, *start, *end);
        let range = range.map_err(|error| paths::raised(object.py(), &error, path, signals))?;
        Ok(Self::File { range, start: *start, kafka_07: position_07(path), ending: own.ending() })
    }

    /// Its bytes, from the first on.
    pub fn open(&self, signals: &Arc<Signals>) -> PyResult<OpenedSource> {
        match self {
            Self::Other(object) => open(object, signals),
            Self::File { range, start, kafka_07, ending } => {
                let source = Source::positioned(Box::new(range.again()?), *start).before(*ending);
                Ok(OpenedSource { source, is_repeatable: true, kafka_07: *kafka_07, segment: OffsetRange::default() })
            }
        }
    }
}

/// The error for an object that is not a source.
fn no_source(object: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let given = object.get_type().fully_qualified_name()?;
    // A log or a segment, which have more than one file.
    let advice = if object.hasattr("records")? {
        "; call its records(), batches() or validate()"
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        "; logsegment.Log reads several paths"
    } else {
        ""
    };
    Ok(PyTypeError::new_err(format!(
        "source must be a path, a logsegment.FileSource, a buffer or a binary file object, not {given}{advice}"
    )))
}
