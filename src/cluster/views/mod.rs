//! The tables of a cluster, by name.

mod groups;
mod nodes;
mod partitions;
mod rights;
mod shown;
mod topics;

use arrow_array::RecordBatch;

use shown::Shown;

use super::state::Cluster;
use crate::error::Result;

/// The names of the tables.
pub const NAMES: [&str; 12] =
    ["topics", "brokers", "configs", "acls", "quotas", "scram", "features", "partitions", "groups", "lag", "transactions", "producers"];

impl Cluster {
    /// A table by its name; `None` for any other name. `shown` makes the text of a path.
    ///
    /// # Errors
    /// `Internal`.
    pub fn view(&self, name: &str, shown: Shown<'_>) -> Result<Option<RecordBatch>> {
        let table = match name {
            "topics" => topics::topics(self),
            "brokers" => nodes::brokers(self, shown),
            "configs" => rights::configs(self),
            "acls" => rights::acls(self),
            "quotas" => rights::quotas(self),
            "scram" => rights::scram(self),
            "features" => nodes::features(self),
            "partitions" => partitions::partitions(self, shown),
            "groups" => groups::groups(self),
            "lag" => groups::lag(self),
            "transactions" => partitions::transactions(self),
            "producers" => partitions::producers(self),
            _ => return Ok(None),
        };
        table.finish().map(Some)
    }
}
