//! Batch queries of Spark: options and filters of a query go in, tasks come out: the bytes of segments that each reads.
//!
//! Names, defaults and restrictions of options are those of Spark's Kafka source, with some of our own. `jvm` calls this for Java.

mod columns;
mod error;
mod filters;
mod grouping;
mod names;
mod offset_limit;
mod options;
mod paths;
mod query;
mod ranges;
mod settings;
mod similar;
mod tasks;
mod topics;

pub use columns::{HEADERS, KAFKA_COLUMNS, RowColumns};
pub use error::{QueryResult, SparkError};
pub use filters::{Condition, FilterTest, FilterValue, WantedRows};
pub use options::QueryOptions;
pub use paths::key_file;
pub use query::{BatchQuery, DamageMode, TypedValues};
pub use settings::with_settings;
pub use tasks::{PartitionTasks, QueryPlanner, TaskPiece};
pub use topics::{TopicMatcher, TopicPartition};
