//! Entries to other entries: the LZ4 header checksum alone (KIP-57), formats and codecs.
//!
//! Bytes go in and bytes come out; what is not to be changed is copied as it is.

pub mod lz4;
