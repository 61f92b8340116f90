//! Rows of a record batch as JSON lines: one object a row, one row a line, UTF-8, no line break inside of a line.
//!
//! The form is a versioned interface (docs/reference/json.md). Whole numbers are written in full, so 64-bit ones may be more than
//! a JavaScript number holds. Bytes are text when they are UTF-8, and otherwise an object, so that a reader can always tell.

use arrow_array::RecordBatch;

pub(super) mod cell;
mod rows;
mod scalar;
mod text;
pub(super) mod writer;

use crate::error::Result;
use crate::wire::json_text;
use cell::cell;
pub use rows::RowFilter;
pub use text::BytesForm;
use writer::{CellWriter, JsonForm, column_named, label};

/// What a line holds and which rows become lines.
#[derive(Clone, Debug, Default)]
pub struct JsonLines {
    /// How runs of bytes are written.
    pub bytes: BytesForm,
    /// (Column, name in the object), in order; `None` for all columns under their own names.
    pub fields: Option<Vec<(String, String)>>,
    /// (Name, text) that begin every object.
    pub constants: Vec<(String, String)>,
    /// Which rows.
    pub rows: RowFilter,
    /// Times are written in ISO 8601, instead of as milliseconds; a field whose name ends in `Ms` stays a number.
    pub has_iso_times: bool,
}

impl JsonLines {
    /// The lines of a batch.
    ///
    /// # Errors
    /// `Usage` for a column that the batch does not have or that cannot be written.
    pub fn write(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let (front, cells) = (self.front(), self.cells(batch)?);
        let chosen = self.rows.bind(batch)?;
        let mut out = Vec::new();
        for row in chosen.rows() {
            out.extend_from_slice(&front);
            for (label, cell) in &cells {
                out.extend_from_slice(label);
                cell(&mut out, row);
                out.push(b',');
            }
            // The comma after the last field, or the brace of an object without any.
            if out.last() == Some(&b',') {
                out.pop();
            }
            out.extend_from_slice(b"}\n");
        }
        Ok(out)
    }

    /// What every line begins with.
    fn front(&self) -> Vec<u8> {
        let mut front = vec![b'{'];
        for (name, value) in &self.constants {
            front.extend_from_slice(&label(name));
            json_text::string(&mut front, value);
            front.push(b',');
        }
        front
    }

    fn cells<'a>(&self, batch: &'a RecordBatch) -> Result<Vec<(Vec<u8>, CellWriter<'a>)>> {
        let named = |column: &str, name: &str| {
            let has_iso_times = self.has_iso_times && !name.ends_with("Ms");
            Ok((label(name), cell(column, column_named(batch, column)?, JsonForm { bytes: self.bytes, has_iso_times })?))
        };
        match &self.fields {
            Some(fields) => fields.iter().map(|(column, name)| named(column, name)).collect(),
            None => batch.schema_ref().fields().iter().map(|field| named(field.name(), field.name())).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
