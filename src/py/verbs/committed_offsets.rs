//! The offsets that groups have committed, from the rows of `__consumer_offsets`.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BinaryArray, RecordBatch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::internal_topics as core;
use crate::model::ControlType;
use crate::py::arrow::export::ArrowBatch;

/// Group, topic, partition, committed offset, leader epoch, metadata, time of the commit, time of its expiry, offset of its record, and
/// whether an open transaction has another offset.
type CommitRow = (String, String, i32, i64, Option<i32>, String, i64, Option<i64>, i64, bool);

/// The state of one partition of `__consumer_offsets`; see `logsegment.committed_offsets`.
#[pyclass(name = "CommittedOffsets", module = "logsegment._core")]
#[derive(Default)]
pub struct PyCommittedOffsets {
    state: core::CommittedOffsets,
    /// Where the segment that is read is damaged, until a record after it comes.
    damage: Vec<i64>,
}

#[pymethods]
impl PyCommittedOffsets {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Add rows of records, control records included, in the order of their offsets.
    ///
    /// Args:
    ///     rows: with the columns `key`, `value` (binary), `offset`, `producerId`, `isTransactional`, `isControl` and `entryPosition`.
    ///
    /// Returns:
    ///     Offset, rule and message of each record that cannot be read.
    ///
    /// Raises:
    ///     ValueError: if a column is missing or of another type.
    fn add(&mut self, py: Python<'_>, rows: &ArrowBatch) -> PyResult<Vec<(i64, &'static str, String)>> {
        let added = py.detach(|| self.add_rows(&rows.0));
        added.ok_or_else(|| PyValueError::new_err("the rows lack a column of the records of __consumer_offsets"))
    }

    /// Remember that the segment is damaged at a position, before the rows after it are added.
    fn add_damage(&mut self, position: i64) {
        self.damage.push(position);
    }

    /// End a segment: all of its damage lies before the next one.
    fn leave(&mut self) {
        if !std::mem::take(&mut self.damage).is_empty() {
            self.state.interrupt();
        }
    }

    /// Return the offsets that count, by group, topic and partition, and forget them.
    fn take(&mut self) -> Vec<CommitRow> {
        std::mem::take(&mut self.state).into_sorted().map(|(place, commit, is_pending)| row(place, commit, is_pending)).collect()
    }
}

fn row(place: core::GroupPartition, commit: core::OffsetCommit, is_pending: bool) -> CommitRow {
    let core::GroupPartition { group, topic, partition } = place;
    let core::OffsetCommit { record_offset, offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, .. } = commit;
    (group, topic, partition, offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, record_offset, is_pending)
}

impl PyCommittedOffsets {
    /// `None` if a column is missing.
    fn add_rows(&mut self, rows: &RecordBatch) -> Option<Vec<(i64, &'static str, String)>> {
        let column = |name| rows.column_by_name(name);
        let (keys, values): (&BinaryArray, &BinaryArray) = (column("key")?.as_binary_opt()?, column("value")?.as_binary_opt()?);
        let offsets = column("offset")?.as_primitive_opt::<Int64Type>()?;
        let producers = column("producerId")?.as_primitive_opt::<Int64Type>()?;
        let positions = column("entryPosition")?.as_primitive_opt::<Int64Type>()?;
        let (transactional, control) = (column("isTransactional")?.as_boolean_opt()?, column("isControl")?.as_boolean_opt()?);
        let mut unread = Vec::new();
        for at in 0..rows.num_rows() {
            self.pass(positions.value(at));
            let (key, producer_id) = (bytes(keys, at), producers.is_valid(at).then(|| producers.value(at)).filter(|id| *id >= 0));
            if control.value(at) {
                if let (Some(id), Ok(kind @ (ControlType::Commit | ControlType::Abort))) = (producer_id, ControlType::parse(key)) {
                    self.state.end(id, kind == ControlType::Commit);
                }
                continue;
            }
            let of_transaction = producer_id.filter(|_| transactional.value(at));
            if let Some(undecoded) = self.state.add(offsets.value(at), of_transaction, key, bytes(values, at)) {
                unread.push((offsets.value(at), undecoded.rule(), undecoded.to_string()));
            }
        }
        Some(unread)
    }

    /// Forgets the commits of transactions that are open at damage before a position.
    fn pass(&mut self, position: i64) {
        let before = self.damage.len();
        self.damage.retain(|damage| *damage >= position);
        if self.damage.len() < before {
            self.state.interrupt();
        }
    }
}

fn bytes(array: &BinaryArray, at: usize) -> Option<&[u8]> {
    array.is_valid(at).then(|| array.value(at))
}
