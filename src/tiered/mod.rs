//! Uploads of tiered storage as log directories: Aiven's remote storage manager, Kafka's `LocalTieredStorage`, Pinterest's uploader,
//! and plain segments with the names of a template.
//!
//! A directory of objects goes in; segments with their indexes, producer snapshots and leader epochs come out, chunks decrypted and
//! decompressed. The rules are those with the ids TS.

mod cache;
mod chunk_table;
mod chunks;
mod cipher;
mod directory;
mod encryption;
mod error;
mod file;
mod keys;
mod layout;
mod lost;
mod manifest;
mod members;
mod names;
mod objects;
mod overlaps;
mod part;
mod range;
mod several;
mod sidecars;
mod template;
mod upload;
mod uri;
mod valid_batches;
mod view;
mod virtual_file;

pub use chunks::{cached_chunks, forget_chunks};
pub use directory::{absent_indexes, begin_end, begin_read, entries, entry, local_name, open, read, segment_at, segments_in};
pub use encryption::Encryption;
pub use error::{ChunkError, ManifestError, TieredError, TieredResult};
pub use file::TieredFile;
pub use keys::{DataKey, Keys, UnwrapKey};
pub use layout::Layouts;
pub use manifest::Manifest;
pub use names::{ObjectName, PartitionName};
pub use objects::{SegmentObjects, data_key_of, lost_indexes, max_timestamp};
pub use part::FetchedBytes;
pub use range::TieredRange;
pub use sidecars::Sidecars;
pub use upload::{FoundUpload, Upload, UploadState};
pub use uri::{Uri, absolute_text, cut_text, objects_text, uri_text};
pub use view::{UploadedSegment, uploads};
