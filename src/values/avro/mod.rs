//! Avro: schemas, resolution of one schema to another, and values into columns.

mod decode;
mod default;
mod encode;
mod fingerprint;
mod json;
mod parse;
mod put;
mod resolve;
mod schema;
mod shape;

pub use decode::read;
pub use encode::{write, write_bare_bytes};
pub use fingerprint::{crc, fingerprint};
pub use resolve::{ResolveStep, SchemaResolver};
pub use schema::AvroSchema;
pub use shape::shape_of;
