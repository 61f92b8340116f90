//! Records erased, masked and compacted, as the log cleaner of a broker would do it.
//!
//! Entries go in, entries and an account of every input byte come out. An entry that keeps all its records is copied byte for byte; any
//! other keeps what its header says (CMP-2), and offsets never change (CMP-7). Sources: `MemoryRecords.filterTo`, `Cleaner` and `CleanedTransactionMetadata` in Kafka.

mod account;
mod batch;
mod cleaned_transactions;
mod compaction;
mod digest;
mod key_set;
mod message_set;
mod offset_map;
mod offsets;
mod output;
mod plan;
mod retention;
mod rewriter;
mod selection;

pub use account::{Range, RangeAction, RecordCounts, RewriteAccount};
pub use compaction::{Compaction, Deletion, MapBuilder};
pub use digest::{Digest, Mask};
pub use key_set::KeySet;
pub use offset_map::OffsetMap;
pub use offsets::OffsetSet;
pub use output::RunOutput;
pub use plan::{BatchAction, Filter, Plan, RecordAction};
pub use retention::Retention;
pub use rewriter::{RewriteOptions, Rewriter};
pub use selection::{HeaderMatch, RecordSelection};
