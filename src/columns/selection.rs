//! Some rows of columns.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, SchemaRef};

/// Return a batch of the rows of columns that are in these runs: first row, and row after the last one.
///
/// # Errors
/// If the columns are not those of the schema, or a run is outside of them.
pub fn selected<'a>(
    columns: impl Iterator<Item = &'a ArrayRef>,
    schema: &SchemaRef,
    runs: &[(usize, usize)],
) -> Result<RecordBatch, ArrowError> {
    let rows: usize = runs.iter().map(|(start, end)| end - start).sum();
    let arrays = columns.map(|column| match runs {
        [(start, end)] => Ok(column.slice(*start, end - start)),
        _ => {
            let data = column.to_data();
            let mut taken = MutableArrayData::new(vec![&data], false, rows);
            runs.iter().try_for_each(|(start, end)| taken.try_extend(0, *start, *end))?;
            Ok(make_array(taken.freeze()))
        }
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays.collect::<Result<_, ArrowError>>()?, &options)
}
