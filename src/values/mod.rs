//! Keys and values with schemas, as Arrow columns: how a value names its schema, and what it says.
//!
//! Values go in as bytes, with the schemas that they may name; columns come out. A value that its schema does not fit is an error or a
//! finding (SCH-1 to SCH-6), and costs no more than limits allow.

pub mod array;
pub mod avro;
mod body;
pub mod cells;
mod column;
mod container;
mod decoder;
mod formats;
pub mod framed;
mod framing;
pub mod json;
pub mod misfit;
pub mod outputs;
pub mod payload;
pub mod plan;
mod primitive;
pub mod protobuf;
mod record_parts;
pub mod scan;
pub mod schema_name;
mod schemas;
pub mod shape;
pub mod stream;
pub mod wanted;
mod writer;

pub use decoder::ValueDecoder;
pub use formats::{AnySchema, ValueFormat};
pub use framing::Framing;
pub use plan::{Expected, ReaderSchema, ValuePlan};
pub use schemas::{SchemaEntry, Schemas};
pub use stream::{TypedOptions, open, schema_of};
pub use writer::{TypedWriters, ValueWriter};
