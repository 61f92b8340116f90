//! The two halves of writing a log from several tasks: rows to staged files of each partition, staged files to segments.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;

use crate::broker::Assigner;
use crate::columns::rows::produced::{BatchSink, Produced, ProducedOptions};
use crate::encode::RecordWriter;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::io::{SegmentOptions, write_segments};
use crate::py::arrow::import;
use crate::py::encode_options::EncodeOptions;
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::option_values::{option, released_format};
use crate::py::source::paths;
use crate::wire::as_u64;

/// Writes the rows of one task to files, one for each partition, whose offsets count from 0.
///
/// Args:
///     directory: an existing empty directory; the files get the names "0", "1" and so on.
///     options: those of `encode`, and topic, partitions, compressed_topics, known_partitions, start.
///
/// Raises:
///     ValueError: for options that Kafka refuses.
#[pyclass(frozen, module = "logsegment")]
pub struct StagedWriter(Mutex<StagingTask>);

struct StagingTask {
    produced: Produced,
    files: StagedFiles,
    rows: usize,
}

/// The files of a task. None is kept open: there may be as many as there are partitions.
struct StagedFiles {
    directory: PathBuf,
    lengths: Vec<u64>,
    failed: Option<(std::io::Error, PathBuf)>,
}

/// Topic, partition, name, records and bytes of a staged file.
type StagedRow = (String, i32, String, i64, u64);

#[pymethods]
impl StagedWriter {
    #[new]
    fn new(py: Python<'_>, directory: PathBuf, encode: EncodeOptions, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let known_partitions: HashMap<String, u32> = option!(options, "known_partitions");
        let produced = Produced::new(ProducedOptions {
            settings: encode.to_both_settings(py)?,
            plugins: encode.plugins.clone(),
            compressed_topics: option!(options, "compressed_topics"),
            batch_bytes: encode.batch_bytes()?,
            topic: option!(options, "topic"),
            partitions: option!(options, "partitions"),
            known_partitions,
            start: option!(options, "start"),
        });
        Ok(Self(Mutex::new(StagingTask { produced, files: StagedFiles { directory, lengths: Vec::new(), failed: None }, rows: 0 })))
    }

    /// Write the rows of an Arrow batch or table. `now` is the timestamp in ms of those that have none.
    fn write(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, now: i64) -> PyResult<()> {
        let batches = import::batches(rows)?;
        let (signals, interrupt) = Signals::new();
        let written = py.detach(|| {
            let mut task = self.task();
            for batch in batches {
                task.write_batch(&batch.map_err(std::io::Error::other)?, now, &interrupt)?;
            }
            Ok(())
        });
        written.map_err(|error| self.raised(py, &signals, &error))
    }

    /// Topic and partition of the files that the rows so far have made, but the first `known` of them.
    fn partitions(&self, py: Python<'_>, known: usize) -> Vec<(String, i32)> {
        let met = |task: &StagingTask| {
            task.produced.targets().iter().skip(known).map(|target| (target.topic.clone(), target.partition)).collect()
        };
        py.detach(|| met(&self.task()))
    }

    /// End all batches; give topic, partition, name, records and bytes of each file.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<StagedRow>> {
        let (signals, _) = Signals::new();
        let finished = py.detach(|| self.task().finish());
        finished.map_err(|error| self.raised(py, &signals, &error))
    }
}

/// Rows between two looks at signals.
const ROWS: usize = 4096;

impl StagedWriter {
    /// Held by one thread at a time, without the interpreter.
    fn task(&self) -> MutexGuard<'_, StagingTask> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raised(&self, py: Python<'_>, signals: &Signals, error: &Error) -> PyErr {
        let failed = py.detach(|| self.task().files.failed.take());
        match failed {
            Some((failed, path)) => errors::io_error(py, &failed, &path),
            None => signals.raised(py, error),
        }
    }
}

impl StagingTask {
    fn write_batch(&mut self, batch: &RecordBatch, now: i64, interrupt: &Interrupt) -> Result<()> {
        for start in (0..batch.num_rows()).step_by(ROWS) {
            interrupt.ensure_wanted()?;
            let part = batch.slice(start, ROWS.min(batch.num_rows() - start));
            self.produced.write(&part, now, self.rows, &mut self.files)?;
            self.rows += part.num_rows();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<StagedRow>> {
        self.produced.finish(&mut self.files)?;
        let targets = self.produced.targets().iter().zip(&self.files.lengths).enumerate();
        Ok(targets
            .map(|(index, (target, len))| (target.topic.clone(), target.partition, index.to_string(), target.records(), *len))
            .collect())
    }
}

impl BatchSink for StagedFiles {
    #[inline]
    fn take(&mut self, target: usize, writer: &mut RecordWriter, is_end: bool) -> Result<()> {
        /// Bytes of a partition that are kept back; with very many partitions this is what they cost in memory.
        const ENOUGH: usize = 64 << 10;
        let is_taken = writer.ended_len() >= ENOUGH || is_end;
        if is_taken { writer.pass_ended(|ended| self.append(target, ended.bytes())) } else { Ok(()) }
    }
}

impl StagedFiles {
    fn append(&mut self, target: usize, bytes: &[u8]) -> Result<()> {
        let path = self.directory.join(target.to_string());
        let opened = OpenOptions::new().append(true).create(true).open(&path);
        if let Err(error) = opened.and_then(|mut file| file.write_all(bytes)) {
            let problem = Error::from(std::io::Error::new(error.kind(), error.to_string()));
            self.failed = Some((error, path));
            return Err(problem);
        }
        if self.lengths.len() <= target {
            self.lengths.resize(target + 1, 0);
        }
        if let Some(len) = self.lengths.get_mut(target) {
            *len += as_u64(bytes.len());
        }
        Ok(())
    }
}

/// Base offset and names of each segment, and the offset after the last record.
type PlacedRow = (Vec<(i64, Vec<String>)>, i64);

/// Writes staged files, one after the other, as segments into an empty directory, with offsets that go on from `base_offset`.
///
/// Args:
///     staged: path and bytes of each file.
///     directory: where the segments go.
///     base_offset: offset of the first record; for Kafka 0.7 the position of the first byte in its log.
///     format: "0.7", "v0", "v1" or "v2".
///     level: of the codec, for wrappers of magic 0, which are compressed anew.
///     segment_bytes: most bytes of a segment.
///
/// Returns:
///     The base offset of each segment with the names of its files, and the offset after the last record.
///
/// Raises:
///     OSError: when a file cannot be read or written.
///     RecordBatchError: when a staged file is damaged or not whole.
#[pyfunction]
#[pyo3(signature = (staged, directory, base_offset, *, format, level, segment_bytes))]
pub fn place_staged(
    py: Python<'_>,
    staged: Vec<(PathBuf, u64)>,
    directory: PathBuf,
    base_offset: i64,
    format: &str,
    level: Option<i32>,
    segment_bytes: u64,
) -> PyResult<PlacedRow> {
    let format = released_format("format", format)?;
    let mut assigner = Assigner::new(format, level, base_offset);
    let options = SegmentOptions { segment_bytes, index_interval: crate::sidecar::index_builder::DEFAULT_INTERVAL };
    let (signals, interrupt) = Signals::new();
    let written = py.detach(|| write_segments(&staged, &directory, &mut assigner, options, &interrupt));
    match written {
        Ok(segments) => {
            let rows = segments.into_iter().map(|segment| (segment.base_offset, segment.names)).collect();
            Ok((rows, assigner.next_offset()))
        }
        Err(failed) => Err(signals.raised(py, &paths::in_file(failed.error, &failed.path))),
    }
}
