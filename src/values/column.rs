//! A column under construction. Values are appended one after the other; the rows of a value that turns out to be bad are taken back.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, NullArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{ArrowError, DataType, Fields, TimeUnit};

use super::payload::{Payload, Problem, Read};
use super::shape::{Shape, ShapeKind, entries, fields};

/// A column with its validity.
#[derive(Debug)]
pub struct ValueColumn {
    shape: Shape,
    nulls: Option<NullBufferBuilder>,
    width: usize,
    pub(super) slots: Slots,
}

/// The values of a column.
#[derive(Debug)]
pub(super) enum Slots {
    Null(usize),
    Boolean(BooleanBufferBuilder),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    I128(Vec<i128>),
    I256(Vec<i256>),
    Runs(ValueRuns),
    Fixed(usize, Vec<u8>),
    List(Vec<i32>, Box<ValueColumn>),
    Map(Vec<i32>, Box<ValueColumn>, Box<ValueColumn>),
    Struct(Vec<ValueColumn>, usize),
}

/// Bytes or text with 32-bit offsets.
#[derive(Debug)]
pub(super) struct ValueRuns {
    pub offsets: Vec<i32>,
    pub data: Vec<u8>,
    pub is_text: bool,
}

/// The end of the rows of a list, a map or a run as a 32-bit offset.
fn end_of(len: usize) -> Read<i32> {
    i32::try_from(len).map_err(|_| Problem::Limit { limit: "bytes of an Arrow column", allowed: u64::from(i32::MAX.unsigned_abs()) }.into())
}

impl ValueRuns {
    fn new(is_text: bool) -> Self {
        Self { offsets: vec![0], data: Vec::new(), is_text }
    }

    #[inline]
    pub fn push(&mut self, run: &[u8]) -> Read<()> {
        self.data.extend_from_slice(run);
        self.end()
    }

    /// Ends a run whose bytes are in `data` already.
    #[inline]
    pub fn end(&mut self) -> Read<()> {
        self.offsets.push(end_of(self.data.len())?);
        Ok(())
    }
}

impl ValueColumn {
    /// An empty column.
    pub fn new(shape: &Shape) -> Self {
        let slots = match &shape.kind {
            ShapeKind::Leaf(data_type) => Slots::of(data_type),
            ShapeKind::Json => Slots::Runs(ValueRuns::new(true)),
            ShapeKind::List(items) => Slots::List(vec![0], Box::new(Self::new(items))),
            ShapeKind::Map(keys, values) => Slots::Map(vec![0], Box::new(Self::new(keys)), Box::new(Self::new(values))),
            ShapeKind::Struct(members) | ShapeKind::Union(members) => {
                Slots::Struct(members.iter().map(|member| Self::new(&member.shape)).collect(), 0)
            }
        };
        let nulls = shape.is_nullable.then(|| NullBufferBuilder::new(0));
        Self { nulls, width: shape.width(), slots, shape: shape.clone() }
    }

    /// Makes room for so many values, but not for what is in lists and maps.
    pub fn reserve(&mut self, rows: usize) {
        match &mut self.slots {
            Slots::I16(values) => values.reserve(rows),
            Slots::I32(values) => values.reserve(rows),
            Slots::I64(values) => values.reserve(rows),
            Slots::U32(values) => values.reserve(rows),
            Slots::U64(values) => values.reserve(rows),
            Slots::F32(values) => values.reserve(rows),
            Slots::F64(values) => values.reserve(rows),
            Slots::Runs(ValueRuns { offsets, .. }) | Slots::List(offsets, _) | Slots::Map(offsets, ..) => offsets.reserve(rows),
            Slots::Struct(children, _) => children.iter_mut().for_each(|child| child.reserve(rows)),
            Slots::Null(_) | Slots::Boolean(_) | Slots::I128(_) | Slots::I256(_) | Slots::Fixed(..) => {}
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match &self.slots {
            Slots::Null(len) | Slots::Struct(_, len) => *len,
            Slots::Boolean(bits) => bits.len(),
            Slots::I16(values) => values.len(),
            Slots::I32(values) => values.len(),
            Slots::I64(values) => values.len(),
            Slots::U32(values) => values.len(),
            Slots::U64(values) => values.len(),
            Slots::F32(values) => values.len(),
            Slots::F64(values) => values.len(),
            Slots::I128(values) => values.len(),
            Slots::I256(values) => values.len(),
            Slots::Runs(runs) => runs.offsets.len().saturating_sub(1),
            Slots::Fixed(size, data) => data.len().checked_div(*size).unwrap_or(0),
            Slots::List(offsets, _) | Slots::Map(offsets, ..) => offsets.len().saturating_sub(1),
        }
    }

    /// Slots that a null takes.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Notes that the value which was appended last is not null.
    #[inline]
    pub(super) fn note_valid(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.append_non_null();
        }
    }

    /// Appends a null, or what stands below a null where the column has none.
    pub fn push_null(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.append_null();
        }
        match &mut self.slots {
            Slots::Null(len) => *len += 1,
            Slots::Boolean(bits) => bits.append(false),
            Slots::I16(values) => values.push(0),
            Slots::I32(values) => values.push(0),
            Slots::I64(values) => values.push(0),
            Slots::U32(values) => values.push(0),
            Slots::U64(values) => values.push(0),
            Slots::F32(values) => values.push(0.0),
            Slots::F64(values) => values.push(0.0),
            Slots::I128(values) => values.push(0),
            Slots::I256(values) => values.push(i256::ZERO),
            Slots::Runs(ValueRuns { offsets, .. }) | Slots::List(offsets, _) | Slots::Map(offsets, ..) => {
                offsets.push(offsets.last().copied().unwrap_or_default());
            }
            Slots::Fixed(size, data) => data.resize(data.len() + *size, 0),
            Slots::Struct(children, len) => {
                *len += 1;
                children.iter_mut().for_each(Self::push_null);
            }
        }
    }

    /// Forgets the values from `len` on.
    pub fn truncate(&mut self, len: usize) {
        if let Some(nulls) = &mut self.nulls {
            nulls.truncate(len);
        }
        match &mut self.slots {
            Slots::Null(own) => *own = len.min(*own),
            Slots::Boolean(bits) => bits.truncate(len),
            Slots::I16(values) => values.truncate(len),
            Slots::I32(values) => values.truncate(len),
            Slots::I64(values) => values.truncate(len),
            Slots::U32(values) => values.truncate(len),
            Slots::U64(values) => values.truncate(len),
            Slots::F32(values) => values.truncate(len),
            Slots::F64(values) => values.truncate(len),
            Slots::I128(values) => values.truncate(len),
            Slots::I256(values) => values.truncate(len),
            Slots::Runs(runs) => runs.data.truncate(cut(&mut runs.offsets, len)),
            Slots::Fixed(size, data) => data.truncate(size.saturating_mul(len)),
            Slots::List(offsets, items) => items.truncate(cut(offsets, len)),
            Slots::Map(offsets, keys, values) => {
                let end = cut(offsets, len);
                keys.truncate(end);
                values.truncate(end);
            }
            Slots::Struct(children, own) => {
                *own = len.min(*own);
                children.iter_mut().for_each(|child| child.truncate(len));
            }
        }
    }

    /// The values as an Arrow array; none are left.
    ///
    /// # Errors
    /// Never for values that this type took; Arrow checks them all the same.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let len = self.len();
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        let shape = &self.shape;
        Ok(match &mut self.slots {
            Slots::Null(len) => Arc::new(NullArray::new(std::mem::take(len))),
            Slots::Boolean(bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Slots::I16(values) => primitive::<Int16Type>(emptied(values), nulls),
            Slots::I32(values) => ints(shape, emptied(values), nulls),
            Slots::I64(values) => longs(shape, emptied(values), nulls),
            Slots::U32(values) => primitive::<UInt32Type>(emptied(values), nulls),
            Slots::U64(values) => primitive::<UInt64Type>(emptied(values), nulls),
            Slots::F32(values) => primitive::<Float32Type>(emptied(values), nulls),
            Slots::F64(values) => primitive::<Float64Type>(emptied(values), nulls),
            Slots::I128(values) => {
                Arc::new(PrimitiveArray::<Decimal128Type>::new(emptied(values).into(), nulls).with_data_type(shape.data_type()))
            }
            Slots::I256(values) => {
                Arc::new(PrimitiveArray::<Decimal256Type>::new(emptied(values).into(), nulls).with_data_type(shape.data_type()))
            }
            Slots::Runs(runs) => {
                let offsets = taken(&mut runs.offsets);
                let data = Buffer::from_vec(emptied(&mut runs.data));
                if runs.is_text {
                    Arc::new(StringArray::try_new(offsets, data, nulls)?)
                } else {
                    Arc::new(BinaryArray::try_new(offsets, data, nulls)?)
                }
            }
            Slots::Fixed(size, data) => {
                let size = i32::try_from(*size).unwrap_or_default();
                let data = Buffer::from_vec(emptied(data));
                Arc::new(FixedSizeBinaryArray::try_new(size, data, nulls)?)
            }
            Slots::List(offsets, items) => {
                let field = match shape.data_type() {
                    DataType::List(field) => field,
                    other => return Err(ArrowError::SchemaError(other.to_string())),
                };
                Arc::new(ListArray::try_new(field, taken(offsets), items.finish()?, nulls)?)
            }
            Slots::Map(offsets, keys, values) => {
                let entries = entries(&keys.shape, &values.shape);
                let DataType::Struct(fields) = entries.data_type().clone() else {
                    return Err(ArrowError::SchemaError(entries.to_string()));
                };
                let pairs = StructArray::try_new(fields, vec![keys.finish()?, values.finish()?], None)?;
                Arc::new(MapArray::try_new(entries, taken(offsets), pairs, nulls, false)?)
            }
            Slots::Struct(children, own) => {
                *own = 0;
                let arrays = children.iter_mut().map(Self::finish).collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(struct_fields(shape), arrays, nulls, len)?)
            }
        })
    }
}

impl Slots {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean(BooleanBufferBuilder::new(0)),
            DataType::Int16 => Self::I16(Vec::new()),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => Self::I32(Vec::new()),
            DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) => Self::I64(Vec::new()),
            DataType::UInt32 => Self::U32(Vec::new()),
            DataType::UInt64 => Self::U64(Vec::new()),
            DataType::Float32 => Self::F32(Vec::new()),
            DataType::Float64 => Self::F64(Vec::new()),
            DataType::Decimal128(..) => Self::I128(Vec::new()),
            DataType::Decimal256(..) => Self::I256(Vec::new()),
            DataType::Binary => Self::Runs(ValueRuns::new(false)),
            DataType::Utf8 => Self::Runs(ValueRuns::new(true)),
            DataType::FixedSizeBinary(size) => Self::Fixed(usize::try_from(*size).unwrap_or_default(), Vec::new()),
            _ => Self::Null(0),
        }
    }
}

/// Cuts offsets to those of `len` rows; returns where the last row ends.
fn cut(offsets: &mut Vec<i32>, len: usize) -> usize {
    offsets.truncate(len + 1);
    offsets.last().and_then(|end| usize::try_from(*end).ok()).unwrap_or_default()
}

fn taken(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let ended = emptied(offsets);
    offsets.push(0);
    OffsetBuffer::new(ScalarBuffer::from(ended))
}

/// Takes values, and leaves room for as many: the next batch is about as large.
fn emptied<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room)
}

/// Ends a row of lists or maps.
#[inline]
pub(super) fn end_row(offsets: &mut Vec<i32>, items: &ValueColumn) -> Read<()> {
    offsets.push(end_of(items.len())?);
    Ok(())
}

/// One child of a struct has the value, the others are null.
pub(super) fn push_member<'p>(
    place: usize,
    children: &mut [ValueColumn],
    payload: &mut Payload<'p>,
    mut read: impl FnMut(&mut ValueColumn, &mut Payload<'p>) -> Read<()>,
) -> Read<()> {
    for (index, child) in children.iter_mut().enumerate() {
        if index == place {
            read(child, payload)?;
        } else {
            payload.spend(child.width())?;
            child.push_null();
        }
    }
    Ok(())
}

fn struct_fields(shape: &Shape) -> Fields {
    match &shape.kind {
        ShapeKind::Struct(members) | ShapeKind::Union(members) => fields(members),
        _ => Fields::empty(),
    }
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

fn ints(shape: &Shape, values: Vec<i32>, nulls: Option<NullBuffer>) -> ArrayRef {
    match shape.data_type() {
        DataType::Date32 => primitive::<Date32Type>(values, nulls),
        DataType::Time32(_) => primitive::<Time32MillisecondType>(values, nulls),
        _ => primitive::<Int32Type>(values, nulls),
    }
}

fn longs(shape: &Shape, values: Vec<i64>, nulls: Option<NullBuffer>) -> ArrayRef {
    match shape.data_type() {
        DataType::Time64(_) => primitive::<Time64MicrosecondType>(values, nulls),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            Arc::new(PrimitiveArray::<TimestampMillisecondType>::new(values.into(), nulls).with_timezone_opt(zone))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), nulls).with_timezone_opt(zone))
        }
        DataType::Timestamp(_, zone) => {
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(values.into(), nulls).with_timezone_opt(zone))
        }
        _ => primitive::<Int64Type>(values, nulls),
    }
}
