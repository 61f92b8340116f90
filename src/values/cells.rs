//! Arrow columns of any layout as single items: what is written as a value of a schema.
//!
//! Arrays come from other libraries: offsets, views and indexes are checked once, before the first item is taken.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};

use crate::columns::rows::bytes::{ArrayOffsets, ByteRuns};
use crate::columns::rows::numbers::IntegerColumn;
use crate::error::{Error, ErrorKind, Result};

/// A column.
pub struct Cells<'a> {
    nulls: Option<&'a NullBuffer>,
    kind: CellKind<'a>,
}

enum CellKind<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Whole(IntegerColumn),
    Unsigned(&'a [u64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    Date(&'a [i32]),
    TimeShort(&'a [i32], TimeUnit),
    Time(&'a [i64], TimeUnit),
    Timestamp(&'a [i64], TimeUnit, bool),
    Decimal(&'a [i128], i8),
    WideDecimal(&'a [i256], i8),
    Runs(ByteRuns<'a>, bool),
    List(ArrayOffsets<'a>, Box<Cells<'a>>),
    FixedList(usize, Box<Cells<'a>>),
    Map(ArrayOffsets<'a>, Box<[Cells<'a>; 2]>),
    Struct(Vec<(&'a str, Cells<'a>)>),
}

/// An item of a column.
#[derive(Clone)]
#[expect(missing_docs, reason = "the kinds of Arrow's types")]
pub enum Item<'c> {
    Null,
    Boolean(bool),
    Whole(i64),
    Unsigned(u64),
    Real(f64),
    Date(i32),
    Time(i64, TimeUnit),
    /// The number, its unit, and true for a time of UTC.
    Timestamp(i64, TimeUnit, bool),
    /// The digits, and how many of them are after the point.
    Decimal(i256, i8),
    Text(&'c [u8]),
    Bytes(&'c [u8]),
    List(&'c Cells<'c>, Range<usize>),
    Map(&'c [Cells<'c>; 2], Range<usize>),
    Struct(Members<'c>),
}

/// The fields of a row of structs.
#[derive(Clone)]
pub struct Members<'c> {
    fields: &'c [(&'c str, Cells<'c>)],
    row: usize,
}

impl<'c> Members<'c> {
    /// The item of a field, which is usually the one at `place`; `None` for an unknown field.
    pub fn get(&self, name: &str, place: usize) -> Option<Item<'c>> {
        let at = self.fields.get(place).filter(|(other, _)| *other == name);
        let found = at.or_else(|| self.fields.iter().find(|(other, _)| *other == name));
        found.map(|(_, cells)| cells.item(self.row))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The names and items of all fields.
    pub fn iter(&self) -> impl Iterator<Item = (&'c str, Item<'c>)> {
        self.fields.iter().map(|(name, cells)| (*name, cells.item(self.row)))
    }
}

impl<'a> Cells<'a> {
    /// The items of an array, whose name is for errors.
    ///
    /// # Errors
    /// `Usage` for a type that is not written, and for an array that is not valid.
    pub fn of(name: &str, array: &'a ArrayRef) -> Result<Self> {
        Ok(Self { nulls: array.nulls(), kind: kind_of(name, array)? })
    }

    /// The item of a row.
    #[inline]
    pub fn item<'c>(&'c self, row: usize) -> Item<'c>
    where
        'a: 'c,
    {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Item::Null;
        }
        self.valid_item(row).unwrap_or(Item::Null)
    }

    fn valid_item<'c>(&'c self, row: usize) -> Option<Item<'c>>
    where
        'a: 'c,
    {
        Some(match &self.kind {
            CellKind::Null => Item::Null,
            CellKind::Boolean(array) if row < array.len() => Item::Boolean(array.value(row)),
            CellKind::Boolean(_) => return None,
            CellKind::Whole(numbers) => Item::Whole(numbers.get(row)?),
            CellKind::Unsigned(values) => Item::Unsigned(*values.get(row)?),
            CellKind::Float(values) => Item::Real((*values.get(row)?).into()),
            CellKind::Double(values) => Item::Real(*values.get(row)?),
            CellKind::Date(values) => Item::Date(*values.get(row)?),
            CellKind::TimeShort(values, unit) => Item::Time((*values.get(row)?).into(), *unit),
            CellKind::Time(values, unit) => Item::Time(*values.get(row)?, *unit),
            CellKind::Timestamp(values, unit, is_utc) => Item::Timestamp(*values.get(row)?, *unit, *is_utc),
            CellKind::Decimal(values, scale) => Item::Decimal(i256::from_i128(*values.get(row)?), *scale),
            CellKind::WideDecimal(values, scale) => Item::Decimal(*values.get(row)?, *scale),
            CellKind::Runs(runs, true) => Item::Text(runs.get(row)?),
            CellKind::Runs(runs, false) => Item::Bytes(runs.get(row)?),
            CellKind::List(ends, items) => Item::List(items, ends.range(row)),
            CellKind::FixedList(size, items) => Item::List(items, row * size..(row + 1) * size),
            CellKind::Map(ends, pair) => Item::Map(pair, ends.range(row)),
            CellKind::Struct(fields) => Item::Struct(Members { fields, row }),
        })
    }
}

impl Item<'_> {
    /// What the item is, in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Whole(_) | Self::Unsigned(_) => "an integer",
            Self::Real(_) => "a floating-point number",
            Self::Date(_) => "a date",
            Self::Time(..) => "a time of day",
            Self::Timestamp(..) => "a timestamp",
            Self::Decimal(..) => "a decimal",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::List(..) => "a list",
            Self::Map(..) => "a map",
            Self::Struct(_) => "a struct",
        }
    }
}

fn kind_of<'a>(name: &str, array: &'a ArrayRef) -> Result<CellKind<'a>> {
    let of = |kind: Option<CellKind<'a>>| kind.ok_or_else(|| unwritable(name, array));
    match array.data_type() {
        DataType::Null => Ok(CellKind::Null),
        DataType::Boolean => of(array.as_boolean_opt().map(CellKind::Boolean)),
        DataType::UInt64 => of(values::<UInt64Type>(array).map(CellKind::Unsigned)),
        DataType::Float32 => of(values::<Float32Type>(array).map(CellKind::Float)),
        DataType::Float64 => of(values::<Float64Type>(array).map(CellKind::Double)),
        DataType::Date32 => of(values::<Date32Type>(array).map(CellKind::Date)),
        DataType::Time32(TimeUnit::Second) => {
            of(values::<Time32SecondType>(array).map(|values| CellKind::TimeShort(values, TimeUnit::Second)))
        }
        DataType::Time32(unit) => of(values::<Time32MillisecondType>(array).map(|values| CellKind::TimeShort(values, *unit))),
        DataType::Time64(TimeUnit::Microsecond) => {
            of(values::<Time64MicrosecondType>(array).map(|values| CellKind::Time(values, TimeUnit::Microsecond)))
        }
        DataType::Time64(unit) => of(values::<Time64NanosecondType>(array).map(|values| CellKind::Time(values, *unit))),
        DataType::Timestamp(unit, zone) => of(timestamps(array, *unit).map(|values| CellKind::Timestamp(values, *unit, zone.is_some()))),
        DataType::Decimal128(_, scale) => of(values::<Decimal128Type>(array).map(|values| CellKind::Decimal(values, *scale))),
        DataType::Decimal256(_, scale) => of(values::<Decimal256Type>(array).map(|values| CellKind::WideDecimal(values, *scale))),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => list(name, array),
        DataType::Map(..) => map(name, array),
        DataType::Struct(_) => {
            let rows = array.as_struct();
            let named = rows.fields().iter().zip(rows.columns());
            let fields = named.map(|(field, column)| {
                let cells = Cells::of(&format!("{name}.{}", field.name()), column)?;
                Ok((field.name().as_str(), cells))
            });
            Ok(CellKind::Struct(fields.collect::<Result<_>>()?))
        }
        data_type if data_type.is_integer() => Ok(CellKind::Whole(IntegerColumn::of(name, array)?)),
        data_type => {
            let is_text = match data_type {
                DataType::Dictionary(_, values) => is_text(values),
                data_type => is_text(data_type),
            };
            let runs = ByteRuns::of(name, array).map_err(|error| if is_run(data_type) { error } else { unwritable(name, array) })?;
            Ok(CellKind::Runs(runs, is_text))
        }
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_run(data_type: &DataType) -> bool {
    is_text(data_type)
        || matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

fn list<'a>(name: &str, array: &'a ArrayRef) -> Result<CellKind<'a>> {
    let inner = format!("{name}[]");
    if let Some(lists) = array.as_fixed_size_list_opt() {
        let size = usize::try_from(lists.value_length()).map_err(|_| unwritable(name, array))?;
        return Ok(CellKind::FixedList(size, Box::new(Cells::of(&inner, lists.values())?)));
    }
    let (ends, items) = match (array.as_list_opt::<i32>(), array.as_list_opt::<i64>()) {
        (Some(lists), _) => (ArrayOffsets::Short(lists.value_offsets()), lists.values()),
        (_, Some(lists)) => (ArrayOffsets::Long(lists.value_offsets()), lists.values()),
        _ => return Err(unwritable(name, array)),
    };
    ensure_valid(name, ends, items.len())?;
    Ok(CellKind::List(ends, Box::new(Cells::of(&inner, items)?)))
}

fn map<'a>(name: &str, array: &'a ArrayRef) -> Result<CellKind<'a>> {
    let maps = array.as_map_opt().ok_or_else(|| unwritable(name, array))?;
    let ends = ArrayOffsets::Short(maps.value_offsets());
    ensure_valid(name, ends, maps.entries().len())?;
    let inner = format!("{name}[]");
    Ok(CellKind::Map(ends, Box::new([Cells::of(&inner, maps.keys())?, Cells::of(&inner, maps.values())?])))
}

fn ensure_valid(name: &str, ends: ArrayOffsets<'_>, len: usize) -> Result<()> {
    let problem = ends.problem(len);
    problem.map_or(Ok(()), |problem| Err(usage(format!("the column {name:?} is not a valid Arrow array: {problem}"))))
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<&[T::Native]> {
    Some(array.as_primitive_opt::<T>()?.values())
}

fn timestamps(array: &ArrayRef, unit: TimeUnit) -> Option<&[i64]> {
    match unit {
        TimeUnit::Second => values::<TimestampSecondType>(array),
        TimeUnit::Millisecond => values::<TimestampMillisecondType>(array),
        TimeUnit::Microsecond => values::<TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => values::<TimestampNanosecondType>(array),
    }
}

fn usage(problem: String) -> Error {
    ErrorKind::Usage { argument: "table", problem }.into()
}

fn unwritable(name: &str, array: &ArrayRef) -> Error {
    usage(format!("the column {name:?} of type {} cannot be written with a schema", array.data_type()))
}
