//! The nouns of Kafka's record package, independent of any wire format.

/// Attribute bits of a batch.
pub mod attributes;
/// The header of an entry.
pub mod batch;
/// Compression types.
pub mod compression;
/// Control records.
pub mod control;
/// What a caller says about the formats of some bytes.
pub mod formats;
/// Records to be written.
pub mod new_record;
/// Records and their headers as ranges.
pub mod record;
/// Wire formats.
pub mod record_format;
/// The uncompressed records of an entry.
pub mod section;
/// What takes records.
pub mod sink;
/// Timestamp types.
pub mod timestamp;
/// What headers add up to.
pub mod totals;
/// First and last offset of an upload.
pub mod upload_offsets;

pub use attributes::Attributes;
pub use batch::{BatchHeader, Producer};
pub use compression::CompressionType;
pub use control::{ControlType, Marker};
pub use formats::Formats;
pub use new_record::{NewHeader, NewHeaders, NewRecord};
pub use record::{HeaderRef, RecordRef};
pub use record_format::RecordFormat;
pub use section::Section;
pub use sink::{Discard, RecordSink};
pub use timestamp::TimestampType;
pub use totals::Totals;
pub use upload_offsets::UploadOffsets;
