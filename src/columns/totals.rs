//! What the rows of a view over batches add up to.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};

use crate::model::Totals;
use crate::wire::as_u64;

/// The totals of rows with `baseOffset`, `lastOffset` and `count`; `None` when there are no rows, or one does not tell one of them (L8-28).
pub fn totals(rows: &RecordBatch) -> Option<Totals> {
    let column = |name| rows.column_by_name(name).filter(|column| column.null_count() == 0);
    let first = column("baseOffset")?.as_primitive_opt::<Int64Type>()?;
    let last = column("lastOffset")?.as_primitive_opt::<Int64Type>()?;
    let counts = column("count")?.as_primitive_opt::<Int32Type>()?;
    Some(Totals {
        first_offset: first.values().iter().copied().min()?,
        last_offset: last.values().iter().copied().max()?,
        batches: as_u64(rows.num_rows()),
        records: counts.values().iter().copied().map(i64::from).sum(),
    })
}
