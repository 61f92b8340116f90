//! Errors of tables whose rows cannot be records.

use arrow_array::ArrayRef;

use crate::error::{Error, ErrorKind};

pub(super) fn table_error(problem: impl Into<String>) -> Error {
    ErrorKind::Usage { argument: "table", problem: problem.into() }.into()
}

#[cold]
pub(super) fn invalid(name: &str, problem: &str) -> Error {
    table_error(format!("the column {name:?} is not a valid Arrow array: {problem}"))
}

#[cold]
pub(super) fn unfit(name: &str, wanted: &str, array: &ArrayRef) -> Error {
    table_error(format!("the column {name:?} must be of {wanted}, not {}", array.data_type()))
}
