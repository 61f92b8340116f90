//! Look-ups, transactions and findings of segments with the files beside them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::beside::{self, Segment};
use super::finding::{self, Finding};
use super::interrupt::Signals;
use super::transactions::Transactions;
use crate::decode::{ChecksumJudge, OffsetRange};
use crate::error::Result;
use crate::io::RandomFile;
use crate::limits::Limits;
use crate::log::{Committed, Lookup, Place};
use crate::model::Formats;
use crate::sidecar::{Fault, OffsetEntry, Parsed, TimeEntry, Wrong, checkpoint, offset_index, producer_snapshot, time_index, txn_index};
use crate::validate as core;

/// What a look-up gives: position, size, base offset and last offset of the batch (None when there is none), and whether an index led to it.
type Found = (u64, Option<(u64, i64, i64)>, bool);

/// The indexes of one segment, read when they are first needed.
#[pyclass(frozen, module = "logsegment._core")]
pub struct SegmentIndex {
    path: PathBuf,
    base_offset: i64,
    parsed: OnceLock<Indexes>,
}

struct Indexes {
    offsets: Parsed<OffsetEntry>,
    times: Parsed<TimeEntry>,
}

#[pymethods]
impl SegmentIndex {
    #[new]
    fn new(path: PathBuf, base_offset: i64) -> Self {
        Self { path, base_offset, parsed: OnceLock::new() }
    }

    /// The entries of the `.index`: offset and position.
    fn offset_index(&self, py: Python<'_>) -> PyResult<Vec<(i64, i32)>> {
        Ok(self.indexes(py)?.offsets.entries.iter().map(|entry| (entry.offset, entry.position)).collect())
    }

    /// The entries of the `.timeindex`: timestamp and offset.
    fn time_index(&self, py: Python<'_>) -> PyResult<Vec<(i64, i64)>> {
        Ok(self.indexes(py)?.times.entries.iter().map(|entry| (entry.timestamp, entry.offset)).collect())
    }

    /// What is wrong with the two files alone.
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<Finding>> {
        let indexes = self.indexes(py)?;
        let mut findings = found(&indexes.offsets.faults, &self.path.with_extension("index"));
        findings.extend(found(&indexes.times.faults, &self.path.with_extension("timeindex")));
        Ok(finding::to_py(&findings))
    }

    /// The first batch that ends at or behind `offset`.
    fn find_offset(&self, py: Python<'_>, offset: i64) -> PyResult<Found> {
        self.find(py, |lookup| lookup.offset(offset))
    }

    /// The first batch whose largest timestamp is at or after `timestamp` (ms).
    fn find_timestamp(&self, py: Python<'_>, timestamp: i64) -> PyResult<Found> {
        self.find(py, |lookup| lookup.timestamp(timestamp))
    }

    /// Positions of batches about every `step` bytes, behind `start`, where a batch begins, and before `end`.
    fn cuts(&self, py: Python<'_>, start: u64, end: u64, step: u64) -> PyResult<Vec<u64>> {
        self.look_up(py, |lookup| lookup.cuts(start, end, step))
    }

    /// Cuts into pieces of at most `step` offsets: the first offset of a piece, where it begins, where the bytes of the one before end.
    fn offset_cuts(&self, py: Python<'_>, start: i64, end: i64, step: i64) -> PyResult<Vec<(i64, u64, u64)>> {
        let cuts = self.look_up(py, |lookup| lookup.offset_cuts(start, end, step))?;
        Ok(cuts.into_iter().map(|cut| (cut.offset, cut.position, cut.end_before)).collect())
    }

    /// Position, size and last offset of the last whole batch; None when there is none.
    fn last_batch(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, i64)>> {
        let last = self.look_up(py, |lookup| lookup.last_batch())?;
        Ok(last.map(|header| (header.position, header.size, header.last_offset)))
    }
}

impl SegmentIndex {
    fn indexes(&self, py: Python<'_>) -> PyResult<&Indexes> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let (offset_path, time_path) = (self.path.with_extension("index"), self.path.with_extension("timeindex"));
        let offsets = py.detach(|| beside::read(&offset_path)).map_err(|error| beside::with_path(py, &error, &offset_path))?;
        let times = py.detach(|| beside::read(&time_path)).map_err(|error| beside::with_path(py, &error, &time_path))?;
        let parsed = Indexes {
            offsets: offsets.map_or_else(missing, |bytes| offset_index::parse(&bytes, self.base_offset)),
            times: times.map_or_else(missing, |bytes| time_index::parse(&bytes, self.base_offset)),
        };
        Ok(self.parsed.get_or_init(|| parsed))
    }

    fn find(&self, py: Python<'_>, look_up: impl Fn(&Lookup<'_>) -> Result<Place> + Sync) -> PyResult<Found> {
        let place = self.look_up(py, look_up)?;
        let batch = place.header.map(|header| (header.size, header.base_offset, header.last_offset));
        Ok((place.position, batch, place.by_index))
    }

    fn look_up<T: Send>(&self, py: Python<'_>, look_up: impl Fn(&Lookup<'_>) -> Result<T> + Sync) -> PyResult<T> {
        let indexes = self.indexes(py)?;
        let (signals, _) = Signals::new();
        let file = RandomFile::open(&self.path).map_err(|error| beside::with_path(py, &error, &self.path))?;
        let lookup = Lookup {
            log: &file,
            len: file.len(),
            limits: Limits::default(),
            offsets: if indexes.offsets.is_sound() { &indexes.offsets.entries } else { &[] },
            times: if indexes.times.is_sound() { &indexes.times.entries } else { &[] },
        };
        py.detach(|| look_up(&lookup)).map_err(|error| signals.raised(py, &error))
    }
}

fn missing<T>() -> Parsed<T> {
    Parsed { entries: Vec::new(), faults: vec![Fault { wrong: Wrong::Missing, position: 0, length: 0 }] }
}

fn found(faults: &[Fault], path: &Path) -> Vec<core::Finding> {
    let path = std::sync::Arc::from(path.to_string_lossy());
    faults.iter().map(|fault| core::Finding::of_fault(fault.clone(), &path)).collect()
}

/// The entries of a file and its findings.
type Read<T> = Option<(Vec<T>, Vec<Finding>)>;

/// The entries of a `.txnindex` and its findings: producerId, firstOffset, lastOffset, lastStableOffset. None when there is no file.
#[pyfunction]
pub fn read_txn_index(py: Python<'_>, path: PathBuf) -> PyResult<Read<(i64, i64, i64, i64)>> {
    let Some(parsed) = parse(py, &path, txn_index::parse)? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|txn| (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset));
    Ok(Some((rows.collect(), finding::to_py(&found(&parsed.faults, &path)))))
}

/// One producer of a snapshot, in the order of the file.
type Producer = (i64, i16, i32, i64, i32, i64, i32, i64);

/// The entries of a `.snapshot` and its findings. None when there is no file.
#[pyfunction]
pub fn read_producer_snapshot(py: Python<'_>, path: PathBuf, end_offset: i64) -> PyResult<Read<Producer>> {
    let Some(parsed) = parse(py, &path, |bytes| producer_snapshot::parse(bytes, end_offset))? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|entry| {
        let last = (entry.producer_id, entry.producer_epoch, entry.last_sequence, entry.last_offset, entry.offset_delta);
        (last.0, last.1, last.2, last.3, last.4, entry.timestamp, entry.coordinator_epoch, entry.current_txn_first_offset)
    });
    Ok(Some((rows.collect(), finding::to_py(&found(&parsed.faults, &path)))))
}

/// The entries of a `leader-epoch-checkpoint` and its findings: epoch, startOffset. None when there is no file.
#[pyfunction]
pub fn read_leader_epochs(py: Python<'_>, path: PathBuf) -> PyResult<Read<(i32, i64)>> {
    let Some(parsed) = parse(py, &path, checkpoint::parse_epochs)? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|entry| (entry.epoch, entry.start_offset)).collect();
    Ok(Some((rows, finding::to_py(&found(&parsed.faults, &path)))))
}

/// The entries of a file of offsets by topic and partition, and its findings. None when there is no file.
#[pyfunction]
pub fn read_offset_checkpoint(py: Python<'_>, path: PathBuf) -> PyResult<Read<(String, i32, i64)>> {
    let Some(parsed) = parse(py, &path, checkpoint::parse_offsets)? else { return Ok(None) };
    let rows = parsed.entries.into_iter().map(|entry| (entry.topic, entry.partition, entry.offset)).collect();
    Ok(Some((rows, finding::to_py(&found(&parsed.faults, &path)))))
}

fn parse<T: Send>(py: Python<'_>, path: &Path, parse: impl Fn(&[u8]) -> Parsed<T> + Sync) -> PyResult<Option<Parsed<T>>> {
    let read = py.detach(|| beside::read(path).map(|bytes| bytes.map(|bytes| parse(&bytes))));
    read.map_err(|error| beside::with_path(py, &error, path))
}

/// The transactions that a committed read of offsets must know, from producer snapshots and markers.
///
/// Args:
///     segments: all segments of one partition in offset order, as (path, base offset).
///     start_offset, end_offset: the offsets that will be read, end exclusive; None for no bound.
///     is_recovering: believe an entry only when its checksum matches, as a read that skips damage does.
#[pyfunction]
#[pyo3(signature = (segments, *, start_offset=None, end_offset=None, is_recovering=false))]
pub fn committed_transactions(
    py: Python<'_>,
    segments: Vec<(PathBuf, i64)>,
    start_offset: Option<i64>,
    end_offset: Option<i64>,
    is_recovering: bool,
) -> PyResult<Transactions> {
    let segments = ordered(segments)?;
    let (signals, interrupt) = Signals::new();
    let committed = Committed {
        wanted: OffsetRange { start: start_offset.unwrap_or(i64::MIN), end: end_offset },
        judge: ChecksumJudge { formats: Formats::default(), limits: Limits::default(), check_crc: is_recovering },
        is_recovering,
        interrupt: &interrupt,
    };
    let segments: Vec<_> = segments.into_iter().map(|(_, segment)| segment).collect();
    let transactions = py.detach(|| committed.transactions(&segments));
    transactions.map(Transactions).map_err(|error| signals.raised(py, &error))
}

fn ordered(segments: Vec<(PathBuf, i64)>) -> PyResult<Vec<(String, Segment)>> {
    if segments.windows(2).any(|pair| matches!(pair, [(_, a), (_, b)] if a > b)) {
        return Err(PyValueError::new_err("segments: the base offsets must not decrease"));
    }
    Ok(segments.into_iter().map(Segment::named).collect())
}
