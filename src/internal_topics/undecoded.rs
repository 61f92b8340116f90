use std::fmt;

use crate::error::{Error, ErrorKind};

/// Why bytes of an internal topic are given as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// INT-1: no table has a type of this number.
    Type {
        /// The topic; `"control"` for a control record.
        topic: &'static str,
        /// Its number.
        id: i64,
    },
    /// INT-1: no table has this version of the type.
    Version {
        /// The type, or `"frame"`.
        name: &'static str,
        /// The version.
        version: i64,
    },
    /// INT-2: the bytes are not what the table of their type and version says.
    Malformed {
        /// The type or topic.
        name: &'static str,
        /// The field where they are not.
        field: &'static str,
        /// What is wrong there.
        problem: &'static str,
    },
    /// INT-2: the fields take more room than the records of a batch may, or than a column has.
    Long {
        /// The type.
        name: &'static str,
        /// Bytes that there may be.
        most: u64,
    },
}

impl Undecoded {
    /// The id of the rule.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Type { .. } | Self::Version { .. } => "INT-1",
            Self::Malformed { .. } | Self::Long { .. } => "INT-2",
        }
    }

    /// True when the bytes may be good, but no table is for them.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::Type { .. } | Self::Version { .. })
    }

    /// What an error of a cursor or of the reader says, about a record of this type.
    pub(super) fn of(name: &'static str, error: &Error) -> Self {
        let problem = match error.kind() {
            ErrorKind::Invalid { what, .. } => what,
            ErrorKind::Varint { .. } => "an integer that does not end",
            _ => "fewer bytes than its length",
        };
        Self::Malformed { name, field: error.position().field.unwrap_or(""), problem }
    }
}

impl fmt::Display for Undecoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { topic, id } => write!(f, "unknown record type {id} of {topic}; its bytes are not decoded"),
            Self::Version { name, version } => write!(f, "unsupported version {version} of {name}; its bytes are not decoded"),
            Self::Malformed { name, field, problem } => {
                write!(f, "not a valid {name}: {problem}, at {field}; its bytes are not decoded")
            }
            Self::Long { name, most } => {
                write!(f, "the JSON of {name} is omitted: that of the batch is over the limit max_decompressed_bytes = {most}")
            }
        }
    }
}
