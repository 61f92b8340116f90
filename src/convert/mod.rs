//! Entries to other entries: formats, codecs, and the LZ4 header checksum alone (KIP-57).
//!
//! Bytes go in and bytes come out; what is not to be changed is copied as it is. Down as brokers up to 3.9 converted for old consumers
//! (`RecordsUtil.downConvert`), up with all offsets kept (CNV-16 to CNV-19), up from Kafka 0.7 with new ones. What the target cannot hold
//! is counted by name; whether that is allowed is the caller's decision.

mod action;
mod converter;
mod loss;
pub mod lz4;
mod options;
mod rebuild;
mod record_sections;
mod relayout;

pub use converter::{Converter, MapRow, Stopped};
pub use loss::{Loss, LossKind, Losses};
pub use options::ConvertOptions;
pub use record_sections::record_sections;
pub use relayout::recompress;
