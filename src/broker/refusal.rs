//! Refusals with the error codes of Kafka.

use crate::compat::KafkaError;
use crate::error::{Error, ErrorKind};

/// A refusal of the whole request, with Kafka's error code.
#[cold]
pub fn refused(rule: &'static str, error: KafkaError, reason: impl Into<String>) -> Error {
    ErrorKind::Rejected { rule, code: error.code, name: error.name, reason: reason.into(), records: Vec::new() }.into()
}
