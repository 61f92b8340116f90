//! Records to batches, of every format, as Kafka's own producers and brokers build them.
//!
//! `BatchBuilder` builds one entry (or one message set) out of records whose batch is known; `RecordWriter` decides where batches end, as
//! the producer does. Illegal combinations are refused with Kafka's reasons. Sources: `MemoryRecordsBuilder`, `RecordAccumulator` and
//! `CompressionRatioEstimator` of Kafka's clients.

mod batch;
mod builder;
mod errors;
mod estimate;
pub mod partitioner;
mod settings;
mod writer;

pub use batch::put_batch;
pub use builder::{BatchBuilder, Measure};
pub use partitioner::Partitioner;
pub use settings::BatchSettings;
pub use writer::RecordWriter;
