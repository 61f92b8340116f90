//! Frames to records: header, checksum, decompression, records into a sink, in that order. Drives format and codec.

mod bundle;
mod candidates;
mod entry;
mod guard;
mod header;
mod judge;
mod messages;
mod options;
mod sniff;
mod stats;
pub mod transactions;
mod v07;
mod walk;

pub use bundle::Bundle;
pub use entry::{Decoder, MOST_AHEAD, Opened, Storage};
pub use guard::OffsetGuard;
pub(crate) use header::ensure_codec;
pub use header::{checksummed, ensure_count, parse_header, records_at, verify};
pub use judge::{ChecksumJudge, Checksums};
pub use options::{CodecOptions, DecodeOptions, Isolation, OffsetRange};
pub use sniff::sniff;
pub use stats::Stats;
pub use transactions::Transactions;
pub use walk::{Walk, entry_len};
