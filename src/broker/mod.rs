//! What a broker does to bytes, as pure functions: what it makes of produced records, and what it sends to a fetch (FORMAT sections 8, 9).
//!
//! Sources: `LogValidator`, `UnifiedLog` and `ProducerAppendInfo` of Kafka 3.9, `KafkaApis.handleFetchRequest` and
//! `LazyDownConversionRecordsSend` of Kafka 3.9; KIP-57, KIP-98, KIP-110, KIP-283.

mod append;
mod assign;
mod checks;
mod entries;
mod fetch;
mod follower;
mod header_updates;
mod leader;
mod options;
mod origin;
mod producers;
mod records;
mod refusal;

pub use append::append;
pub use assign::Assigner;
pub use fetch::{FetchRequest, fetch};
pub use options::{AppendOptions, Appended, ProduceRequest};
pub use origin::AppendOrigin;
pub use producers::{ProducedBatch, ProducerHistory, ProducerState};
