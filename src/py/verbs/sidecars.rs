//! The entries and findings of the files next to segments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;

use crate::py::finding::{self, PyFinding};
use crate::py::interrupt::Signals;
use crate::py::source::paths;
use crate::py::source::uris;
use crate::sidecar::{ParsedSidecar, ProducerEntry, SidecarFinding, checkpoint, producer_snapshot, txn_index};
use crate::validate as core;

fn found(findings: &[SidecarFinding], path: &Path) -> Vec<core::Finding> {
    let path = Arc::from(uris::redacted_uri(path));
    findings.iter().map(|finding| core::Finding::of_sidecar(finding.clone(), &path)).collect()
}

/// The entries of a file and its findings.
type SidecarRows<T> = Option<(Vec<T>, Vec<PyFinding>)>;

/// The entries of a `.txnindex` and its findings: producerId, firstOffset, lastOffset, lastStableOffset. None when there is no file.
#[pyfunction]
pub fn read_txn_index(py: Python<'_>, path: PathBuf) -> PyResult<SidecarRows<(i64, i64, i64, i64)>> {
    let Some(parsed) = parse(py, &path, txn_index::parse)? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|txn| (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset));
    Ok(Some((rows.collect(), finding::to_py(&found(&parsed.findings, &path)))))
}

/// One producer of a snapshot, in the order of the file.
type SnapshotRow = (i64, i16, i32, i64, i32, i64, i32, i64);

/// The entries of a `.snapshot` and its findings. None when there is no file.
#[pyfunction]
pub fn read_producer_snapshot(py: Python<'_>, path: PathBuf, end_offset: i64) -> PyResult<SidecarRows<SnapshotRow>> {
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
pub fn read_leader_epochs(py: Python<'_>, path: PathBuf) -> PyResult<SidecarRows<(i32, i64)>> {
    let Some(parsed) = parse(py, &path, checkpoint::parse_epochs)? else { return Ok(None) };
    let rows = parsed.entries.iter().map(|entry| (entry.epoch, entry.start_offset)).collect();
    Ok(Some((rows, finding::to_py(&found(&parsed.findings, &path)))))
}

fn parse<T: Send>(py: Python<'_>, path: &Path, parse: impl Fn(&[u8]) -> ParsedSidecar<T> + Sync) -> PyResult<Option<ParsedSidecar<T>>> {
    let (signals, _) = Signals::new();
    let read = py.detach(|| paths::read(path, &signals).map(|bytes| bytes.map(|bytes| parse(&bytes))));
    read.map_err(|error| paths::raised(py, &error, path, &signals))
}
