//! What the records of Kafka's internal topics say: `__consumer_offsets`, `__transaction_state`, `__share_group_state`,
//! `__cluster_metadata`, `__remote_log_metadata`, the topics of MirrorMaker 2, and the control records of any topic.
//!
//! Keys and values go in, fields go out to a `Visitor`. One reader (`read`) for all schemas, which are tables (`tables`); this module knows
//! neither columns nor JSON. Sources: KIP-482; the coordinators' `CoordinatorRecordSerde`, `AbstractApiMessageSerde`, `ControlRecordUtils`.

mod committed_offsets;
mod fields;
mod part;
mod read;
mod record;
pub mod replay;
mod schema;
mod tables;
mod topic;
mod undecoded;
mod visitor;

#[cfg(test)]
mod tests;

pub use committed_offsets::{CommittedOffsets, GroupPartition, OffsetCommit};
pub use fields::MessageValue;
pub use part::Part;
pub use record::{Identified, identify};
pub use schema::{Field, Kind, Message, Record};
pub use topic::Topic;
pub use undecoded::Undecoded;
pub use visitor::{Scalar, Visitor};
