//! The end of a partition, which tells what a rewrite must keep: read from headers and markers alone.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::log::{BatchHeaders, ReadAt};
use crate::model::{Formats, RecordFormat};
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::{self, FileSource, buffer, paths};
use crate::rewrite::Retention;
use crate::sidecar::{AbortedTxn, ProducerEntry, Producers, producer_snapshot};

/// Where a partition ends, and with which producers.
///
/// Args:
///     sources: the segments of one partition in the order of their offsets: paths, FileSource objects or buffers.
///     options: those of entries.
///     snapshot: the bytes of the `.snapshot` file of the state before the first segment, or None.
///     log_start: first offset that an output keeps, or None. Transactions that end below it are closed in all snapshots.
///
/// Raises:
///     ValueError: for a file object, which can be read only once.
///     RecordBatchError: if entries cannot be framed.
///     OSError: if a file cannot be read.
#[pyclass(frozen, module = "logsegment")]
pub struct PartitionEnd {
    pub retention: Retention,
    /// The offset after the last batch; None without batches, and for Kafka 0.7.
    #[pyo3(get)]
    end_offset: Option<i64>,
    /// The offset of the first open transaction; None without one.
    #[pyo3(get)]
    pub open_offset: Option<i64>,
    snapshots: Vec<Vec<u8>>,
    /// The transactions that were aborted.
    pub aborted: Vec<AbortedTxn>,
}

#[pymethods]
impl PartitionEnd {
    #[new]
    #[pyo3(signature = (sources, options, snapshot=None, log_start=None))]
    fn new(
        py: Python<'_>,
        sources: Vec<Bound<'_, PyAny>>,
        options: ReadOptions,
        snapshot: Option<Vec<u8>>,
        log_start: Option<i64>,
    ) -> PyResult<Self> {
        let before = snapshot.map(|bytes| producer_snapshot::parse(&bytes, i64::MAX).entries).unwrap_or_default();
        let producers = Producers::from_snapshot(&before);
        let mut walk = EndWalk { producers, last_offset: None, aborted: Vec::new(), snapshots: Vec::new(), log_start };
        for source in &sources {
            walk.snapshots.push(walk.producers.snapshot());
            walk.visit_source(py, &source::to_file_source(source)?, &options)?;
        }
        let entries = walk.producers.snapshot();
        let snapshots = walk.snapshots.iter().chain([&entries]).map(|entries| producer_snapshot::to_bytes(entries)).collect();
        let end_offset = walk.last_offset.map(|last| last.saturating_add(1));
        let open = entries.iter().map(|entry| entry.current_txn_first_offset).filter(|first| *first >= 0);
        let (open_offset, retention) = (open.min(), Retention::new(walk.last_offset, &entries));
        Ok(Self { retention, end_offset, open_offset, snapshots, aborted: walk.aborted })
    }

    /// The bytes of the `.snapshot` files: of the state before each segment, and at the end.
    #[getter]
    fn snapshots(&self) -> Vec<&[u8]> {
        self.snapshots.iter().map(Vec::as_slice).collect()
    }
}

struct EndWalk {
    producers: Producers,
    last_offset: Option<i64>,
    aborted: Vec<AbortedTxn>,
    /// The state before each source.
    snapshots: Vec<Vec<ProducerEntry>>,
    log_start: Option<i64>,
}

impl EndWalk {
    /// Closes a transaction in the snapshots before its marker, which the output does not have.
    fn close(&mut self, producer_id: i64) {
        for entry in self.snapshots.iter_mut().flatten().filter(|entry| entry.producer_id == producer_id) {
            entry.current_txn_first_offset = -1;
        }
    }

    fn visit_source(&mut self, py: Python<'_>, source: &Bound<'_, PyAny>, options: &ReadOptions) -> PyResult<()> {
        let (signals, interrupt) = Signals::new();
        let mut decode = options.to_decode()?;
        if let Ok(file) = source.cast::<FileSource>() {
            let file = file.get();
            let mut opened = file.open(&signals).map_err(|error| paths::raised(py, &error, &file.path, &signals))?;
            options.reading.resolve(&mut decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
            drop(opened);
            let (log, len) = paths::open(&file.path, &signals).map_err(|error| paths::raised(py, &error, &file.path, &signals))?;
            let end = file.end().map_or(len, |end| end.min(len));
            let headers = BatchHeaders::new(log, decode.limits, file.start(), end).before(file.ending());
            return self.visit(py, headers, decode.formats, (&signals, &interrupt, Some(&file.path)));
        }
        if buffer::source(source)?.is_none() {
            let problem = "a rewrite reads its source twice, which a file object does not allow: give a path, a FileSource or a buffer";
            return Err(PyValueError::new_err(problem));
        }
        let mut opened = source::open(source, &signals)?;
        options.reading.resolve(&mut decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
        let bytes = buffer::bytes_of(source)?;
        let headers = BatchHeaders::new(&*bytes, decode.limits, 0, crate::wire::as_u64(bytes.len()));
        self.visit(py, headers, decode.formats, (&signals, &interrupt, None))
    }

    fn visit<L: ReadAt>(
        &mut self,
        py: Python<'_>,
        headers: BatchHeaders<L>,
        formats: Formats,
        (signals, interrupt, path): (&Arc<Signals>, &Interrupt, Option<&PathBuf>),
    ) -> PyResult<()> {
        if formats == Formats::Only(RecordFormat::V07) {
            return Ok(());
        }
        let visited = py.detach(|| self.visit_headers(headers.of(formats).sparing(), interrupt));
        visited.map_err(|error| signals.raised(py, &path.map_or(error.clone(), |path| paths::in_file(error, path))))
    }

    fn visit_headers<L: ReadAt>(&mut self, mut headers: BatchHeaders<L>, interrupt: &Interrupt) -> Result<()> {
        while let Some(header) = headers.next_header()? {
            interrupt.ensure_wanted()?;
            let marker = if header.producer.id >= 0 { headers.marker(&header)? } else { None };
            self.aborted.extend(self.producers.visit(&header, marker));
            if marker.is_some() && self.log_start.is_some_and(|start| header.last_offset < start) {
                self.close(header.producer.id);
            }
            self.last_offset = self.last_offset.max(Some(header.last_offset));
        }
        Ok(())
    }
}
