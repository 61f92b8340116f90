//! The schemas by topic, made by tools/message_tables.py but for those of MirrorMaker 2.

pub(super) mod cluster_metadata;
mod consumer_groups;
pub(super) mod consumer_offsets;
pub(super) mod control;
pub(super) mod mirror_maker;
pub(super) mod remote_log_metadata;
pub(super) mod share_group_state;
mod share_groups;
mod streams_groups;
pub(super) mod transaction_state;

use super::schema::{Field, Kind, Message, Record, array, field, group, message, record};
