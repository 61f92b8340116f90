//! A partition compacted by key: a round of the offset map, and the segments that it leaves.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source;
use crate::py::verbs::partition_end::PartitionEnd;
use crate::py::verbs::rewrite::{RewriteJob, RewriteParts};
use crate::rewrite::{Compaction, Deletion, MapBuilder};

/// The latest offset of each key from an offset on, as far as memory allows. Its segments are then compacted in order, each once.
///
/// Args:
///     sources: the segments of one partition in the order of their offsets.
///     options: those of entries.
///     end: of the partition.
///     first_offset: records before it are in the map of an earlier round.
///     memory: bytes of the map.
///     deletion: the time of the compaction, and how long after it tombstones stay, in milliseconds.
///
/// Raises:
///     RecordBatchError: if entries are invalid.
///     OSError: if a file cannot be read.
#[pyclass(frozen, module = "logsegment")]
pub struct CompactionRound {
    compaction: Mutex<Option<Compaction>>,
    /// The last offset up to which all keys are in the map; None for no record.
    #[pyo3(get)]
    latest_offset: Option<i64>,
    /// True if the map cannot hold all keys, so that another round is needed.
    #[pyo3(get)]
    is_full: bool,
    /// Keys in the map.
    #[pyo3(get)]
    keys: usize,
}

#[pymethods]
impl CompactionRound {
    #[new]
    fn new(
        py: Python<'_>,
        sources: Vec<Bound<'_, PyAny>>,
        options: ReadOptions,
        end: &PartitionEnd,
        first_offset: i64,
        memory: usize,
        deletion: (i64, i64),
    ) -> PyResult<Self> {
        let mut builder = MapBuilder::new(memory, &end.aborted, first_offset, end.open_offset);
        for source in &sources {
            let (signals, interrupt) = Signals::new();
            let mut decode = options.to_decode()?;
            let mut opened = source::open_alone(source, &signals)?;
            options.reading.resolve(&mut decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
            let visited = py.detach(|| builder.visit(opened.source, decode, &interrupt));
            visited.map_err(|error| signals.raised(py, &error))?;
        }
        let (map, latest_offset, is_full) = builder.finish();
        let keys = map.len();
        let (now, retention_ms) = deletion;
        let compaction = Compaction::new(Arc::clone(&map), latest_offset, &end.aborted, Deletion { now, retention_ms });
        Ok(Self { compaction: Mutex::new(Some(compaction)), latest_offset, is_full, keys })
    }
}

/// Compact the next segment of a partition; see `logsegment.compact` and `rewrite`.
#[pyfunction]
#[pyo3(signature = (source, options, how, end, compaction, out=None, is_dry=false))]
#[expect(clippy::too_many_arguments, reason = "the arguments of `rewrite`, and the round")]
pub fn compact<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    options: ReadOptions,
    how: &Bound<'py, PyAny>,
    end: &PartitionEnd,
    compaction: &CompactionRound,
    out: Option<&Bound<'py, PyAny>>,
    is_dry: bool,
) -> PyResult<RewriteParts<'py>> {
    let taken = compaction.compaction.lock().unwrap_or_else(PoisonError::into_inner).take();
    let filter = taken.ok_or_else(|| PyValueError::new_err("a segment of this round failed before"))?;
    let (row, filter) = RewriteJob { py, options: &options, how, end, is_dry }.run(source, filter, out)?;
    *compaction.compaction.lock().unwrap_or_else(PoisonError::into_inner) = Some(filter);
    Ok(row)
}
