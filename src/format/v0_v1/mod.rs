//! Message sets, magic 0 and 1 (KIP-31, KIP-32; `LegacyRecord` and `AbstractLegacyRecordBatch` in Kafka's clients).

pub mod encode;
pub mod layout;
pub mod parse;
pub mod records;
