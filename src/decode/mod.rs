//! Frames to records: header, checksum, unpacking, records into a sink, in that order. Drives format and codec.

mod entry;
mod judge;
mod options;
mod stats;
pub mod transactions;

pub use entry::{Decoder, Opened, Plainness, parse_header};
pub use judge::ChecksumJudge;
pub use options::{DecodeOptions, Isolation, OffsetRange};
pub use stats::Stats;
pub use transactions::Transactions;
