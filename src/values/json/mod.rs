//! JSON: the columns of a JSON Schema, schemas inferred from values, and texts into columns.

mod decode;
mod encode;
mod infer;
mod schema;
mod shape;

pub use decode::{JsonStep, read};
pub use encode::write;
pub use infer::{Inferred, is_text};
pub use schema::JsonSchema;
pub use shape::{holds, schema_of, shape_of};
