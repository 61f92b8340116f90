//! Comparisons of record batches, for `logsegment.diff`.

use pyo3::prelude::*;

use crate::py::arrow::export::ArrowBatch;
use crate::report::compare::{self, RunKind};

/// How the records compare, how many they are, their offsets unless they are equal, the columns that differ.
type RunRow = (&'static str, usize, Vec<i64>, Vec<String>);

/// Return how many of the first rows of two batches are equal, in all of their columns.
#[pyfunction]
pub fn equal_rows(py: Python<'_>, ours: &ArrowBatch, theirs: &ArrowBatch) -> usize {
    py.detach(|| compare::equal_rows(&ours.0, &theirs.0))
}

/// Return the names of the columns in which the first rows of two batches differ.
#[pyfunction]
pub fn different_columns(ours: &ArrowBatch, theirs: &ArrowBatch) -> Vec<String> {
    compare::different_columns(&ours.0, &theirs.0)
}

/// Compare records by their offsets, up to the last row of one batch; return the runs, and how many rows of each batch are in them.
///
/// A batch without rows is the end of its side: all rows of the other one are in the runs.
#[pyfunction]
pub fn compare_records(py: Python<'_>, ours: &ArrowBatch, theirs: &ArrowBatch) -> (Vec<RunRow>, usize, usize) {
    let (runs, taken, taken_of_theirs) = py.detach(|| compare::compare_records(&ours.0, &theirs.0));
    let rows = runs.into_iter().map(|run| (name(run.kind), run.records, run.offsets, run.columns));
    (rows.collect(), taken, taken_of_theirs)
}

fn name(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Same => "same",
        RunKind::Changed => "changed",
        RunKind::OnlyOurs => "a",
        RunKind::OnlyTheirs => "b",
    }
}
