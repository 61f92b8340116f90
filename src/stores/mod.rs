//! Files of object stores and of HDFS.
//!
//! A URI and options go in; bytes, listings and written files come out. The crate `object_store` speaks the protocols of S3, GCS and Azure,
//! and `hdfs-native-object-store` that of HDFS. A process has one runtime for all of them, which it starts when it opens its first store.

mod aws;
mod client_error;
mod ends;
mod entries;
mod entry;
mod error;
mod escapes;
mod file;
mod hdfs;
mod location;
mod open;
mod place;
mod process;
mod range;
mod stats;
mod uri;
mod window;
mod write;

pub use ends::FileEnds;
pub use entries::{entries, entry_of, tree};
pub use entry::StoreEntry;
pub use error::{StoreError, StoreErrorKind};
pub use escapes::{decoded, escaped};
pub use file::StoredFile;
pub use location::{Location, Scheme};
pub use open::{Store, open};
pub use place::{LocalFile, PlaceEntry, PlacedFile, StoragePlace, system_text};
pub use process::{Pending, in_background};
pub use range::StoredRange;
pub use stats::{RequestCounts, counts};
pub use uri::{StorageOptions, UriParts, joined_text, redacted_uri, scheme_of_uri, to_internal_uri};
pub use window::ReadWindow;
pub use write::{put_file, settle, sync_directory, unsettle};

/// What the functions of this module return.
pub type StoreResult<T> = std::result::Result<T, StoreError>;
