//! The rows of any Arrow table as records to be written: the way back of the record columns.
//!
//! Only `value` is needed. Columns are found by name; each may have any Arrow type that can mean it, and those that say what a
//! batch says (topic, partition, producerId and so on) are left to the caller's settings.

pub mod bytes;
mod control;
mod errors;
mod flags;
mod headers;
pub mod numbers;
pub mod produced;
mod timestamps;

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch, StructArray};

use self::bytes::ByteRuns;
use self::control::Controls;
use self::errors::table_error;
use self::headers::HeaderLists;
use self::numbers::IntegerColumn;
use self::timestamps::Timestamps;
use crate::encode::RecordWriter;
use crate::error::Result;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{NewHeader, NewRecord};

/// The columns of one batch of rows.
pub struct Rows<'a> {
    offsets: Option<IntegerColumn>,
    timestamps: Option<Timestamps>,
    /// What a record gets whose timestamp is null, ms.
    no_timestamp: i64,
    keys: Option<ByteRuns<'a>>,
    values: ByteRuns<'a>,
    headers: Option<HeaderLists<'a>>,
    controls: Option<Controls<'a>>,
}

impl<'a> Rows<'a> {
    /// The record columns among those of a batch.
    ///
    /// # Errors
    /// `Usage` without a column `value`, or for a column of a type that cannot mean it.
    pub fn of(batch: &'a RecordBatch) -> Result<Self> {
        Self::from_columns(|name| batch.column_by_name(name))
    }

    /// The record columns among the fields of structs.
    ///
    /// # Errors
    /// As `of`.
    pub fn of_structs(structs: &'a StructArray) -> Result<Self> {
        Self::from_columns(|name| structs.column_by_name(name))
    }

    /// Writes some of the rows. `first_row` is the number of the first of them in the table, for errors.
    ///
    /// # Errors
    /// `Refused` and `Limit` as `RecordWriter::write`, with the row.
    pub fn write_range(&self, writer: &mut RecordWriter, rows: Range<usize>, first_row: usize) -> Result<()> {
        self.write_until(writer, rows, first_row, usize::MAX).map(|_| ())
    }

    /// Writes some of the rows, until there are `enough` bytes of ended batches; gives the row after the last one written.
    ///
    /// # Errors
    /// As `write_range`.
    pub fn write_until(&self, writer: &mut RecordWriter, rows: Range<usize>, first_row: usize, enough: usize) -> Result<usize> {
        let (mut scratch, end) = (Vec::new(), rows.end);
        for (index, row) in rows.enumerate() {
            self.write_row(row, writer, &mut scratch).map_err(|error| error.in_written_row(first_row + index))?;
            if writer.ended_len() >= enough {
                return Ok(row + 1);
            }
        }
        Ok(end)
    }

    fn from_columns(column: impl Fn(&str) -> Option<&'a ArrayRef>) -> Result<Self> {
        let values = column("value").ok_or_else(|| table_error("the column \"value\" is missing"))?;
        Ok(Self {
            offsets: column("offset").map(|array| IntegerColumn::of("offset", array)).transpose()?,
            timestamps: match (column("timestampMs"), column("timestamp")) {
                (Some(array), _) => Some(Timestamps::of("timestampMs", array)?),
                (None, Some(array)) => Some(Timestamps::of("timestamp", array)?),
                (None, None) => None,
            },
            no_timestamp: NO_TIMESTAMP,
            keys: column("key").map(|array| ByteRuns::of("key", array)).transpose()?,
            values: ByteRuns::of("value", values)?,
            headers: match (column("headersRaw"), column("headers")) {
                (Some(array), _) => HeaderLists::of("headersRaw", array)?,
                (None, Some(array)) => HeaderLists::of("headers", array)?,
                (None, None) => None,
            },
            controls: Controls::of(column("isControl"), column("controlType"))?,
        })
    }

    #[inline]
    fn write_row<'s>(&'s self, row: usize, writer: &mut RecordWriter, scratch: &mut Vec<NewHeader<'s>>) -> Result<()> {
        scratch.clear();
        if let Some(headers) = &self.headers {
            headers.collect(row, scratch)?;
        }
        let record = NewRecord {
            offset: self.offsets.as_ref().and_then(|offsets| offsets.get(row)).unwrap_or(writer.next_offset()),
            timestamp: self.timestamps.as_ref().and_then(|timestamps| timestamps.get(row)).unwrap_or(self.no_timestamp),
            key: self.keys.as_ref().and_then(|keys| keys.get(row)),
            value: self.values.get(row),
            headers: scratch,
            ..NewRecord::default()
        };
        match &self.controls {
            Some(controls) if controls.is_control(row) => controls.with_contents(row, record, |record| writer.write(record)),
            _ => writer.write(&record),
        }
    }
}
