//! Record batch, magic 2 (KIP-98; `DefaultRecordBatch` and `DefaultRecord` in Kafka's clients).

pub mod encode;
pub mod layout;
pub mod parse;
pub mod records;
