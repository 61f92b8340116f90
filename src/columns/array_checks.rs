//! Checks of arrays from other libraries, whose offsets, views and dictionary indexes are claims.
//!
//! Each check looks at the given rows alone, since the slices of a table share their child arrays. It returns the problem as the end of a
//! sentence, `None` for valid rows. What a null slot holds has no meaning.

use std::ops::Range;

use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};

/// Checks the offsets of rows into `len` bytes or items.
pub(super) fn bad_offsets<O: ArrowNativeType + PartialOrd>(offsets: &[O], rows: &Range<usize>, len: usize) -> Option<String> {
    let offsets = offsets.get(rows.start..=rows.end).unwrap_or_default();
    let is_below_zero = offsets.first().is_some_and(|first| first.to_usize().is_none());
    let is_beyond = offsets.last().is_some_and(|last| last.to_usize().is_none_or(|last| last > len));
    let decreasing = offsets.windows(2).position(|pair| matches!(pair, [start, end] if start > end));
    match decreasing {
        Some(row) => Some(format!("the offsets decrease at row {}", rows.start + row)),
        None if is_below_zero || is_beyond => Some(format!("the offsets are outside its {len} bytes or items")),
        None => None,
    }
}

/// Checks views of these buffers.
pub(super) fn bad_views(views: &[u128], nulls: Option<&NullBuffer>, rows: &Range<usize>, buffers: &[&[u8]]) -> Option<String> {
    let is_bad = |view: &u128| {
        let view = ByteView::from(*view);
        let end = u64::from(view.offset) + u64::from(view.length);
        let buffer = usize::try_from(view.buffer_index).ok().and_then(|index| buffers.get(index));
        view.length > MAX_INLINE_VIEW_LEN && buffer.is_none_or(|buffer| end > u64::try_from(buffer.len()).unwrap_or(u64::MAX))
    };
    let row = first_valid(views, nulls, rows, is_bad)?;
    Some(format!("the view of row {row} is outside its buffers"))
}

/// Checks the indexes of a dictionary of `len` values.
pub(super) fn bad_indexes<K: ArrowPrimitiveType>(keys: &PrimitiveArray<K>, rows: &Range<usize>, len: usize) -> Option<String> {
    let row = first_valid(keys.values(), keys.nulls(), rows, |key| key.to_usize().is_none_or(|index| index >= len))?;
    Some(format!("the dictionary index of row {row} is outside its {len} values"))
}

fn first_valid<T>(slots: &[T], nulls: Option<&NullBuffer>, rows: &Range<usize>, is_bad: impl Fn(&T) -> bool) -> Option<usize> {
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls.is_null(row));
    rows.clone().find(|row| slots.get(*row).is_some_and(&is_bad) && !is_null(*row))
}
