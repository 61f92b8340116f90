//! Keys, values and headers of the records of a batch.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, LargeBinaryArray, ListArray, RecordBatch, StructArray};

use super::framing::{HEADER_KINDS, HeaderKind, KEY_HEADERS, KEY_TYPE_HEADER, SchemaHeader, VALUE_HEADERS, VALUE_TYPE_HEADER};
use super::outputs::RecordPart;
use crate::columns::Column;
use crate::error::{ErrorKind, Result};

/// The columns of a batch that values are decoded from.
pub struct RecordParts<'a> {
    offsets: &'a [i64],
    positions: &'a [i64],
    value: Option<BytesArray<'a>>,
    key: Option<BytesArray<'a>>,
    headers: Option<RecordHeaders<'a>>,
    is_control: Option<&'a BooleanArray>,
}

impl<'a> RecordParts<'a> {
    /// The columns of a batch.
    ///
    /// # Errors
    /// `Internal` for one that is missing.
    pub fn of(batch: &'a RecordBatch) -> Result<Self> {
        let missing = || ErrorKind::Internal { what: "a column of records is missing".to_owned() };
        let column = |column: Column| batch.column_by_name(column.name());
        Ok(Self {
            offsets: longs(batch, Column::Offset).ok_or_else(missing)?,
            positions: longs(batch, Column::EntryPosition).ok_or_else(missing)?,
            value: column(Column::Value).and_then(BytesArray::of),
            key: column(Column::Key).and_then(BytesArray::of),
            headers: column(Column::HeadersRaw).and_then(RecordHeaders::of),
            is_control: column(Column::IsControl).and_then(|array| array.as_boolean_opt()),
        })
    }

    /// The key or the value of a record; `None` for null, and for a control record, which says something else.
    pub fn bytes(&self, part: RecordPart, row: usize) -> Option<&'a [u8]> {
        if self.is_control.is_some_and(|controls| controls.value(row)) {
            return None;
        }
        let runs = match part {
            RecordPart::Value => self.value.as_ref(),
            RecordPart::Key => self.key.as_ref(),
        };
        runs?.get(row)
    }

    /// The header that names the schema of the key or the value.
    #[inline]
    pub fn header(&self, part: RecordPart, row: usize) -> Option<SchemaHeader<'a>> {
        self.headers.as_ref()?.find_part(part, row)
    }

    /// The offset of a record.
    pub fn offset(&self, row: usize) -> i64 {
        self.offsets.get(row).copied().unwrap_or_default()
    }

    /// The position of its entry.
    pub fn position(&self, row: usize) -> u64 {
        self.positions.get(row).and_then(|position| u64::try_from(*position).ok()).unwrap_or_default()
    }
}

/// A column of bytes in any layout.
enum BytesArray<'a> {
    Short(&'a BinaryArray),
    Long(&'a LargeBinaryArray),
    Views(&'a BinaryViewArray),
}

impl<'a> BytesArray<'a> {
    fn of(array: &'a ArrayRef) -> Option<Self> {
        let short = array.as_binary_opt::<i32>().map(Self::Short);
        short.or_else(|| array.as_binary_opt::<i64>().map(Self::Long)).or_else(|| array.as_binary_view_opt().map(Self::Views))
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Short(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Long(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Views(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// The headers of records, with keys as bytes.
pub(super) struct RecordHeaders<'a> {
    lists: &'a ListArray,
    keys: &'a BinaryArray,
    values: BytesArray<'a>,
}

impl<'a> RecordHeaders<'a> {
    pub fn of(array: &'a ArrayRef) -> Option<Self> {
        let lists = array.as_list_opt::<i32>()?;
        let rows: &StructArray = lists.values().as_struct_opt()?;
        if rows.is_empty() {
            return None;
        }
        let [keys, values] = rows.columns() else { return None };
        Some(Self { lists, keys: keys.as_binary_opt::<i32>()?, values: BytesArray::of(values)? })
    }

    /// True for a column of the type of `headersRaw`.
    pub fn is_type_of(array: &ArrayRef) -> bool {
        let rows: Option<&StructArray> = array.as_list_opt::<i32>().and_then(|lists| lists.values().as_struct_opt());
        let columns = rows.map(StructArray::columns);
        matches!(columns, Some([keys, values]) if keys.as_binary_opt::<i32>().is_some() && BytesArray::of(values).is_some())
    }

    /// The header that names the schema of the key or the value of a row.
    #[inline]
    pub fn find_part(&self, part: RecordPart, row: usize) -> Option<SchemaHeader<'a>> {
        let ends = self.lists.value_offsets().get(row..row + 2)?;
        let [start, end] = ends else { return None };
        if start == end {
            return None;
        }
        self.find_between(usize::try_from(*start).ok()?..usize::try_from(*end).ok()?, part)
    }

    /// The first name counts before the others.
    fn find_between(&self, headers: Range<usize>, part: RecordPart) -> Option<SchemaHeader<'a>> {
        let (names, type_name) = match part {
            RecordPart::Value => (VALUE_HEADERS, VALUE_TYPE_HEADER),
            RecordPart::Key => (KEY_HEADERS, KEY_TYPE_HEADER),
        };
        names.iter().zip(HEADER_KINDS).find_map(|(name, kind)| {
            let value = self.last(headers.clone(), name)?;
            let message_type = if kind == HeaderKind::Confluent { None } else { self.last(headers.clone(), type_name) };
            Some(SchemaHeader { kind, value, message_type })
        })
    }

    /// The value of the last header with a name.
    fn last(&self, mut headers: Range<usize>, name: &str) -> Option<&'a [u8]> {
        self.values.get(headers.rfind(|index| self.keys.value(*index) == name.as_bytes())?)
    }
}

/// The values of a column of 64-bit numbers.
pub(super) fn longs(batch: &RecordBatch, column: Column) -> Option<&[i64]> {
    Some(batch.column_by_name(column.name())?.as_primitive_opt::<Int64Type>()?.values())
}
