//! The nouns of Kafka's record package, independent of any wire format.

pub mod attributes;
pub mod batch;
pub mod compression;
pub mod control;
pub mod record;
pub mod record_format;
pub mod section;
pub mod sink;
pub mod timestamp;

pub use attributes::Attributes;
pub use batch::{BatchHeader, Producer};
pub use compression::CompressionType;
pub use control::ControlType;
pub use record::{HeaderRef, RecordRef};
pub use record_format::RecordFormat;
pub use section::Section;
pub use sink::{Discard, RecordSink};
pub use timestamp::TimestampType;
