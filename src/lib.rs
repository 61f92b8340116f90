//! Reads, checks, writes and converts the record batches and log segments of Apache Kafka, as Arrow columns, without a broker.
//!
//! Bytes go in, records, columns or findings come out; the core does no I/O and knows neither Python nor Arrow.
//! Rooms in reading order: `wire` (primitives), `model` (the nouns), `format` (one folder per wire format), `codec`
//! (compress and decompress), `framing` (a run of bytes to entries), `sidecar` (the files next to a log), `internal_topics` (what
//! records of internal topics say), `decode` (drives them all),
//! `encode` (the way back), `validate` (what is decoded, as findings), `inspect` (every field of an entry), `log` (segments with the files
//! next to them), `salvage` (the valid entries, and an account of the rest), `rewrite` (erase, mask and compact records), `partition` (segments
//! of a partition, wherever they lie), and, with features,
//! `columns` (Arrow), `report` (JSON lines, counts, comparisons), `cluster` (what log directories show of a cluster), `io` (files), `stores` (object stores and HDFS), `tiered` (tiered storage), `values` (keys and values with schemas), `jvm` (Java), `py` (Python).

// docs.rs builds with nightly Rust, whose rustdoc names the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::as_conversions,
        reason = "tests may fail loudly"
    )
)]

pub mod error;
pub mod interrupt;
pub mod limits;
pub mod pool;
pub mod quirks;

pub mod wire;

pub mod model;

pub mod compat;

pub mod codec;
pub mod format;
pub mod framing;
pub mod internal_topics;
pub mod sidecar;

pub mod decode;
pub mod encode;

pub mod convert;
pub mod validate;

pub mod inspect;

pub mod broker;
pub mod log;
pub mod rewrite;
pub mod salvage;

pub mod partition;

#[cfg(feature = "arrow")]
pub mod columns;
#[cfg(feature = "arrow")]
pub mod report;

#[cfg(feature = "arrow")]
pub mod cluster;

#[cfg(feature = "io")]
pub mod io;

#[cfg(feature = "stores")]
pub mod stores;

#[cfg(feature = "stores")]
pub mod tiered;

#[cfg(feature = "values")]
pub mod values;

#[cfg(feature = "jvm")]
mod jvm;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, ErrorKind, Position, Result};
pub use limits::{Budget, Limits};
