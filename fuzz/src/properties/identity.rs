//! Any records in any format with any codec come back as they were written, and are clean.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use logsegment::columns::Column;
use logsegment::model::RecordFormat;
use logsegment::validate::Depth;

use super::choices::Choices;
use super::reading::{Asked, error_finding, options, read};
use super::writing::{APPENDED, Made, Written};

const COLUMNS: [Column; 5] = [Column::Offset, Column::TimestampMs, Column::Key, Column::Value, Column::HeadersRaw];

/// All bytes choose what is written.
pub fn check(bytes: &[u8]) {
    let written = Written::choose(&mut Choices(bytes));
    let (encoded, options) = (written.encode(), options(written.formats()));
    let found = read(&encoded, &options, &Asked::of(&COLUMNS));
    assert!(found.error.is_none(), "{:?}", found.error);
    assert_eq!(error_finding(&encoded, &options, Depth::Full), None);
    assert_eq!(found.rows(), written.records.len());
    let (keys, values) = (found.blobs(2), found.blobs(3));
    let mut row = 0;
    for batch in &found.batches {
        for at in 0..batch.num_rows() {
            let record = &written.records[row];
            assert_eq!(keys[row].as_deref(), record.key);
            assert_eq!(values[row].as_deref(), record.value);
            ensure_same(&written, record, batch, at);
            row += 1;
        }
    }
}

fn ensure_same(written: &Written<'_>, record: &Made<'_>, batch: &RecordBatch, at: usize) {
    let number = |column: usize| batch.column(column).as_primitive::<Int64Type>().value(at);
    if written.format == RecordFormat::V07 {
        // Its offsets are positions, and it has no timestamps.
        return;
    }
    assert_eq!(number(0), record.offset);
    if written.format != RecordFormat::V0 {
        assert_eq!(number(1), if written.has_append_time { APPENDED } else { record.timestamp });
    }
    let headers = batch.column(4).as_list::<i32>().value(at);
    let headers = headers.as_struct();
    let (names, contents) = (headers.column(0).as_binary::<i32>(), headers.column(1).as_binary::<i32>());
    assert_eq!(names.null_count(), 0);
    let found: Vec<_> = names.iter().flatten().zip(contents.iter()).collect();
    assert_eq!(found, record.headers);
}
