//! Frames to records: header, checksum, decompressing, records into a sink, in that order. Drives format and codec.

mod checksum_verifier;
mod decoder;
mod entry_candidates;
mod header;
mod message_bundle;
mod message_codec;
mod messages;
mod open;
mod opened;
mod options;
mod record_filter;
mod rewrite;
mod sniff;
mod stats;
mod torn_header;
pub mod transactions;
mod upload_check;
mod v07;
mod walk;

pub use crate::format::record_batch::ensure_count;
pub use checksum_verifier::{ChecksumVerifier, Checksums};
pub use decoder::{Decoder, MOST_AHEAD};
pub use header::{checksummed, parse_header, records_at, verify};
pub use message_bundle::Bundle;
pub(crate) use message_codec::ensure_codec;
pub(crate) use open::is_empty_compressed;
pub use opened::{DecodedBatch, RecordsSource};
pub use options::{CodecOptions, DecodeOptions, Isolation, OffsetRange, Unreadable};
pub use record_filter::RecordFilter;
pub use sniff::sniff;
pub use stats::Stats;
pub use torn_header::torn_offsets;
pub use transactions::Transactions;
pub use upload_check::UploadCheck;
pub use walk::{RecordIter, entry_len};
