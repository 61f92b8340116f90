//! Where the columns of a batch are in memory: an Arrow array goes in, addresses that `NativeColumn.java` reads come out.

use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::wire::as_u64;

/// The numbers of all columns, each followed by its children: the address of its validity bits (0 if no row is null) and the first of these
/// bits, the address of its first buffer and the first row in it, the address of its second buffer.
pub fn layout(batch: &RecordBatch, numbers: &mut Vec<i64>) {
    numbers.clear();
    for column in batch.columns() {
        describe(&column.to_data(), numbers);
    }
}

fn describe(data: &ArrayData, numbers: &mut Vec<i64>) {
    let (validity, first_bit) = match data.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => (address(nulls.validity().as_ptr()), long(nulls.offset())),
        None => (0, 0),
    };
    let buffer = |index: usize| data.buffers().get(index).map_or(0, |buffer| address(buffer.as_ptr()));
    let is_whole = matches!(data.data_type(), DataType::Struct(_));
    numbers.extend([validity, first_bit, buffer(0), if is_whole { 0 } else { long(data.offset()) }, buffer(1)]);
    let children = match data.data_type() {
        // Keys and values are the children of a map there, without the struct between them.
        DataType::Map(..) => data.child_data().first().map(ArrayData::child_data).unwrap_or_default(),
        _ => data.child_data(),
    };
    for child in children {
        describe(child, numbers);
    }
}

/// The address of memory that the batch keeps.
fn address(pointer: *const u8) -> i64 {
    i64::from_ne_bytes(as_u64(pointer.expose_provenance()).to_ne_bytes())
}

fn long(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
