//! JSON: the columns of a JSON Schema, schemas inferred from values, and texts into columns.

mod decode;
mod encode;
mod infer;
mod number;
mod schema;
mod shape;

pub use decode::{JsonStep, read};
pub use encode::write;
pub use infer::{Inferred, ensure_inferable};
pub use schema::{Integers, JsonSchema};
pub use shape::{holds, schema_of, shape_of};
