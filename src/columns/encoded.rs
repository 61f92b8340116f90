//! Lists of records in an Arrow column as raw batches: one result per value, null in, null out.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::DataType;

use super::bitmap;
use super::rows::Rows;
use super::rows::bytes::ArrayOffsets;
use super::values::{OnBadValue, too_much};
use crate::encode::RecordWriter;
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::Interrupt;
use crate::wire::Sink;

/// Encodes every list of record structs, of all chunks of a column, by itself: offsets and sequences begin anew with each. A list that
/// cannot be written fails, or gives null; a null among its records is such a list.
///
/// # Errors
/// `Usage` for another type, `Refused` with the row of the value, `Limit` when the results take more than 2^31-1 bytes.
pub fn encode_lists(chunks: &[ArrayRef], writer: &mut RecordWriter, on_bad: OnBadValue, interrupt: &Interrupt) -> Result<BinaryArray> {
    let (mut ends, mut nulls) = (vec![0], Vec::new());
    for chunk in chunks {
        if chunk.data_type() == &DataType::Null {
            // Nulls alone have no other type.
            let row = ends.len() - 1;
            nulls.extend(row..row + chunk.len());
            let end = ends.last().copied().unwrap_or_default();
            ends.resize(ends.len() + chunk.len(), end);
            continue;
        }
        let (lists, records) = lists_of(chunk)?;
        // A slice of a table shares the records of all slices.
        let held = lists.items(chunk.len());
        let records = records.slice(held.start, held.len());
        let structs = records.as_struct_opt();
        let rows = structs.map(Rows::of_structs).transpose()?;
        for value in 0..chunk.len() {
            interrupt.ensure_wanted()?;
            let row = ends.len() - 1;
            let begin = writer.ended_len();
            let written = if chunk.is_valid(value) {
                writer.restart();
                let range = lists.range(value);
                let range = range.start - held.start..range.end - held.start;
                ensure_records(&records, range.clone())
                    .and_then(|()| rows.as_ref().map_or(Ok(()), |rows| rows.write_range(writer, range, 0)))
                    .and_then(|()| writer.end_batch())
                    .map(|()| true)
            } else {
                Ok(false)
            };
            match written {
                Ok(true) => {}
                Ok(false) => nulls.push(row),
                Err(error) if on_bad != OnBadValue::Raise && is_about_value(&error) => {
                    writer.restart_at(begin);
                    nulls.push(row);
                }
                Err(error) => return Err(in_value(&error, row)),
            }
            ends.push(i32::try_from(writer.ended_len()).map_err(|_| too_much())?);
        }
    }
    let nulls = bitmap::nulls(&nulls, ends.len() - 1);
    let mut data = Sink::default();
    writer.pass_ended(|ended| {
        data = std::mem::take(ended);
        Ok(())
    })?;
    let data = Buffer::from_vec(data.into_vec());
    Ok(BinaryArray::new(OffsetBuffer::new(ends.into()), data, nulls))
}

/// Fails for a null in the place of a record.
fn ensure_records(records: &ArrayRef, range: Range<usize>) -> Result<()> {
    let start = range.start;
    // An array of the type null has no bitmap of its nulls.
    let has_nulls = records.data_type() == &DataType::Null || records.null_count() > 0;
    match range.into_iter().find(|row| has_nulls && (records.data_type() == &DataType::Null || records.is_null(*row))) {
        Some(row) => {
            let problem = "a record is null".to_owned();
            Err(Error::from(ErrorKind::Usage { argument: "array", problem }).in_row(row - start))
        }
        None => Ok(()),
    }
}

fn lists_of(array: &ArrayRef) -> Result<(ArrayOffsets<'_>, &ArrayRef)> {
    let found = match array.data_type() {
        DataType::List(_) => Some((ArrayOffsets::Short(array.as_list::<i32>().value_offsets()), array.as_list::<i32>().values())),
        DataType::LargeList(_) => Some((ArrayOffsets::Long(array.as_list::<i64>().value_offsets()), array.as_list::<i64>().values())),
        _ => None,
    };
    let usage = |problem: String| Error::from(ErrorKind::Usage { argument: "array", problem });
    let found = found.filter(|(_, records)| matches!(records.data_type(), DataType::Struct(_) | DataType::Null));
    let (ends, records) =
        found.ok_or_else(|| usage(format!("a column of lists of record structs is needed, not {}", array.data_type())))?;
    match ends.problem(records.len()) {
        Some(problem) => Err(usage(format!("the column is not a valid Arrow array: {problem}"))),
        None => Ok((ends, records)),
    }
}

/// False for what has another cause than the records.
fn is_about_value(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Internal { .. } | ErrorKind::Interrupted | ErrorKind::Io { .. } | ErrorKind::Registry { .. })
}

/// The same error with the row of the value; the row in the list is the index of the record.
fn in_value(error: &Error, value: usize) -> Error {
    let again = Error::new(error.kind().clone()).in_row(value);
    let again = match error.position().base_offset {
        Some(base_offset) => again.in_batch(base_offset),
        None => again,
    };
    error.position().row.map_or(again.clone(), |record| again.in_record(record))
}
