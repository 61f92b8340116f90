//! Look-ups, transactions and findings of segments with the files next to them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::decode::{ChecksumVerifier, OffsetRange};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Ending;
use crate::limits::Limits;
use crate::log::partition::SidecarNames;
use crate::log::{Committed, Lookup, Place, ReadAt, no_data_error, sidecar_check};
use crate::py::finding::{self, Finding};
use crate::py::interrupt::Signals;
use crate::py::source::paths::{self, Segment};
use crate::py::source::store::{self, StoredLog};
use crate::sidecar::{
    OffsetEntry, Parsed, ProducerEntry, SidecarFinding, SidecarProblem, TimeEntry, checkpoint, offset_index, producer_snapshot, time_index,
    txn_index,
};
use crate::validate as core;

/// Bytes of an `.index` that lead to the last batch.
const INDEX_TAIL: u64 = 4 << 10;

/// Result of a look-up: position; size, base offset and last offset of the batch, or None; True if an index was used.
type Found = (u64, Option<(u64, i64, i64)>, bool);

/// The indexes of one segment, each read when it is first needed.
#[pyclass(frozen, module = "logsegment._core")]
pub struct SegmentIndex {
    path: PathBuf,
    base_offset: i64,
    next_offset: Option<i64>,
    offsets: OnceLock<Parsed<OffsetEntry>>,
    times: OnceLock<Parsed<TimeEntry>>,
    /// The log in a store, opened once: each time is a question to the store. A file here may grow, and is opened for each look-up.
    stored: OnceLock<StoredLog>,
}

#[pymethods]
impl SegmentIndex {
    /// `next_offset`: the first offset of the next segment. A look-up raises the error of a segment that hides entries before it.
    #[new]
    #[pyo3(signature = (path, base_offset, next_offset=None))]
    fn new(path: PathBuf, base_offset: i64, next_offset: Option<i64>) -> Self {
        Self { path, base_offset, next_offset, offsets: OnceLock::new(), times: OnceLock::new(), stored: OnceLock::new() }
    }

    /// The entries of the `.index`: offset and position.
    fn offset_index(&self, py: Python<'_>) -> PyResult<Vec<(i64, i32)>> {
        Ok(self.offsets(py)?.entries.iter().map(|entry| (entry.offset, entry.position)).collect())
    }

    /// The entries of the `.timeindex`: timestamp and offset.
    fn time_index(&self, py: Python<'_>) -> PyResult<Vec<(i64, i64)>> {
        Ok(self.times(py)?.entries.iter().map(|entry| (entry.timestamp, entry.offset)).collect())
    }

    /// Return the findings of the two index files alone.
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<Finding>> {
        let mut findings = found(&self.offsets(py)?.findings, &paths::sidecar(&self.path, "index"));
        findings.extend(found(&self.times(py)?.findings, &paths::sidecar(&self.path, "timeindex")));
        Ok(finding::to_py(&findings))
    }

    /// The first batch that ends at or after `offset`.
    fn find_offset(&self, py: Python<'_>, offset: i64) -> PyResult<Found> {
        self.look_up(py, |lookup| lookup.offset(offset)).map(as_found)
    }

    /// Return False if the base offset of the entry at `position` is not above `last_offset`, the last offset before it.
    fn offsets_increase_at(&self, py: Python<'_>, position: u64, last_offset: i64) -> PyResult<bool> {
        self.look_up(py, |lookup| lookup.offsets_increase_at(position, last_offset))
    }

    /// The first batch that may hold a record at or after `timestamp` (ms).
    fn find_timestamp(&self, py: Python<'_>, timestamp: i64) -> PyResult<Found> {
        self.look_up(py, |lookup| lookup.timestamp(timestamp)).map(as_found)
    }

    /// Return positions of batches about every `step` bytes, after `start`, where a batch begins, and before `end`; with `valid` only of
    /// batches whose checksum matches.
    #[pyo3(signature = (start, end, step, *, valid=false))]
    fn cuts(&self, py: Python<'_>, start: u64, end: u64, step: u64, valid: bool) -> PyResult<Vec<u64>> {
        self.look_past_damage(py, |lookup| {
            let cuts = lookup.splits(start, end, step)?;
            if valid { lookup.valid_splits(cuts) } else { Ok(cuts) }
        })
    }

    /// Return the bytes that hold all valid batches of wanted offsets, and the one before them, whatever damaged headers claim.
    #[pyo3(signature = (start_offset=None, end_offset=None))]
    fn valid_range(&self, py: Python<'_>, start_offset: Option<i64>, end_offset: Option<i64>) -> PyResult<(u64, Option<u64>)> {
        self.look_up(py, |lookup| lookup.valid_range(start_offset, end_offset))
    }

    /// Return the finding of a sound `.index` whose entries led a look-up of `offset`, which ended at `position`, to no batch of the log, or
    /// end far before it.
    fn index_finding(&self, py: Python<'_>, offset: i64, position: u64, by_index: bool) -> PyResult<Option<Finding>> {
        let entries = valid_entries(self.offsets(py)?);
        Ok(sidecar_check::misleading_entry(entries, offset, position, by_index).and_then(|finding| self.in_file_of(finding, "index")))
    }

    /// Cuts into pieces of at most `step` offsets: the first offset of a piece, where it begins, where the bytes of the one before end.
    fn offset_cuts(&self, py: Python<'_>, start: i64, end: i64, step: i64) -> PyResult<Vec<(i64, u64, u64)>> {
        let cuts = self.look_past_damage(py, |lookup| lookup.offset_splits(start, end, step))?;
        Ok(cuts.into_iter().map(|cut| (cut.offset, cut.position, cut.end_before)).collect())
    }

    /// Return the offset after the last batch between two positions, see `Lookup::offset_within`.
    #[pyo3(signature = (start, end, *, takes_first=false))]
    fn offset_within(&self, py: Python<'_>, start: u64, end: u64, takes_first: bool) -> PyResult<Option<i64>> {
        self.look_up(py, |lookup| lookup.offset_within(start, end, takes_first))
    }

    /// Return where the segment begins, by its first batch, past damage before it; None if it has no batch.
    ///
    /// `offsets` are those that the names allow: first (inclusive) and end (exclusive). No checksum covers a base offset: if that of the first
    /// batch is outside of them and the second batch does not continue it, it is damaged, and the second batch counts.
    fn first_offset(&self, py: Python<'_>, offsets: (i64, Option<i64>)) -> PyResult<Option<i64>> {
        let allowed = OffsetRange { start: offsets.0, end: offsets.1 };
        self.look_up_with(py, AtDamage::GoOn, &[], |lookup| lookup.first_offset(&allowed))
    }

    /// Return the finding (SEG-1) of a segment that holds offsets from `first` to those of its last batch, which its name does not allow.
    ///
    /// `offsets` are those that the names allow: first (inclusive) and end (exclusive). `baseOffset` and `lastOffset` of the finding are those
    /// of the batches; `lastOffset` is None if the end is damaged. None if `first` and the last batch are inside. Of the `.index` only the end
    /// is read.
    fn misnamed(&self, py: Python<'_>, first: i64, offsets: (i64, Option<i64>)) -> PyResult<Option<Finding>> {
        let allowed = OffsetRange { start: offsets.0, end: offsets.1 };
        let (signals, _) = Signals::new();
        let index = paths::sidecar(&self.path, "index");
        let entries = py.detach(|| paths::tail(&index, INDEX_TAIL, &signals)).map(|bytes| offset_index::entries(&bytes, self.base_offset));
        let entries = entries.map_err(|error| paths::raised(py, &error, &index, &signals))?;
        let last =
            self.look_up_with(py, AtDamage::GoOn, &entries, |lookup| match no_data_error(lookup.last_batch_before_zeros())?.flatten() {
                Some(last) => no_data_error(lookup.valid_at(last.position)).map(Option::flatten),
                None => Ok(None),
            })?;
        let (last_offset, end) = last.map_or((None, 0), |last| (Some(last.last_offset), last.position.saturating_add(last.size)));
        if allowed.contains(first) && last.is_none_or(|last| allowed.ensure_holds(&last).is_ok()) {
            return Ok(None);
        }
        let kind = ErrorKind::OutsideSegment { first, last: last_offset.unwrap_or(first), start: offsets.0, end: offsets.1 };
        let found = core::Finding::of_error(&Error::from(kind).in_batch(first).in_field("baseOffset"), 0, end);
        let found = core::Finding { last_offset, ..found }.in_file(&Arc::from(store::shown(&self.path)));
        Ok(finding::to_py(&[found]).pop())
    }

    /// Position, size and last offset of the last whole batch; None when there is none.
    fn last_batch(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, i64)>> {
        let last = self.look_up(py, |lookup| lookup.last_batch())?;
        Ok(last.map(|header| (header.position, header.size, header.last_offset)))
    }
}

impl SegmentIndex {
    fn offsets(&self, py: Python<'_>) -> PyResult<&Parsed<OffsetEntry>> {
        self.index(py, &self.offsets, "index", |bytes| offset_index::parse(bytes, self.base_offset))
    }

    fn times(&self, py: Python<'_>) -> PyResult<&Parsed<TimeEntry>> {
        self.index(py, &self.times, "timeindex", |bytes| time_index::parse(bytes, self.base_offset))
    }

    fn index<'a, T: Send>(
        &self,
        py: Python<'_>,
        known: &'a OnceLock<Parsed<T>>,
        suffix: &str,
        parse: impl Fn(&[u8]) -> Parsed<T>,
    ) -> PyResult<&'a Parsed<T>> {
        if let Some(parsed) = known.get() {
            return Ok(parsed);
        }
        let path = paths::sidecar(&self.path, suffix);
        let (signals, _) = Signals::new();
        let read = py.detach(|| paths::read(&path, &signals));
        let bytes = read.map_err(|error| paths::raised(py, &error, &path, &signals))?;
        Ok(known.get_or_init(|| bytes.map_or_else(missing, |bytes| parse(&bytes))))
    }

    /// Looks something up with the entries of the `.index`.
    fn look_up<T: Send>(&self, py: Python<'_>, look_up: impl Fn(&Lookup<'_>) -> Result<T> + Sync) -> PyResult<T> {
        self.look_up_by(py, AtDamage::Fail, look_up)
    }

    /// Looks up past damaged bytes of a store: cut points do not need them, and the reader of the pieces reports them.
    fn look_past_damage<T: Send>(&self, py: Python<'_>, look_up: impl Fn(&Lookup<'_>) -> Result<T> + Sync) -> PyResult<T> {
        self.look_up_by(py, AtDamage::GoOn, look_up)
    }

    fn look_up_by<T: Send>(&self, py: Python<'_>, at_damage: AtDamage, look_up: impl Fn(&Lookup<'_>) -> Result<T> + Sync) -> PyResult<T> {
        self.look_up_with(py, at_damage, valid_entries(self.offsets(py)?), look_up)
    }

    /// Each look-up has its own signals: other threads may look something up in the meantime.
    fn look_up_with<T: Send>(
        &self,
        py: Python<'_>,
        at_damage: AtDamage,
        offsets: &[OffsetEntry],
        look_up: impl Fn(&Lookup<'_>) -> Result<T> + Sync,
    ) -> PyResult<T> {
        let (signals, _) = Signals::new();
        signals.skip_damage(at_damage == AtDamage::GoOn);
        let opened = py.detach(|| self.open(&signals));
        let (log, len) = opened.map_err(|error| paths::raised(py, &error, &self.path, &signals))?;
        let lookup = Lookup { log: &*log, len, limits: Limits::default(), offsets, ending: self.ending() };
        py.detach(|| look_up(&lookup)).map_err(|error| signals.raised(py, &paths::in_file(error, &self.path)))
    }

    /// Return what follows the log. Ask after it was opened.
    fn ending(&self) -> Ending {
        let next = self.next_offset.filter(|next| paths::has_next(&self.path, *next));
        next.map_or(Ending::Open, |next| Ending::Segment { first: Some(self.base_offset), next })
    }

    fn open(&self, signals: &Arc<Signals>) -> std::io::Result<(Box<dyn ReadAt>, u64)> {
        if !store::is_stored(&self.path) {
            return paths::open(&self.path, signals);
        }
        let stored = match self.stored.get() {
            Some(stored) => stored,
            None => {
                let opened = StoredLog::open(&self.path, signals)?;
                self.stored.get_or_init(|| opened)
            }
        };
        Ok((Box::new(stored.asked_by(signals)), stored.len()))
    }

    fn in_file_of(&self, finding: SidecarFinding, suffix: &str) -> Option<Finding> {
        finding::to_py(&found(&[finding], &paths::sidecar(&self.path, suffix))).pop()
    }
}

/// Reaction of a look-up to damaged bytes of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtDamage {
    Fail,
    GoOn,
}

fn as_found(place: Place) -> Found {
    let batch = place.header.map(|header| (header.size, header.base_offset, header.last_offset));
    (place.position, batch, place.by_index)
}

fn valid_entries<T>(parsed: &Parsed<T>) -> &[T] {
    if parsed.is_valid() { &parsed.entries } else { &[] }
}

fn missing<T>() -> Parsed<T> {
    Parsed { entries: Vec::new(), findings: vec![SidecarFinding { problem: SidecarProblem::Missing, position: 0, length: 0 }] }
}

fn found(findings: &[SidecarFinding], path: &Path) -> Vec<core::Finding> {
    let path = Arc::from(store::shown(path));
    findings.iter().map(|finding| core::Finding::of_sidecar(finding.clone(), &path)).collect()
}

/// The entries of a file and its findings.
type Read<T> = Option<(Vec<T>, Vec<Finding>)>;

/// The entries of a `.txnindex` and its findings: producerId, firstOffset, lastOffset, lastStableOffset. None when there is no file.
#[pyfunction]
pub fn read_txn_index(py: Python<'_>, path: PathBuf) -> PyResult<Read<(i64, i64, i64, i64)>> {
    let Some(parsed) = parse(py, &path, txn_index::parse)? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|txn| (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset));
    Ok(Some((rows.collect(), finding::to_py(&found(&parsed.findings, &path)))))
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
    Ok(Some((rows.collect(), finding::to_py(&found(&parsed.findings, &path)))))
}

/// Return the bytes of a `.snapshot` file without the transactions that had ended at a later one: a cleaner may have removed their markers.
#[pyfunction]
pub fn without_ended_transactions(snapshot: Vec<u8>, later: Vec<u8>) -> Vec<u8> {
    let (mut before, after) = (producer_snapshot::parse(&snapshot, i64::MAX), producer_snapshot::parse(&later, i64::MAX));
    if !before.is_valid() || !after.is_valid() {
        return snapshot;
    }
    let is_open = |entry: &ProducerEntry| {
        let same = |other: &&ProducerEntry| other.producer_id == entry.producer_id;
        after.entries.iter().find(same).is_some_and(|other| other.current_txn_first_offset == entry.current_txn_first_offset)
    };
    for entry in before.entries.iter_mut().filter(|entry| !is_open(entry)) {
        entry.current_txn_first_offset = -1;
    }
    producer_snapshot::to_bytes(&before.entries)
}

/// The entries of a `leader-epoch-checkpoint` and its findings: epoch, startOffset. None when there is no file.
#[pyfunction]
pub fn read_leader_epochs(py: Python<'_>, path: PathBuf) -> PyResult<Read<(i32, i64)>> {
    let Some(parsed) = parse(py, &path, checkpoint::parse_epochs)? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|entry| (entry.epoch, entry.start_offset)).collect();
    Ok(Some((rows, finding::to_py(&found(&parsed.findings, &path)))))
}

/// The entries of a file of offsets by topic and partition, and its findings. None when there is no file.
#[pyfunction]
pub fn read_offset_checkpoint(py: Python<'_>, path: PathBuf) -> PyResult<Read<(String, i32, i64)>> {
    let Some(parsed) = parse(py, &path, checkpoint::parse_offsets)? else { return Ok(None) };
    let rows = parsed.entries.into_iter().map(|entry| (entry.topic, entry.partition, entry.offset)).collect();
    Ok(Some((rows, finding::to_py(&found(&parsed.findings, &path)))))
}

fn parse<T: Send>(py: Python<'_>, path: &Path, parse: impl Fn(&[u8]) -> Parsed<T> + Sync) -> PyResult<Option<Parsed<T>>> {
    let (signals, _) = Signals::new();
    let read = py.detach(|| paths::read(path, &signals).map(|bytes| bytes.map(|bytes| parse(&bytes))));
    read.map_err(|error| paths::raised(py, &error, path, &signals))
}
