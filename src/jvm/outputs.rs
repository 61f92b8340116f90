//! The columns that Spark gets: which are decoded, and where the corrupt column is among them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// The columns, in order.
#[derive(Clone, Debug)]
pub struct Outputs {
    decoded: Vec<String>,
    /// The corrupt column, if the read has it. Spark may leave it out of a query.
    corrupt: Option<Corrupt>,
}

#[derive(Clone, Debug)]
struct Corrupt {
    name: String,
    /// Its place among the columns, if the query has it.
    index: Option<usize>,
}

impl Outputs {
    /// The columns with these names. `corrupt` is the name of the corrupt column, if the read has it.
    pub fn new(wanted: Vec<String>, corrupt: Option<String>) -> Self {
        let corrupt = corrupt.map(|name| Corrupt { index: wanted.iter().position(|column| *column == name), name });
        let is_decoded = |name: &String| corrupt.as_ref().is_none_or(|corrupt| corrupt.name != *name);
        let decoded = wanted.into_iter().filter(is_decoded).collect();
        Self { decoded, corrupt }
    }

    /// The names of the columns that are decoded.
    pub fn decoded(&self) -> &[String] {
        &self.decoded
    }

    /// True if the read has the corrupt column, also where the query does not use it.
    pub fn has_corrupt(&self) -> bool {
        self.corrupt.is_some()
    }

    /// True if the query uses the corrupt column.
    pub fn shows_corrupt(&self) -> bool {
        self.corrupt.as_ref().is_some_and(|corrupt| corrupt.index.is_some())
    }

    /// Return decoded rows with the corrupt column, whose texts are null where there are none.
    ///
    /// # Errors
    /// If the rows have other columns.
    pub fn shaped(&self, rows: RecordBatch, texts: Option<Vec<Option<String>>>) -> Result<RecordBatch, ArrowError> {
        let Some(Corrupt { name, index: Some(index) }) = &self.corrupt else { return Ok(rows) };
        let column: ArrayRef = match texts {
            Some(texts) => Arc::new(StringArray::from(texts)),
            None => new_null_array(&DataType::Utf8, rows.num_rows()),
        };
        let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
        let mut arrays = rows.columns().to_vec();
        let index = (*index).min(arrays.len());
        fields.insert(index, Arc::new(Field::new(name, column.data_type().clone(), true)));
        arrays.insert(index, column);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}
