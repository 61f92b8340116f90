//! Single options as Python gives them: their types, and the names of their values.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::codec::ChecksumForm;
use crate::columns::OnError;
use crate::decode::Isolation;
use crate::model::{RecordFormat, TimestampType};
use crate::validate::Depth;

/// One option; a wrong type is a TypeError that begins with its name.
macro_rules! option {
    ($options:expr, $name:expr) => {
        match $options.getattr($name)?.extract() {
            Ok(value) => value,
            Err(error) => return Err($crate::py::option_values::named($options.py(), $name, PyErr::from(error))),
        }
    };
}

pub(crate) use option;

/// A struct of options, and how a Python object gives it: each field is the attribute of its name, or what is said about it.
macro_rules! options {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $vis:vis $field:ident: $type:ty $(= |$of:ident| $value:expr)?,)* }) => {
        $(#[$doc])*
        pub struct $name { $($(#[$field_doc])* $vis $field: $type,)* }

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(options: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                Ok(Self { $($field: $crate::py::option_values::options!(@value options, $field $(, $of, $value)?),)* })
            }
        }
    };
    (@value $options:ident, $field:ident) => { $crate::py::option_values::option!($options, stringify!($field)) };
    (@value $options:ident, $field:ident, $of:ident, $value:expr) => {{
        let $of = &$options;
        $value
    }};
}

pub(crate) use options;

/// read_committed by these transactions.
pub fn committed(transactions: crate::decode::Transactions) -> Isolation {
    Isolation::ReadCommitted(Arc::new(transactions))
}

/// The depth of a validation by its name.
pub fn depth(name: &str) -> PyResult<Depth> {
    choice("depth", name, [("headers", Depth::Headers), ("metadata", Depth::Metadata), ("full", Depth::Full)])
}

/// Parses the reaction to damage.
pub fn on_error(name: &str) -> PyResult<OnError> {
    choice("on_error", name, [("raise", OnError::Raise), ("skip", OnError::Skip)])
}

/// A record format by its name.
pub fn record_format(argument: &str, name: &str) -> PyResult<RecordFormat> {
    choice(argument, name, RecordFormat::ALL.map(|format| (format.name(), format)))
}

/// A record format that a release of Kafka writes, by its name.
pub fn released_format(argument: &str, name: &str) -> PyResult<RecordFormat> {
    choice(argument, name, released().map(|format| (format.name(), format)))
}

/// The name of the proposed format, which reads all formats of Kafka 0.8 and later besides.
pub const PROPOSED: &str = RecordFormat::V3.name();

/// The record formats that a release of Kafka writes.
pub fn released() -> impl Iterator<Item = RecordFormat> {
    RecordFormat::ALL.into_iter().filter(|format| *format != RecordFormat::V3)
}

/// The timestamp type of a batch by its name.
pub fn timestamp_type(name: &str) -> PyResult<TimestampType> {
    choice("timestamp_type", name, [TimestampType::CreateTime, TimestampType::LogAppendTime].map(|kind| (kind.name(), kind)))
}

/// A form of the LZ4 header checksum by its name.
pub fn checksum_form(argument: &str, name: &str) -> PyResult<ChecksumForm> {
    choice(argument, name, [("correct", ChecksumForm::Correct), ("broken", ChecksumForm::Broken)])
}

/// Return the value with a name, of those that an argument may have.
///
/// # Errors
/// ValueError for another name.
pub fn choice<T>(argument: &str, name: &str, known: impl IntoIterator<Item = (&'static str, T)>) -> PyResult<T> {
    let mut names = Vec::new();
    for (known, value) in known {
        if known == name {
            return Ok(value);
        }
        names.push(format!("{known:?}"));
    }
    let last = names.pop().unwrap_or_default();
    Err(PyValueError::new_err(format!("{argument} must be {} or {last}, not {name:?}", names.join(", "))))
}

pub fn positive(argument: &str, value: usize) -> PyResult<usize> {
    if value > 0 { Ok(value) } else { Err(PyValueError::new_err(format!("{argument} must be at least 1"))) }
}

/// The error of an option, with its name before it.
pub fn named(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    PyTypeError::new_err(format!("{name}: {}", error.value(py)))
}
