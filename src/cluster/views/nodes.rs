use std::collections::BTreeSet;

use super::shown::Shown;
use crate::cluster::table::ColumnKind::{Bool, Int, Long, Text, Texts};
use crate::cluster::table::{ColumnKind, Table};
use crate::cluster::{Cluster, text};
use crate::internal_topics::replay::Endpoint;

const BROKERS: &[(&str, ColumnKind)] = &[
    ("id", Int),
    ("role", Text),
    ("endpoints", Texts),
    ("rack", Text),
    ("epoch", Long),
    ("incarnationId", Text),
    ("fenced", Bool),
    ("inControlledShutdown", Bool),
    ("logDirs", Texts),
    ("clusterId", Text),
    ("paths", Texts),
];
const FEATURES: &[(&str, ColumnKind)] = &[("feature", Text), ("level", Int)];

/// A row for each broker and each controller: those of the metadata, and those of log directories alone.
pub(super) fn brokers(cluster: &Cluster, shown: Shown<'_>) -> Table {
    let mut table = Table::new(BROKERS);
    let paths =
        |id: i32| -> Vec<String> { cluster.log_dirs.iter().filter(|log| log.node == Some(id)).map(|log| shown(&log.path)).collect() };
    let cluster_id = cluster.log_dirs.iter().find_map(|log| log.cluster.clone());
    let mut seen = BTreeSet::new();
    for (id, broker) in cluster.metadata.iter().flat_map(|metadata| &metadata.brokers) {
        seen.insert(*id);
        table.push([
            (*id).into(),
            "broker".into(),
            endpoints(&broker.endpoints).into(),
            broker.rack.clone().into(),
            broker.epoch.into(),
            text::uuid(&broker.incarnation).into(),
            broker.is_fenced.into(),
            broker.is_in_controlled_shutdown.into(),
            broker.log_dirs.iter().map(text::uuid).collect::<Vec<_>>().into(),
            cluster_id.clone().into(),
            paths(*id).into(),
        ]);
    }
    for (id, controller) in cluster.metadata.iter().flat_map(|metadata| &metadata.controllers) {
        seen.insert(*id);
        table.push([
            (*id).into(),
            "controller".into(),
            endpoints(&controller.endpoints).into(),
            None::<String>.into(),
            None::<i64>.into(),
            text::uuid(&controller.incarnation).into(),
            None::<bool>.into(),
            None::<bool>.into(),
            Vec::<String>::new().into(),
            cluster_id.clone().into(),
            paths(*id).into(),
        ]);
    }
    let others: BTreeSet<i32> = cluster.log_dirs.iter().filter_map(|log| log.node).filter(|id| !seen.contains(id)).collect();
    for id in others {
        table.push([
            id.into(),
            None::<String>.into(),
            Vec::<String>::new().into(),
            None::<String>.into(),
            None::<i64>.into(),
            None::<String>.into(),
            None::<bool>.into(),
            None::<bool>.into(),
            cluster.log_dirs.iter().filter(|log| log.node == Some(id)).filter_map(|log| log.directory.clone()).collect::<Vec<_>>().into(),
            cluster.log_dirs.iter().find(|log| log.node == Some(id)).and_then(|log| log.cluster.clone()).into(),
            paths(id).into(),
        ]);
    }
    table
}

fn endpoints(endpoints: &[Endpoint]) -> Vec<String> {
    endpoints.iter().map(|endpoint| format!("{}://{}:{}", endpoint.name, endpoint.host, endpoint.port)).collect()
}

/// A row for each feature with a level.
pub(super) fn features(cluster: &Cluster) -> Table {
    let mut table = Table::new(FEATURES);
    for (name, level) in cluster.metadata.iter().flat_map(|metadata| &metadata.features) {
        table.push([name.as_str().into(), (*level).into()]);
    }
    table
}
