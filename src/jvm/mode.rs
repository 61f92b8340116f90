//! What a read does at damage.

/// Spark's modes at damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// FAILFAST: end with the error.
    Fail,
    /// PERMISSIVE: continue, with a row for each skipped place if the read has the corrupt column.
    Report,
    /// DROPMALFORMED: continue.
    Drop,
}
