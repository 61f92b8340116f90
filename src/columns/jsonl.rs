//! Rows of a record batch as JSON lines: one object a row, one row a line, UTF-8, no line break inside of a line.
//!
//! The form is a versioned interface (docs/reference/json.md). Whole numbers are written in full, so 64-bit ones may be more than
//! a JavaScript number holds. Bytes are text when they are UTF-8, and otherwise an object, so that a reader can always tell.

use arrow_array::{ArrayRef, RecordBatch};

pub(super) mod cell;
mod nested;
mod rows;
pub(super) mod text;

use crate::error::{ErrorKind, Result};
use cell::{Cell, Form, cell, label};
pub use rows::RowFilter;

/// How runs of bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BytesForm {
    /// A string when they are UTF-8, else `{"base64": "..."}`.
    #[default]
    Auto,
    /// A string; what is not UTF-8 becomes U+FFFD, and is lost.
    Utf8,
    /// A string of base64 with padding, for all of them.
    Base64,
    /// A string of lower-case hexadecimal digits, for all of them.
    Hex,
}

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
            text::string(&mut front, value);
            front.push(b',');
        }
        front
    }

    fn cells<'a>(&self, batch: &'a RecordBatch) -> Result<Vec<(Vec<u8>, Cell<'a>)>> {
        let named = |column: &str, name: &str| {
            let has_iso_times = self.has_iso_times && !name.ends_with("Ms");
            Ok((label(name), cell(column, self::column(batch, column)?, Form { bytes: self.bytes, has_iso_times })?))
        };
        match &self.fields {
            Some(fields) => fields.iter().map(|(column, name)| named(column, name)).collect(),
            None => batch.schema_ref().fields().iter().map(|field| named(field.name(), field.name())).collect(),
        }
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    let missing = || ErrorKind::Usage { argument: "fields", problem: format!("there is no column {name:?}") }.into();
    batch.column_by_name(name).ok_or_else(missing)
}

#[cfg(test)]
mod tests;
