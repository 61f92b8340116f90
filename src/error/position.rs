//! The place of an error, from the outside in.

use std::fmt;

/// Where an error or a finding lies. Every part is filled in by the layer that knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Position of the entry (or of the error, when framing failed) in the input, in bytes.
    pub byte: Option<u64>,
    /// Row of the column that the bytes come from, when they come from a column.
    pub row: Option<u64>,
    /// Base offset of the batch.
    pub base_offset: Option<i64>,
    /// Index of the record in its batch, from 0.
    pub record_index: Option<u64>,
    /// Field of the wire format, in Kafka's spelling.
    pub field: Option<&'static str>,
}

impl Position {
    /// True when no layer said anything.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut part = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            write!(f, "{separator}{text}")?;
            separator = ", ";
            Ok(())
        };
        if let Some(row) = self.row {
            part(f, format_args!("in row {row}"))?;
        }
        if let Some(byte) = self.byte {
            part(f, format_args!("at byte {byte}"))?;
        }
        if let Some(offset) = self.base_offset {
            part(f, format_args!("base offset {offset}"))?;
        }
        if let Some(index) = self.record_index {
            part(f, format_args!("record {index}"))?;
        }
        if let Some(field) = self.field {
            part(f, format_args!("field {field}"))?;
        }
        Ok(())
    }
}
