//! Frames to records: header, checksum, decompressing, records into a sink, in that order. Drives format and codec.

mod bundle;
mod candidates;
mod entry;
mod header;
mod messages;
mod options;
mod sniff;
mod stats;
pub mod transactions;
mod upload_check;
mod v07;
mod verifier;
mod walk;

pub use bundle::Bundle;
pub use entry::{Decoder, MOST_AHEAD, Opened, RecordsSource};
pub(crate) use header::ensure_codec;
pub use header::{checksummed, ensure_count, parse_header, records_at, verify};
pub use options::{CodecOptions, DecodeOptions, Isolation, OffsetRange};
pub use sniff::sniff;
pub use stats::Stats;
pub use transactions::Transactions;
pub use upload_check::UploadCheck;
pub use verifier::{ChecksumVerifier, Checksums};
pub use walk::{Walk, entry_len};
