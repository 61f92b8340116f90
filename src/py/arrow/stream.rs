use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::columns::{BatchSource, ValueNotes};
use crate::decode::Stats;
use crate::error::{Error, Result};
use crate::py::arrow::c_stream::{BatchFeed, CStream};
use crate::py::arrow::export::{ArrowBatch, ArrowSchema, schema_capsule};
use crate::py::arrow::libraries;
use crate::py::arrow::table::ArrowTable;
use crate::py::finding::{self, PyFinding};
use crate::py::interrupt::Signals;
use crate::report::preview::{schema_text, table_text};
use crate::validate as core;
use crate::validate::lost_ranges;

/// Stream Arrow record batches, read on demand.
///
/// It can be read once: iterate over it (`ArrowBatch`), pass it to any library with the Arrow PyCapsule interface
/// (`pyarrow.RecordBatchReader.from_stream(stream)`), or collect it with `read_all()`, `to_pyarrow()`, `to_polars()`, `to_pandas()`.
/// As a context manager it frees its memory and threads at the end.
///
/// Attributes:
///     schema: the Arrow schema (`__arrow_c_schema__`).
///     findings (list[Finding]): torn and zero tails, and damage that was skipped; complete once the stream has ended.
///     error: the typed exception of an error that another library reported, or None.
///     io_stats: counters of what was read, decompressed and copied.
///     unknown_schemas (list[str]): with `values="auto"`, the ids, GUIDs and fingerprints that no schema has;
///         these values are null.
///     framings (dict[str, int]): how many values had each framing that was detected next to a single schema.
///
/// Example:
///     >>> import logsegment as ls
///     >>> with ls.decode(ls.FileSource("00000000000000000000.log"), columns=["offset"]) as stream:
///     ...     rows = sum(batch.num_rows for batch in stream)
///     >>> stream.io_stats.records == rows
///     True
#[pyclass(frozen, module = "logsegment")]
pub struct RecordStream(Arc<SharedStream>);

struct SharedStream {
    schema: SchemaRef,
    state: Mutex<StreamState>,
    /// The thread that holds the state, 0 for none.
    holder: AtomicUsize,
    signals: Arc<Signals>,
}

/// The state, held.
struct LockedState<'a> {
    state: MutexGuard<'a, StreamState>,
    holder: &'a AtomicUsize,
}

/// The batch that comes next.
enum Peeked {
    Rows(RecordBatch),
    Error(Error),
    End,
    /// Another library reads the stream.
    Unknown,
}

/// The stream was asked by Python code that the stream itself called: a signal handler, or the file object that it reads.
struct Reentered;

struct StreamState {
    source: Option<Box<dyn BatchSource>>,
    /// The next batch, which `repr` has read.
    peeked: Option<Result<Option<RecordBatch>>>,
    stats: Stats,
    notes: ValueNotes,
    findings: core::Findings,
    error: Option<Error>,
    is_exported: bool,
}

impl RecordStream {
    /// A stream over this source.
    pub fn new(source: Box<dyn BatchSource>, signals: Arc<Signals>) -> Self {
        let schema = source.schema();
        let state = StreamState {
            source: Some(source),
            peeked: None,
            stats: Stats::default(),
            notes: ValueNotes::default(),
            findings: core::Findings::default(),
            error: None,
            is_exported: false,
        };
        Self(Arc::new(SharedStream { schema, state: Mutex::new(state), holder: AtomicUsize::new(0), signals }))
    }

    /// Return the next batch, or `None` at the end.
    ///
    /// # Errors
    /// The exception for what is wrong with the bytes.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let next = py.detach(|| self.0.lock().map(|mut state| state.next()))?;
        next.map_err(|error| self.0.signals.raised(py, &error))
    }

    fn collect(&self, py: Python<'_>) -> PyResult<Vec<RecordBatch>> {
        std::iter::from_fn(|| self.next(py).transpose()).collect()
    }

    /// Fails when the stream went by, since a second pass would silently give nothing.
    fn ensure_unconsumed(&self, py: Python<'_>) -> PyResult<()> {
        let is_gone = self.0.look(py, |state| state.is_exported || state.is_consumed())?;
        if is_gone { Err(consumed()) } else { Ok(()) }
    }
}

#[pymethods]
impl RecordStream {
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(Arc::clone(&self.0.schema))
    }

    #[getter]
    pub fn findings(&self, py: Python<'_>) -> PyResult<Vec<PyFinding>> {
        let findings = self.0.look(py, |state| state.findings.clone().into_vec())?;
        Ok(lost_ranges::merged(&findings, self.0.signals.notes()))
    }

    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Option<PyErr>> {
        let error = self.0.look(py, |state| state.error.clone())?;
        Ok(error.map(|error| self.0.signals.raised(py, &error)))
    }

    #[getter]
    fn io_stats(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let stats = self.0.look(py, |state| state.source.as_ref().map_or(state.stats, |source| source.stats()))?;
        finding::counters(py, &stats, self.0.signals.fetches())
    }

    #[getter]
    fn unknown_schemas(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.look(py, |state| state.value_notes().unknown.into_iter().collect())
    }

    #[getter]
    fn framings(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, u64>> {
        self.0.look(py, |state| state.value_notes().framings)
    }

    /// Collect the remaining batches into one `ArrowTable`. A consumed stream is a ValueError.
    fn read_all(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        self.ensure_unconsumed(py)?;
        let batches = self.collect(py)?;
        let (findings, stats) = self.0.look(py, |state| (state.findings.clone().into_vec(), state.stats))?;
        let findings = lost_ranges::merged(&findings, self.0.signals.notes());
        Ok(ArrowTable { schema: Arc::clone(&self.0.schema), batches, findings, stats, fetches: self.0.signals.fetches() })
    }

    /// Collect the remaining rows into a `pyarrow.Table`.
    fn to_pyarrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = libraries::import(py, "pyarrow")?;
        pyarrow.call_method1("table", (self.read_all(py)?.into_pyobject(py)?,))
    }

    /// Collect the remaining rows into a `polars.DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let polars = libraries::import(py, "polars")?;
        polars.call_method1("DataFrame", (self.read_all(py)?.into_pyobject(py)?,))
    }

    /// Collect the remaining rows into a `pandas.DataFrame`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        libraries::import(py, "pandas")?;
        self.to_pyarrow(py)?.call_method0("to_pandas")
    }

    /// Collect the remaining rows into dicts, as `ArrowBatch.to_pylist` does. pyarrow is not needed.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.read_all(py)?.to_pylist(py)
    }

    /// Collect the remaining rows into tuples, otherwise as `to_pylist` does.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.read_all(py)?.rows(py)
    }

    /// Stop, and free memory and threads. Collected batches stay valid.
    pub fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.look(py, |state| {
            state.peeked = None;
            state.close();
        })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        Ok(self.next(py)?.map(ArrowBatch))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// The first rows are read for it, and stay in the stream. Of a file object or a store it shows the schema, since a read may wait.
    fn __repr__(&self, py: Python<'_>) -> String {
        let schema = &self.0.schema;
        if self.0.signals.may_wait() {
            return format!("RecordStream({})", schema_text(schema));
        }
        match self.0.look(py, |state| state.peek()) {
            Ok(Peeked::Rows(batch)) => format!("RecordStream, first rows\n{}", table_text(schema, &[batch], None)),
            Ok(Peeked::Error(error)) => format!("RecordStream({}), error: {error}", schema_text(schema)),
            Ok(Peeked::End) => format!("RecordStream({}), no rows left", schema_text(schema)),
            Ok(Peeked::Unknown) | Err(_) => format!("RecordStream({})", schema_text(schema)),
        }
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to answer with what is there; consumers cast.
        let _ = requested_schema;
        let is_gone = self.0.look(py, |state| std::mem::replace(&mut state.is_exported, true) || state.is_consumed())?;
        if is_gone {
            return Err(consumed());
        }
        let feed: Arc<dyn BatchFeed> = Arc::<SharedStream>::clone(&self.0);
        PyCapsule::new_with_value(py, CStream::new(feed), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema)
    }
}

#[cold]
fn consumed() -> PyErr {
    PyValueError::new_err("the stream was already consumed or closed; open it again, or keep the table that read_all() returns")
}

impl SharedStream {
    fn lock(&self) -> std::result::Result<LockedState<'_>, Reentered> {
        let own = thread_token();
        if self.holder.load(Ordering::Relaxed) == own {
            return Err(Reentered);
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.holder.store(own, Ordering::Relaxed);
        Ok(LockedState { state, holder: &self.holder })
    }

    /// Looks at the state without holding the interpreter: whoever holds the lock may be waiting for it (a file object is Python code).
    fn look<T: Send>(&self, py: Python<'_>, at: impl FnOnce(&mut StreamState) -> T + Send) -> PyResult<T> {
        Ok(py.detach(|| self.lock().map(|mut state| at(&mut state)))?)
    }
}

/// A number that no other living thread has.
fn thread_token() -> usize {
    thread_local!(static TOKEN: u8 = const { 0 });
    TOKEN.with(|token| std::ptr::from_ref(token).addr())
}

impl Deref for LockedState<'_> {
    type Target = StreamState;

    fn deref(&self) -> &StreamState {
        &self.state
    }
}

impl DerefMut for LockedState<'_> {
    fn deref_mut(&mut self) -> &mut StreamState {
        &mut self.state
    }
}

impl Drop for LockedState<'_> {
    fn drop(&mut self) {
        self.holder.store(0, Ordering::Relaxed);
    }
}

impl Reentered {
    const TEXT: &str = "the stream is already being read: a signal handler or its file object used it";
}

impl From<Reentered> for PyErr {
    fn from(_: Reentered) -> Self {
        PyRuntimeError::new_err(Reentered::TEXT)
    }
}

impl Drop for SharedStream {
    /// A stream that is dropped unread waits for its threads, and they may wait for the interpreter: let go of it meanwhile.
    fn drop(&mut self) {
        let source = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).source.take();
        if source.is_some() {
            // While the interpreter shuts down nothing can be attached any more; nothing waits for it then either.
            let _ = Python::try_attach(|py| py.detach(|| drop(source)));
        }
    }
}

impl BatchFeed for SharedStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&self) -> std::result::Result<Option<RecordBatch>, String> {
        let mut state = self.lock().map_err(|_| Reentered::TEXT.to_owned())?;
        state.next().map_err(|error| self.signals.named(&error).to_string())
    }
}

impl StreamState {
    /// Look at the next batch, which `next` will still return.
    fn peek(&mut self) -> Peeked {
        if self.is_exported {
            return Peeked::Unknown;
        }
        if self.is_consumed() {
            return Peeked::End;
        }
        let next = self.next();
        let seen = match &next {
            Ok(Some(batch)) => Peeked::Rows(batch.clone()),
            Ok(None) => Peeked::End,
            Err(error) => Peeked::Error(error.clone()),
        };
        self.peeked = Some(next);
        seen
    }

    fn value_notes(&self) -> ValueNotes {
        self.source.as_ref().map_or_else(|| self.notes.clone(), |source| source.value_notes())
    }

    fn is_consumed(&self) -> bool {
        self.source.is_none() && self.peeked.is_none()
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(next) = self.peeked.take() {
            return next;
        }
        let Some(source) = &mut self.source else { return Ok(None) };
        let next = source.next_batch();
        self.findings.append(source.take_findings());
        self.stats = source.stats();
        if let Err(error) = &next {
            self.error = Some(error.clone());
        }
        if !matches!(next, Ok(Some(_))) {
            self.close();
        }
        next
    }

    fn close(&mut self) {
        if let Some(mut source) = self.source.take() {
            self.findings.append(source.take_findings());
            self.stats = source.stats();
            self.notes = source.value_notes();
        }
    }
}
