//! The values of an Arrow column: one decoded value for each, null for null.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use super::decoder::{Flaw, MOST_SPENT, ValueDecoder};
use super::outputs::RecordPart;
use super::plan::ValuePlan;
use super::record_parts::RecordHeaders;
use crate::columns::rows::bytes::ByteRuns;
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::Interrupt;

/// How a column is decoded.
#[derive(Clone, Debug)]
pub struct ArrayOptions {
    /// The schemas of the values.
    pub plan: Arc<ValuePlan>,
    /// Which headers name a schema.
    pub part: RecordPart,
    /// A bad value is null; else it is an error.
    pub is_bad_null: bool,
    /// Asked between values.
    pub interrupt: Interrupt,
}

/// Values between two questions whether to go on.
const ASK_EVERY: usize = 4096;

/// Decodes the values of arrays of bytes or text, one after the other. `headers` has the headers of each record, keys as bytes.
///
/// # Errors
/// `Value` for a bad one with its row; `Usage` for headers of another type or length; `Limit` if all take too much memory.
pub fn decode_array(arrays: &[ArrayRef], headers: Option<&ArrayRef>, options: &ArrayOptions) -> Result<ArrayRef> {
    let rows = arrays.iter().map(Array::len).sum();
    let headers = headers.map(|array| checked(array, rows)).transpose()?;
    let mut decoder = ValueDecoder::new(Arc::clone(&options.plan));
    decoder.reserve(rows);
    let runs = arrays.iter().map(|array| Ok((array.len(), ByteRuns::of("values", array)?))).collect::<Result<Vec<_>>>()?;
    let values = runs.iter().flat_map(|(len, runs)| (0..*len).map(|row| runs.get(row)));
    for (row, value) in values.enumerate() {
        if row.is_multiple_of(ASK_EVERY) {
            options.interrupt.ensure_wanted()?;
        }
        let Some(value) = value else {
            decoder.push_null();
            continue;
        };
        if decoder.spent() >= MOST_SPENT {
            let (limit, allowed) = ("decoded bytes of one Arrow array", MOST_SPENT);
            return Err(in_row(ErrorKind::Limit { limit, asked: decoder.spent(), allowed }, row));
        }
        let header = headers.as_ref().and_then(|headers| headers.as_ref()?.find_part(options.part, row));
        match decoder.push(value, header) {
            Err(Flaw { problem, is_error: true }) if !options.is_bad_null => {
                let kind = ErrorKind::Value { rule: problem.rule(), offset: None, problem: problem.to_string() };
                return Err(in_row(kind, row));
            }
            _ => {}
        }
    }
    Ok(decoder.finish_column().map_err(|error| ErrorKind::Internal { what: error.to_string() })?)
}

/// Headers, if there are any; arrays of other libraries may be invalid.
fn checked(array: &ArrayRef, len: usize) -> Result<Option<RecordHeaders<'_>>> {
    let usage = |problem: String| Error::from(ErrorKind::Usage { argument: "headers", problem });
    if array.len() != len {
        return Err(usage(format!("{} rows, but the values have {len}", array.len())));
    }
    array.to_data().validate_full().map_err(|error| usage(error.to_string()))?;
    if !RecordHeaders::is_type_of(array) {
        return Err(usage(format!("a column of list<struct<key: binary, value: binary>> is needed, not {}", array.data_type())));
    }
    Ok(RecordHeaders::of(array))
}

fn in_row(kind: ErrorKind, row: usize) -> Error {
    Error::from(kind).in_row(row)
}
