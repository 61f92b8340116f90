//! What can be wrong with the bytes: a kind with its numbers, and where.
//!
//! Errors are data; text is made only when somebody prints them.

mod cause;
mod codes;
mod escape;
mod kind;
mod plural;
mod position;
mod text;

use std::sync::Arc;

use crate::quirks::Quirks;

pub use escape::escaped;
pub use kind::ErrorKind;
pub use plural::{Plural, grouped, plural};
pub use position::Position;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error kind with the place where it was met.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<ErrorParts>);

#[derive(Clone, Debug, PartialEq)]
struct ErrorParts {
    kind: ErrorKind,
    position: Position,
    /// The file, as people may see its name, where whoever read it knew one.
    file: Option<Arc<str>>,
    /// Kafka's code, where it depends on where the error was met.
    answer: Option<i16>,
}

impl Error {
    /// An error of this kind, nowhere yet.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(ErrorParts { kind, position: Position::default(), file: None, answer: None }))
    }

    /// Adds the position of the entry, unless a lower layer said it already.
    #[must_use]
    pub fn at_byte(mut self, byte: u64) -> Self {
        self.0.position.byte.get_or_insert(byte);
        self
    }

    /// The same error in bytes of which the first is at `start` of the input.
    #[must_use]
    pub fn from_position(mut self, start: u64) -> Self {
        self.0.position.byte = Some(self.0.position.byte.unwrap_or(0).saturating_add(start));
        self
    }

    /// Adds the row of the column that the bytes come from.
    #[must_use]
    pub fn in_row(mut self, row: usize) -> Self {
        self.0.position.row.get_or_insert(u64::try_from(row).unwrap_or(u64::MAX));
        self
    }

    /// The same of a record that is being written: whose row is no matter of an error that names a batch, which ended before it.
    #[must_use]
    pub fn in_written_row(self, row: usize) -> Self {
        if self.0.position.base_offset.is_some() { self } else { self.in_row(row) }
    }

    /// Adds the base offset of the batch.
    #[must_use]
    pub fn in_batch(mut self, base_offset: i64) -> Self {
        self.0.position.base_offset.get_or_insert(base_offset);
        self
    }

    /// Adds the index of the record.
    #[must_use]
    pub fn in_record(mut self, index: u64) -> Self {
        self.0.position.record_index.get_or_insert(index);
        self
    }

    /// Adds the name of the field.
    #[must_use]
    pub fn in_field(mut self, field: &'static str) -> Self {
        self.0.position.field.get_or_insert(field);
        self
    }

    /// Adds the name of the file.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<str>) -> Self {
        self.0.file.get_or_insert_with(|| Arc::clone(file));
        self
    }

    /// The same error, when an entry after the bytes was found that begins at offset `next`, if its header has it: no later offset is missing.
    #[must_use]
    pub fn missing_before(mut self, next: Option<i64>) -> Self {
        if let ErrorKind::Unfinished { missing, .. } = &mut self.0.kind {
            let bounded = |(first, last): (i64, i64), next: i64| (first, next.saturating_sub(1).clamp(first, last));
            *missing = missing.zip(next).map(|(missing, next)| bounded(missing, next));
        }
        self
    }

    /// Another kind of error in the same place.
    #[must_use]
    pub fn become_kind(&self, kind: ErrorKind) -> Self {
        Self(Box::new(ErrorParts { kind, ..(*self.0).clone() }))
    }

    /// The same error of a compressed stream, which can be read by a reader that accepts these deviations.
    #[must_use]
    pub fn readable_with(mut self, needed: Quirks) -> Self {
        if let ErrorKind::Codec { quirks, .. } = &mut self.0.kind {
            *quirks = needed;
        }
        self
    }

    /// Says with which code Kafka answers here, when it is another than that of the kind.
    #[must_use]
    pub fn answered(mut self, code: i16) -> Self {
        self.0.answer = Some(code);
        self
    }

    /// Kafka's wire error code, where Kafka has one for this case.
    pub fn kafka_error_code(&self) -> Option<i16> {
        self.0.answer.or_else(|| self.kind().kafka_error_code())
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where.
    pub fn position(&self) -> Position {
        self.0.position
    }

    /// In which file, where whoever read it knew one.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The id of the rule that is broken.
    pub fn rule(&self) -> &'static str {
        self.kind().rule()
    }

    /// The message without its position.
    pub fn message(&self) -> String {
        self.kind().to_string()
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(other) => Self::new(ErrorKind::Io { kind: other.kind(), os_code: other.raw_os_error(), message: other.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests;
