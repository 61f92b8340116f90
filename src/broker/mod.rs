//! What a broker does to bytes, as pure functions: what it makes of produced records, and what it sends to a fetch (FORMAT sections 8, 9).
//!
//! Sources: `LogValidator`, `UnifiedLog` and `ProducerAppendInfo` of Kafka 3.9, `KafkaApis.handleFetchRequest` and
//! `LazyDownConversionRecordsSend` of Kafka 3.9; KIP-57, KIP-98, KIP-110, KIP-283.

mod append;
mod assign;
mod checks;
mod fetch;
mod follower;
mod header_updates;
mod leader;
mod origin;
mod producers;
mod records;

pub use append::{AppendOptions, Appended, ProduceRequest, append};
pub use assign::Assigner;
pub use fetch::{FetchRequest, fetch};
pub use origin::AppendOrigin;
pub use producers::{ProducedBatch, ProducerEntry, ProducerState};

use crate::compat::KafkaError;
use crate::error::{Error, ErrorKind};

/// A refusal of the whole request, with Kafka's error code.
#[cold]
fn refused(rule: &'static str, error: KafkaError, reason: impl Into<String>) -> Error {
    ErrorKind::Rejected { rule, code: error.code, name: error.name, reason: reason.into(), records: Vec::new() }.into()
}
