//! What Python calls: one file per verb.

pub mod arrays;
pub mod batches;
pub mod broker;
pub mod compare;
pub mod compat;
pub mod convert;
pub mod decode;
pub mod decode_files;
pub mod encode;
pub mod header_walk;
pub mod inspect;
pub mod log_end;
pub mod lz4;
pub mod rebuild;
pub mod record_sections;
pub mod salvage;
pub mod segment;
pub mod staging;
pub mod stats;
pub mod time_lookup;
pub mod torn_header;
pub mod transactions;
pub mod valid_batches;
pub mod validate;
pub mod validate_log;
pub mod zstd_frame;
