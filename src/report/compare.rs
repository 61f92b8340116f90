//! Compares the rows of two record batches with the same columns.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;

/// Records that follow each other on one side or both, and compare in the same way.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordRun {
    /// How they compare.
    pub kind: RunKind,
    /// How many they are.
    pub records: usize,
    /// Their offsets, unless they are equal.
    pub offsets: Vec<i64>,
    /// The columns that differ, of changed records.
    pub columns: Vec<String>,
}

/// How records of two sides compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Both sides have the same records.
    Same,
    /// Both sides have these offsets, with other columns.
    Changed,
    /// Only the first side has these offsets.
    OnlyOurs,
    /// Only the second side has these offsets.
    OnlyTheirs,
}

/// Compare records by their offsets, up to the last row of one side.
///
/// Return the runs, and how many rows of each side are in them. An empty side is at its end: all records of the other one are in the runs.
pub fn compare_records(ours: &RecordBatch, theirs: &RecordBatch) -> (Vec<RecordRun>, usize, usize) {
    let (all, others) = (ours.num_rows(), theirs.num_rows());
    let (offsets, other_offsets) = (offsets_of(ours), offsets_of(theirs));
    let (left, right) = (columns_of(ours), columns_of(theirs));
    let (mut runs, mut at, mut other, mut common) = (Vec::new(), 0, 0, 0);
    let ends_at = |at: usize, other: usize| if all > 0 && others > 0 { at == all || other == others } else { at == all && other == others };
    while !ends_at(at, other) {
        let (rest, other_rest) = (offsets.get(at..).unwrap_or_default(), other_offsets.get(other..).unwrap_or_default());
        let (offset, other_offset) = (rest.first().copied(), other_rest.first().copied());
        if common == 0 {
            // Rows with the same offsets on both sides.
            common = rest.iter().zip(other_rest).take_while(|(offset, other)| offset == other).count();
        }
        if common > 0 {
            let equal = equal_from((&left, at), (&right, other), common);
            if equal > 0 {
                extend(&mut runs, RunKind::Same, equal, None, Vec::new());
            } else {
                extend(&mut runs, RunKind::Changed, 1, offset, different_columns(&ours.slice(at, 1), &theirs.slice(other, 1)));
            }
            let taken = equal.max(1);
            (at, other, common) = (at + taken, other + taken, common - taken);
        } else if other_offset.is_none_or(|other| offset.is_some_and(|offset| offset < other)) {
            extend(&mut runs, RunKind::OnlyOurs, 1, offset, Vec::new());
            at += 1;
        } else {
            extend(&mut runs, RunKind::OnlyTheirs, 1, other_offset, Vec::new());
            other += 1;
        }
    }
    (runs, at, other)
}

fn extend(runs: &mut Vec<RecordRun>, kind: RunKind, records: usize, offset: Option<i64>, columns: Vec<String>) {
    match runs.last_mut() {
        Some(run) if run.kind == kind && run.columns == columns => {
            run.records += records;
            run.offsets.extend(offset);
        }
        _ => runs.push(RecordRun { kind, records, offsets: offset.into_iter().collect(), columns }),
    }
}

fn offsets_of(records: &RecordBatch) -> &[i64] {
    let offsets = records.column_by_name("offset").and_then(|column| column.as_primitive_opt::<Int64Type>());
    offsets.map(|offsets| &**offsets.values()).unwrap_or_default()
}

/// Return how many of the first rows of both batches are equal, in all columns.
pub fn equal_rows(ours: &RecordBatch, theirs: &RecordBatch) -> usize {
    equal_from((&columns_of(ours), 0), (&columns_of(theirs), 0), ours.num_rows().min(theirs.num_rows()))
}

/// Return the columns that differ in the first row; those of a batch without rows all differ.
pub fn different_columns(ours: &RecordBatch, theirs: &RecordBatch) -> Vec<String> {
    let fields = ours.schema();
    let columns = fields.fields().iter().zip(columns_of(ours).into_iter().zip(columns_of(theirs)));
    let different = columns.filter(|(_, (ours, theirs))| !is_equal((std::slice::from_ref(ours), 0), (std::slice::from_ref(theirs), 0), 1));
    different.map(|(field, _)| field.name().clone()).collect()
}

fn columns_of(batch: &RecordBatch) -> Vec<ArrayData> {
    batch.columns().iter().map(|column| column.to_data()).collect()
}

/// Columns, and a row in them.
type RowPosition<'a> = (&'a [ArrayData], usize);

/// Return how many of some rows are equal, from a row of each side on.
fn equal_from((ours, at): RowPosition<'_>, (theirs, other): RowPosition<'_>, rows: usize) -> usize {
    let is_equal = |start: usize, len: usize| is_equal((ours, at + start), (theirs, other + start), len);
    let (mut equal, mut len) = (0, rows.min(1));
    // Twice as many rows each time, until one of them differs.
    while len > 0 && is_equal(equal, len) {
        equal += len;
        len = len.saturating_mul(2).min(rows - equal);
    }
    while len > 1 {
        let half = len / 2;
        if is_equal(equal, half) {
            (equal, len) = (equal + half, len - half);
        } else {
            len = half;
        }
    }
    equal
}

fn is_equal((ours, at): RowPosition<'_>, (theirs, other): RowPosition<'_>, len: usize) -> bool {
    let has_rows = |column: &ArrayData, start: usize| column.len() >= start.saturating_add(len);
    let mut columns = ours.iter().zip(theirs);
    ours.len() == theirs.len()
        && columns.all(|(ours, theirs)| has_rows(ours, at) && has_rows(theirs, other) && ours.slice(at, len) == theirs.slice(other, len))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BinaryArray, Int64Array};

    use super::*;

    fn batch(offsets: &[i64], values: &[Option<&[u8]>]) -> RecordBatch {
        let columns: [(&str, ArrayRef, bool); 2] =
            [("offset", Arc::new(Int64Array::from(offsets.to_vec())), true), ("value", Arc::new(BinaryArray::from(values.to_vec())), true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    #[test]
    fn rows_are_equal_up_to_the_first_that_differs() {
        let offsets: Vec<i64> = (0..100).collect();
        let values: Vec<Option<&[u8]>> = offsets.iter().map(|offset| (offset % 7 != 0).then_some(&b"value"[..])).collect();
        let ours = batch(&offsets, &values);
        assert_eq!(equal_rows(&ours, &ours.clone()), 100);
        assert_eq!(equal_rows(&ours, &ours.slice(0, 40)), 40);
        for row in 0..100 {
            let mut changed = values.clone();
            changed[row] = Some(b"other");
            let theirs = batch(&offsets, &changed);
            assert_eq!(equal_rows(&ours, &theirs), row);
            assert_eq!(equal_rows(&ours.slice(row / 2, 100 - row / 2), &theirs.slice(row / 2, 100 - row / 2)), row - row / 2);
            assert_eq!(different_columns(&ours.slice(row, 1), &theirs.slice(row, 1)), ["value"]);
        }
    }

    #[test]
    fn records_are_compared_by_their_offsets() {
        let ours = batch(&[1, 2, 3, 4, 6, 7], &[Some(b"a"), Some(b"b"), None, None, Some(b"f"), Some(b"g")]);
        let theirs = batch(&[1, 3, 4, 5, 6], &[Some(b"a"), Some(b"c"), Some(b"d"), Some(b"e"), Some(b"f")]);
        let run = |kind, records, offsets: &[i64], columns: &[&str]| RecordRun {
            kind,
            records,
            offsets: offsets.to_vec(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        };
        let expected = vec![
            run(RunKind::Same, 1, &[], &[]),
            run(RunKind::OnlyOurs, 1, &[2], &[]),
            run(RunKind::Changed, 2, &[3, 4], &["value"]),
            run(RunKind::OnlyTheirs, 1, &[5], &[]),
            run(RunKind::Same, 1, &[], &[]),
        ];
        assert_eq!(compare_records(&ours, &theirs), (expected, 5, 5));
        let none = theirs.slice(0, 0);
        assert_eq!(compare_records(&ours.slice(4, 2), &none), (vec![run(RunKind::OnlyOurs, 2, &[6, 7], &[])], 2, 0));
        assert_eq!(compare_records(&none, &ours.slice(4, 2)), (vec![run(RunKind::OnlyTheirs, 2, &[6, 7], &[])], 0, 2));
        assert_eq!(compare_records(&none, &none), (vec![], 0, 0));
    }

    #[test]
    fn a_null_is_not_an_empty_value() {
        let (null, empty) = (batch(&[1], &[None]), batch(&[2], &[Some(b"")]));
        assert_eq!(equal_rows(&null, &empty), 0);
        assert_eq!(different_columns(&null, &empty), ["offset", "value"]);
        assert_eq!(different_columns(&null, &null.slice(0, 0)), ["offset", "value"]);
        assert_eq!(equal_rows(&null.slice(0, 0), &null), 0);
    }
}
