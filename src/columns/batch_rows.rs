//! Batch headers, read back from the rows of `batch_columns`.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch};

use crate::model::{Attributes, BatchHeader, Producer, RecordFormat, Totals};

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct BatchRow {
    /// The header. Kafka 0.7 is not distinguished: its format is that of its magic byte.
    pub header: BatchHeader,
    /// The offset of the first record; `None` while a wrapper of magic 0 or 1 is not decompressed (L8-28).
    pub base_offset: Option<i64>,
    /// True if the checksum matches; `None` if it was not compared.
    pub is_valid: Option<bool>,
}

/// Return the rows of a record batch, or `None` if it has other columns.
pub fn batch_rows(batch: &RecordBatch) -> Option<Vec<BatchRow>> {
    let (positions, sizes) = (numbers::<Int64Type>(batch, "position")?, numbers::<Int64Type>(batch, "size")?);
    let (base_offsets, last_offsets) = (numbers::<Int64Type>(batch, "baseOffset")?, numbers::<Int64Type>(batch, "lastOffset")?);
    let (counts, magics) = (numbers::<Int32Type>(batch, "count")?, numbers::<Int8Type>(batch, "magic")?);
    let (base_times, max_times) = (numbers::<Int64Type>(batch, "baseTimestamp")?, numbers::<Int64Type>(batch, "maxTimestamp")?);
    let (attributes, crcs) = (numbers::<Int16Type>(batch, "attributes")?, numbers::<Int64Type>(batch, "crc")?);
    let (ids, epochs) = (numbers::<Int64Type>(batch, "producerId")?, numbers::<Int16Type>(batch, "producerEpoch")?);
    let (sequences, leaders) = (numbers::<Int32Type>(batch, "baseSequence")?, numbers::<Int32Type>(batch, "partitionLeaderEpoch")?);
    let are_valid = batch.column_by_name("isValid")?.as_boolean_opt()?;
    let row = |at: usize| {
        let (base_offset, last_offset, magic) = (known(base_offsets, at), last_offsets.value(at), magics.value(at));
        let producer = Producer { id: ids.value(at), epoch: epochs.value(at), base_sequence: sequences.value(at) };
        let header = BatchHeader {
            position: u64::try_from(positions.value(at)).unwrap_or(0),
            size: u64::try_from(sizes.value(at)).unwrap_or(0),
            format: format_of(magic),
            magic,
            base_offset: base_offset.unwrap_or(last_offset),
            last_offset,
            count: known(counts, at),
            attributes: Attributes(attributes.value(at)),
            base_timestamp: base_times.value(at),
            max_timestamp: max_times.value(at),
            crc: u32::try_from(crcs.value(at)).unwrap_or(0),
            partition_leader_epoch: leaders.value(at),
            producer,
        };
        BatchRow { header, base_offset, is_valid: are_valid.is_valid(at).then(|| are_valid.value(at)) }
    };
    Some((0..batch.num_rows()).map(row).collect())
}

/// Returns the totals of the rows; `None` when there are no rows, or one lacks its first offset or its count (L8-28).
pub fn totals(rows: &[BatchRow]) -> Option<Totals> {
    rows.iter().map(|row| row.base_offset.and_then(|_| Totals::of(&row.header))).reduce(|all, batch| Some(all?.and(batch?))).flatten()
}

fn numbers<'a, T: ArrowPrimitiveType>(batch: &'a RecordBatch, name: &str) -> Option<&'a PrimitiveArray<T>> {
    batch.column_by_name(name)?.as_primitive_opt::<T>()
}

fn known<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, at: usize) -> Option<T::Native> {
    column.is_valid(at).then(|| column.value(at))
}

fn format_of(magic: i8) -> RecordFormat {
    match magic {
        ..=0 => RecordFormat::V0,
        1 => RecordFormat::V1,
        2 => RecordFormat::V2,
        _ => RecordFormat::V3,
    }
}
