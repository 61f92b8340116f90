//! Protobuf: schemas compiled from their texts, the columns of messages, and messages into columns.

mod decode;
mod encode;
mod json;
mod schema;
mod step;

pub use decode::read;
pub use encode::{write, write_index};
pub use schema::{ProtoSchema, message_of};
pub use step::{FieldKind, holds, plan_of};
