use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, BooleanArray, PrimitiveArray, RecordBatch, StringArray};

/// The columns that are counted.
pub struct Rows<'a> {
    len: usize,
    position: &'a PrimitiveArray<Int64Type>,
    size: &'a PrimitiveArray<Int64Type>,
    base_offset: &'a PrimitiveArray<Int64Type>,
    last_offset: &'a PrimitiveArray<Int64Type>,
    count: &'a PrimitiveArray<Int32Type>,
    magic: &'a PrimitiveArray<Int8Type>,
    compression: &'a StringArray,
    timestamp_type: &'a StringArray,
    max_timestamp: &'a PrimitiveArray<Int64Type>,
    producer_id: &'a PrimitiveArray<Int64Type>,
    producer_epoch: &'a PrimitiveArray<Int16Type>,
    is_transactional: &'a BooleanArray,
    is_control: &'a BooleanArray,
}

/// What is counted of one batch.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub position: i64,
    pub size: u64,
    /// A compressed message before magic 2 does not tell where it begins (L8-28).
    pub base_offset: Option<i64>,
    pub last_offset: i64,
    pub count: Option<u64>,
    pub magic: i8,
    pub compression: &'a str,
    pub timestamp_type: &'a str,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub is_transactional: bool,
    pub is_control: bool,
}

impl<'a> Rows<'a> {
    /// The columns of rows of a view over batches; `None` when one is not there.
    pub fn of(batch: &'a RecordBatch) -> Option<Self> {
        Some(Self {
            len: batch.num_rows(),
            position: numbers(batch, "position")?,
            size: numbers(batch, "size")?,
            base_offset: numbers(batch, "baseOffset")?,
            last_offset: numbers(batch, "lastOffset")?,
            count: numbers(batch, "count")?,
            magic: numbers(batch, "magic")?,
            compression: batch.column_by_name("compression")?.as_string_opt()?,
            timestamp_type: batch.column_by_name("timestampType")?.as_string_opt()?,
            max_timestamp: numbers(batch, "maxTimestamp")?,
            producer_id: numbers(batch, "producerId")?,
            producer_epoch: numbers(batch, "producerEpoch")?,
            is_transactional: batch.column_by_name("isTransactional")?.as_boolean_opt()?,
            is_control: batch.column_by_name("isControl")?.as_boolean_opt()?,
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'a>> {
        (0..self.len).map(|index| self.row(index))
    }

    #[inline]
    fn row(&self, index: usize) -> Row<'a> {
        Row {
            position: self.position.value(index),
            size: u64::try_from(self.size.value(index)).unwrap_or(0),
            base_offset: self.base_offset.is_valid(index).then(|| self.base_offset.value(index)),
            last_offset: self.last_offset.value(index),
            count: self.count.is_valid(index).then(|| u64::try_from(self.count.value(index)).unwrap_or(0)),
            magic: self.magic.value(index),
            compression: self.compression.value(index),
            timestamp_type: self.timestamp_type.value(index),
            max_timestamp: self.max_timestamp.value(index),
            producer_id: self.producer_id.value(index),
            producer_epoch: self.producer_epoch.value(index),
            is_transactional: self.is_transactional.value(index),
            is_control: self.is_control.value(index),
        }
    }
}

fn numbers<'a, T: ArrowPrimitiveType>(batch: &'a RecordBatch, name: &str) -> Option<&'a PrimitiveArray<T>> {
    batch.column_by_name(name)?.as_primitive_opt()
}
