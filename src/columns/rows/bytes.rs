//! A column of runs of bytes: binary or text, with offsets or views, of fixed size, by dictionary, or all null.
//!
//! Arrays come from other libraries: offsets, views and dictionary indexes are checked once, before the first row is read.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, ByteArrayType, ByteViewType};
use arrow_array::{Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;

use super::errors::{invalid, unfit};
use crate::columns::array_checks::{bad_indexes, bad_offsets, bad_views};
use crate::error::Result;

/// The runs of a column; nothing is copied.
pub struct ByteRuns<'a> {
    layout: BytesLayout<'a>,
    nulls: Option<&'a NullBuffer>,
}

enum BytesLayout<'a> {
    Short(&'a [i32], &'a [u8]),
    Long(&'a [i64], &'a [u8]),
    Views(ViewArray<'a>),
    Fixed(usize, &'a [u8]),
    /// The number of the first row, and the index of each row's run among others.
    Dictionary(usize, Vec<usize>, Box<ByteRuns<'a>>),
    AllNull,
}

struct ViewArray<'a> {
    views: &'a [u128],
    buffers: Vec<&'a [u8]>,
}

impl<'a> ByteRuns<'a> {
    /// The runs of an array.
    ///
    /// # Errors
    /// `Usage` for an array of another type, or one that is not valid.
    pub fn of(name: &str, array: &'a ArrayRef) -> Result<Self> {
        Self::within(name, array, 0..array.len())
    }

    /// The same of an array of which only these rows will be read.
    pub(super) fn within(name: &str, array: &'a ArrayRef, rows: Range<usize>) -> Result<Self> {
        let (runs, problem) = Self::of_array(array, &rows).ok_or_else(|| unfit(name, "binary or text", array))?;
        problem.map_or(Ok(runs), |problem| Err(invalid(name, &problem)))
    }

    /// The run of a row, `None` for null.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        match &self.layout {
            BytesLayout::Short(offsets, data) => Some(between(offsets, data, row)),
            BytesLayout::Long(offsets, data) => Some(between(offsets, data, row)),
            BytesLayout::Views(views) => Some(views.get(row)),
            BytesLayout::Fixed(size, data) => Some(data.get(row * size..(row + 1) * size).unwrap_or_default()),
            BytesLayout::Dictionary(first, indexes, runs) => runs.get(*indexes.get(row.checked_sub(*first)?)?),
            BytesLayout::AllNull => None,
        }
    }

    /// The runs, and why the array is not valid.
    fn of_array(array: &'a ArrayRef, rows: &Range<usize>) -> Option<(Self, Option<String>)> {
        let (layout, problem) = match array.data_type() {
            DataType::Binary => short(array.as_binary(), rows),
            DataType::Utf8 => short(array.as_string(), rows),
            DataType::LargeBinary => long(array.as_binary(), rows),
            DataType::LargeUtf8 => long(array.as_string(), rows),
            DataType::BinaryView => views(array.as_binary_view(), rows),
            DataType::Utf8View => views(array.as_string_view(), rows),
            DataType::FixedSizeBinary(_) => (fixed(array.as_fixed_size_binary())?, None),
            DataType::Dictionary(_, _) => dictionary(array, rows)?,
            DataType::Null => (BytesLayout::AllNull, None),
            _ => return None,
        };
        Some((Self { layout, nulls: array.nulls() }, problem))
    }
}

impl<'a> ViewArray<'a> {
    #[inline]
    fn get(&self, row: usize) -> &'a [u8] {
        let Some(view) = self.views.get(row) else { return &[] };
        let length = usize::try_from(ByteView::from(*view).length).unwrap_or(usize::MAX);
        if length <= usize::try_from(MAX_INLINE_VIEW_LEN).unwrap_or(0) {
            let inline: &[u8] = bytemuck::bytes_of(view);
            return inline.get(4..4 + length).unwrap_or_default();
        }
        let view = ByteView::from(*view);
        let start = usize::try_from(view.offset).unwrap_or(usize::MAX);
        let buffer = usize::try_from(view.buffer_index).ok().and_then(|index| self.buffers.get(index));
        buffer.and_then(|buffer| buffer.get(start..)?.get(..length)).unwrap_or_default()
    }
}

/// The run between two offsets.
#[inline]
fn between<'a, O: ArrowNativeType>(offsets: &[O], data: &'a [u8], row: usize) -> &'a [u8] {
    match offsets.get(row..row + 2) {
        Some([start, end]) => data.get(start.as_usize()..end.as_usize()).unwrap_or_default(),
        _ => &[],
    }
}

fn short<'a, T: ByteArrayType<Offset = i32>>(array: &'a GenericByteArray<T>, rows: &Range<usize>) -> (BytesLayout<'a>, Option<String>) {
    let (offsets, data) = (array.value_offsets(), array.value_data());
    (BytesLayout::Short(offsets, data), bad_offsets(offsets, rows, data.len()))
}

fn long<'a, T: ByteArrayType<Offset = i64>>(array: &'a GenericByteArray<T>, rows: &Range<usize>) -> (BytesLayout<'a>, Option<String>) {
    let (offsets, data) = (array.value_offsets(), array.value_data());
    (BytesLayout::Long(offsets, data), bad_offsets(offsets, rows, data.len()))
}

fn views<'a, T: ByteViewType + ?Sized>(array: &'a GenericByteViewArray<T>, rows: &Range<usize>) -> (BytesLayout<'a>, Option<String>) {
    let views = array.views();
    let buffers: Vec<_> = array.data_buffers().iter().map(|buffer| buffer.as_slice()).collect();
    let problem = bad_views(views, array.nulls(), rows, &buffers);
    (BytesLayout::Views(ViewArray { views, buffers }), problem)
}

fn fixed(array: &FixedSizeBinaryArray) -> Option<BytesLayout<'_>> {
    Some(BytesLayout::Fixed(usize::try_from(array.value_length()).ok()?, array.value_data()))
}

fn dictionary<'a>(array: &'a ArrayRef, rows: &Range<usize>) -> Option<(BytesLayout<'a>, Option<String>)> {
    use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
    indexed::<UInt32Type>(array, rows)
        .or_else(|| indexed::<Int32Type>(array, rows))
        .or_else(|| indexed::<Int8Type>(array, rows))
        .or_else(|| indexed::<Int16Type>(array, rows))
        .or_else(|| indexed::<Int64Type>(array, rows))
        .or_else(|| indexed::<UInt8Type>(array, rows))
        .or_else(|| indexed::<UInt16Type>(array, rows))
        .or_else(|| indexed::<UInt64Type>(array, rows))
}

fn indexed<'a, K: ArrowDictionaryKeyType>(array: &'a ArrayRef, rows: &Range<usize>) -> Option<(BytesLayout<'a>, Option<String>)> {
    let array: &DictionaryArray<K> = array.as_any().downcast_ref()?;
    let (runs, problem) = ByteRuns::of_array(array.values(), &(0..array.values().len()))?;
    let problem = problem.or_else(|| bad_indexes(array.keys(), rows, array.values().len()));
    let keys = array.keys().values().get(rows.clone()).unwrap_or_default();
    let indexes = keys.iter().map(|key| key.as_usize()).collect();
    Some((BytesLayout::Dictionary(rows.start, indexes, Box::new(runs)), problem))
}

/// Where the items of each list start and end.
#[derive(Clone, Copy)]
pub enum ArrayOffsets<'a> {
    /// Of lists.
    Short(&'a [i32]),
    /// Of large lists.
    Long(&'a [i64]),
}

impl ArrayOffsets<'_> {
    /// Why these are not the ends of lists of `len` items.
    pub fn problem(self, len: usize) -> Option<String> {
        match self {
            Self::Short(ends) => bad_offsets(ends, &(0..ends.len().saturating_sub(1)), len),
            Self::Long(ends) => bad_offsets(ends, &(0..ends.len().saturating_sub(1)), len),
        }
    }

    /// Where the items of the first `lists` lists start and end.
    pub(in crate::columns) fn items(self, lists: usize) -> Range<usize> {
        let last = lists.checked_sub(1).map_or(0..0, |last| self.range(last));
        self.range(0).start..last.end
    }

    /// Where the items of a list start and end.
    #[inline]
    pub fn range(self, row: usize) -> Range<usize> {
        match self {
            Self::Short(ends) => range(ends, row),
            Self::Long(ends) => range(ends, row),
        }
    }
}

#[inline]
fn range<O: OffsetSizeTrait>(ends: &[O], row: usize) -> Range<usize> {
    match ends.get(row..row + 2) {
        Some([start, end]) => start.as_usize()..end.as_usize(),
        _ => 0..0,
    }
}
