//! The columns that Spark gets: which are decoded for them, and where the corrupt column is among them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::columns::Column;
use crate::jvm::mode::Mode;
use crate::jvm::spark_types::as_spark;

/// The columns, in order.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The columns of the query without the corrupt column, and after them those that only findings need.
    decoded: Vec<String>,
    /// The number of columns of the query in `decoded`.
    shown: usize,
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
        let decoded: Vec<String> = wanted.into_iter().filter(is_decoded).collect();
        Self { shown: decoded.len(), decoded, corrupt }
    }

    /// Add the columns that findings about values need: those of decoded keys and values, and the offset.
    pub fn decode_for_findings(&mut self, typed: Vec<String>) {
        if typed.is_empty() {
            return;
        }
        for name in typed.into_iter().chain([Column::Offset.name().to_owned()]) {
            if !self.decoded.contains(&name) {
                self.decoded.push(name);
            }
        }
    }

    /// The names of the columns that are decoded.
    pub fn decoded(&self) -> &[String] {
        &self.decoded
    }

    /// True if the read has the corrupt column, also where the query does not use it.
    pub fn has_corrupt(&self) -> bool {
        self.corrupt.is_some()
    }

    /// True if findings about values change rows: DROPMALFORMED leaves rows out, PERMISSIVE has texts if the query uses the corrupt column.
    pub fn show_findings_of_values(&self, mode: Mode) -> bool {
        match mode {
            Mode::Fail => false,
            Mode::Report => self.corrupt.as_ref().is_some_and(|corrupt| corrupt.index.is_some()),
            Mode::Drop => true,
        }
    }

    /// Return decoded rows in the types of Spark, with the corrupt column, whose texts are null where there are none.
    ///
    /// # Errors
    /// If the rows have other columns.
    pub fn shaped(&self, rows: &RecordBatch, texts: Option<Vec<Option<String>>>) -> Result<RecordBatch, ArrowError> {
        let schema = rows.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        let converted = rows.columns().iter().zip(names).take(self.shown).map(|(array, name)| Ok((name, as_spark(array)?)));
        let mut columns = converted.collect::<Result<Vec<(String, ArrayRef)>, ArrowError>>()?;
        if let Some(Corrupt { name, index: Some(index) }) = &self.corrupt {
            let column: ArrayRef = match texts {
                Some(texts) => Arc::new(StringArray::from(texts)),
                None => new_null_array(&DataType::Utf8, rows.num_rows()),
            };
            columns.insert((*index).min(columns.len()), (name.clone(), column));
        }
        let fields: Vec<_> = columns.iter().map(|(name, column)| Field::new(name, column.data_type().clone(), true)).collect();
        let arrays = columns.into_iter().map(|(_, column)| column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}
