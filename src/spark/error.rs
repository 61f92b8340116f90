//! Why a query cannot be planned.

use std::fmt;

use crate::error::Error;

/// What the functions of this module return.
pub type QueryResult<T> = std::result::Result<T, SparkError>;

/// An error of a query.
#[derive(Clone, Debug)]
pub enum SparkError {
    /// Options that are invalid, or do not fit what is there.
    Value(String),
    /// A directory entry that cannot be read.
    System(String),
    /// Of the files or of their bytes.
    Core(Error),
}

impl SparkError {
    /// The error of an option.
    pub fn value(text: impl Into<String>) -> Self {
        Self::Value(text.into())
    }
}

impl From<Error> for SparkError {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl fmt::Display for SparkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(text) | Self::System(text) => f.write_str(text),
            Self::Core(error) => write!(f, "{error}"),
        }
    }
}

/// A text in quotes, as errors show the values of options.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
    if escaped.contains('\'') && !escaped.contains('"') { format!("\"{escaped}\"") } else { format!("'{}'", escaped.replace('\'', "\\'")) }
}

/// `a, b, c`, or of more than `most` the first: `a, b and 7 more`.
pub(super) fn listed(names: &[String], most: usize) -> String {
    let more = if names.len() > most {
        format!(" and {} more", crate::error::grouped(crate::wire::as_u64(names.len() - most)))
    } else {
        String::new()
    };
    format!("{}{more}", names.iter().take(most).cloned().collect::<Vec<_>>().join(", "))
}
