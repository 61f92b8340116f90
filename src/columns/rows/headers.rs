//! Headers: a list of key and value for each row, or a map.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::bytes::{ArrayOffsets, ByteRuns};
use super::errors::{invalid, unfit};
use crate::error::{ErrorKind, Result};
use crate::model::NewHeader;

/// The headers of a column; nothing is copied.
pub(super) struct HeaderLists<'a> {
    ends: ArrayOffsets<'a>,
    nulls: Option<&'a NullBuffer>,
    pairs: Option<&'a NullBuffer>,
    keys: ByteRuns<'a>,
    values: ByteRuns<'a>,
}

impl<'a> HeaderLists<'a> {
    /// The headers of a list<struct<key, value>> or a map.
    ///
    /// # Errors
    /// `Usage` for an array of another type, or one that is not valid.
    pub(super) fn of(name: &str, array: &'a ArrayRef) -> Result<Option<Self>> {
        let (ends, pairs) = match array.data_type() {
            DataType::List(_) => (ArrayOffsets::Short(array.as_list::<i32>().value_offsets()), array.as_list::<i32>().values()),
            DataType::LargeList(_) => (ArrayOffsets::Long(array.as_list::<i64>().value_offsets()), array.as_list::<i64>().values()),
            DataType::Map(_, _) => {
                let map = array.as_map();
                return Self::over(name, array, ArrayOffsets::Short(map.value_offsets()), map.entries()).map(Some);
            }
            DataType::Null => return Ok(None),
            _ => return Err(unfit(name, WANTED, array)),
        };
        match pairs.as_struct_opt() {
            Some(pairs) => Self::over(name, array, ends, pairs).map(Some),
            None => Err(unfit(name, WANTED, array)),
        }
    }

    /// Adds the headers of a row.
    ///
    /// # Errors
    /// `Refused` for a null key.
    #[inline]
    pub(super) fn collect(&self, row: usize, to: &mut Vec<NewHeader<'a>>) -> Result<()> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(());
        }
        for index in self.ends.range(row) {
            let is_null = self.pairs.is_some_and(|pairs| pairs.is_null(index));
            let Some(key) = self.keys.get(index).filter(|_| !is_null) else { return Err(null_key()) };
            to.push(NewHeader { key, value: self.values.get(index) });
        }
        Ok(())
    }

    /// Key and value are those of these names, or the first and the second.
    fn over(name: &str, array: &'a ArrayRef, ends: ArrayOffsets<'a>, pairs: &'a StructArray) -> Result<Self> {
        if let Some(problem) = ends.problem(pairs.len()) {
            return Err(invalid(name, &problem));
        }
        // A slice of a table shares the headers of all slices.
        let items = ends.items(array.len());
        let column = |name: &str, place: usize| pairs.column_by_name(name).or_else(|| pairs.columns().get(place));
        match (pairs.num_columns(), column("key", 0), column("value", 1)) {
            (2, Some(keys), Some(values)) => Ok(Self {
                ends,
                nulls: array.nulls(),
                pairs: pairs.nulls(),
                keys: ByteRuns::within(&format!("{name}.key"), keys, items.clone())?,
                values: ByteRuns::within(&format!("{name}.value"), values, items)?,
            }),
            _ => Err(unfit(name, WANTED, array)),
        }
    }
}

const WANTED: &str = "list<struct<key, value>>";

/// In the words of `DefaultRecord`.
#[cold]
fn null_key() -> crate::Error {
    ErrorKind::Refused { rule: "V2-20", reason: "Invalid null header key found in headers".to_owned() }.into()
}
