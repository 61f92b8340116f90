//! What a cluster knew, from the log directories of its brokers and controllers, without any of them running.
//!
//! Paths go in; topics, configurations, groups and their lag come out, as tables (`views`), with findings about what disagrees or is missing.
//! Sources: `org.apache.kafka.image`, the group, transaction and share coordinators of Kafka.

mod context;
mod coordinators;
mod copies;
mod directories;
mod harmless;
mod lag;
mod metadata;
mod read;
mod records;
mod rules;
mod state;
mod table;
mod text;
pub mod views;

pub use coordinators::Coordinators;
pub use copies::{CopyEnd, PartitionCopy};
pub use directories::LogDirectory;
pub use state::{Cluster, Lag};
