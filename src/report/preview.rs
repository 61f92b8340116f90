//! The first rows of Arrow columns as a table of text, for the `repr` of what holds them.

use std::fmt::Write;
use std::ops::Range;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

use super::jsonl::cell::cell;
use super::jsonl::writer::{BytesCell, JsonForm};
use crate::wire::json_text;

/// Rows that are shown.
const ROWS: usize = 8;
/// Characters of a cell, and of a line; columns that do not fit are left out.
const CELL: usize = 28;
const LINE: usize = 120;
const GAP: usize = 2;
const ELLIPSIS: char = '\u{2026}';

/// Return the columns with their types, as pyarrow names these: `offset: int64, key: binary`.
pub fn schema_text(schema: &Schema) -> String {
    fields_text(schema.fields())
}

/// Return the first rows as a table, one row a line; the names and types of the columns are above.
///
/// Arguments: `total`, the number of rows if it is known; a last line names the rows that are not shown.
pub fn table_text(schema: &Schema, batches: &[RecordBatch], total: Option<usize>) -> String {
    let columns: Vec<Vec<String>> = schema.fields().iter().enumerate().map(|(index, field)| column(field, index, batches)).collect();
    let mut lines = vec![String::new(); columns.first().map_or(0, Vec::len)];
    let mut used = 0;
    for (index, cells) in columns.iter().enumerate() {
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let is_last = index + 1 == columns.len();
        if used + width + if is_last { 0 } else { GAP + 1 } > LINE {
            lines.iter_mut().for_each(|line| line.push(ELLIPSIS));
            break;
        }
        append(&mut lines, cells, width);
        used += width + GAP;
    }
    let shown = lines.len().saturating_sub(2);
    if let Some(more) = total.map(|total| total - shown.min(total)).filter(|more| *more > 0) {
        lines.push(format!("{ELLIPSIS} {more} more"));
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

fn append(lines: &mut [String], cells: &[String], width: usize) {
    for (line, cell) in lines.iter_mut().zip(cells) {
        let padding = width - cell.chars().count().min(width);
        line.push_str(cell);
        line.push_str(&" ".repeat(padding + GAP));
    }
}

/// The name of a column, its type, and its first values.
fn column(field: &Field, index: usize, batches: &[RecordBatch]) -> Vec<String> {
    let mut cells = vec![field.name().clone(), short(&type_text(field.data_type()))];
    for array in batches.iter().filter_map(|batch| batch.columns().get(index)) {
        let rows = 0..array.len().min(ROWS + 2 - cells.len());
        cells.extend(values(field.name(), array, rows));
    }
    cells
}

fn values(name: &str, array: &ArrayRef, rows: Range<usize>) -> Vec<String> {
    if let Some(bytes) = BytesCell::of(array) {
        return rows.map(|row| short(&bytes_text(bytes.at(row)))).collect();
    }
    let form = JsonForm { has_iso_times: true, ..JsonForm::default() };
    // JSON has a name for the number of this column.
    let name = if name == "timestampType" { "" } else { name };
    let Ok(write) = cell(name, array, form) else { return rows.map(|_| "?".to_owned()).collect() };
    let text = |row| {
        let mut out = Vec::new();
        write(&mut out, row);
        let text = String::from_utf8_lossy(&out);
        // Of what is not text, only times are strings in JSON.
        short(if *array.data_type() == DataType::Utf8 { &text } else { text.trim_matches('"') })
    };
    rows.map(text).collect()
}

/// Text, or hexadecimal digits. What is cut off is not converted.
fn bytes_text(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "null".to_owned() };
    let mut out = Vec::new();
    match std::str::from_utf8(bytes) {
        Ok(value) => json_text::string(&mut out, &value.chars().take(CELL).collect::<String>()),
        Err(_) => out.extend(b"0x".iter().copied().chain(bytes.iter().take(CELL).flat_map(|byte| format!("{byte:02x}").into_bytes()))),
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn short(text: &str) -> String {
    if text.chars().count() <= CELL {
        return text.to_owned();
    }
    text.chars().take(CELL - 1).chain([ELLIPSIS]).collect()
}

/// A type as pyarrow names it.
fn type_text(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "string".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        DataType::LargeBinary => "large_binary".to_owned(),
        DataType::BinaryView => "binary_view".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => format!("timestamp[us, {zone}]"),
        DataType::List(item) => format!("list<{}>", type_text(item.data_type())),
        DataType::Struct(fields) => format!("struct<{}>", fields_text(fields)),
        other => other.to_string().to_lowercase(),
    }
}

fn fields_text(fields: &Fields) -> String {
    let mut out = String::new();
    for (index, field) in fields.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(out, "{comma}{}: {}", field.name(), type_text(field.data_type()));
    }
    out
}
