//! Protobuf: schemas compiled from their texts, the columns of messages, and messages into columns.

mod decode;
mod encode;
mod imports;
mod json;
mod known;
mod message_name;
mod schema;
mod step;

pub use decode::read;
pub use encode::{write, write_index, write_ref};
pub use message_name::message_of;
pub use schema::ProtoSchema;
pub use step::{FieldKind, holds, plan_of};
