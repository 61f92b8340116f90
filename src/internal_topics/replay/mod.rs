//! The state that the records of internal topics add up to, as brokers and controllers replay them after a start.
//!
//! Records of one partition go in, in the order of their offsets; the state comes out. Knows no files.

mod groups;
mod metadata;
mod metadata_objects;
mod share_offsets;
mod transactional_ids;

pub use groups::{Group, GroupKind, GroupMember, Groups};
pub use metadata::Metadata;
pub use metadata_objects::{Acl, Broker, Controller, Endpoint, PartitionState, QuotaEntity, TopicState, Uuid};
pub use share_offsets::{ShareOffset, ShareOffsets, SharePartition};
pub use transactional_ids::{TransactionalId, TransactionalIds};

#[cfg(test)]
mod tests;
