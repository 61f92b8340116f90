use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::table::ColumnKind::{Bool, Int, Ints, Text};
use crate::cluster::table::{ColumnKind, Table};
use crate::cluster::{Cluster, PartitionCopy, text};
use crate::internal_topics::replay::{TopicState, Uuid};

const COLUMNS: &[(&str, ColumnKind)] = &[
    ("topic", Text),
    ("topicId", Text),
    ("partition", Int),
    ("leader", Int),
    ("leaderEpoch", Int),
    ("replicas", Ints),
    ("isr", Ints),
    ("elr", Ints),
    ("deleted", Bool),
];

/// A row for each partition.
pub(super) fn topics(cluster: &Cluster) -> Table {
    let mut table = Table::new(COLUMNS);
    let Some(metadata) = &cluster.metadata else {
        of_directories(cluster, &mut table);
        return table;
    };
    let kept = metadata.topics.iter().map(|(id, topic)| (topic, id, false));
    let deleted = metadata.deleted.iter().map(|(id, topic)| (topic, id, true));
    let mut topics: Vec<(&TopicState, &Uuid, bool)> = kept.chain(deleted).collect();
    topics.sort_by(|one, other| (&one.0.name, one.2, one.1).cmp(&(&other.0.name, other.2, other.1)));
    for (topic, id, is_deleted) in topics {
        for (number, partition) in &topic.partitions {
            table.push([
                topic.name.as_str().into(),
                text::uuid(id).into(),
                (*number).into(),
                partition.leader.into(),
                partition.leader_epoch.into(),
                partition.replicas.clone().into(),
                partition.isr.clone().into(),
                partition.elr.clone().into(),
                is_deleted.into(),
            ]);
        }
    }
    table
}

/// What directories show alone: the leader and the replicas in sync were known to ZooKeeper only.
fn of_directories(cluster: &Cluster, table: &mut Table) {
    let mut partitions: BTreeMap<(&str, i32), Vec<&PartitionCopy>> = BTreeMap::new();
    for copy in &cluster.copies {
        partitions.entry((&copy.topic, copy.partition)).or_default().push(copy);
    }
    for ((topic, partition), copies) in partitions {
        let replicas: BTreeSet<i32> = copies.iter().filter_map(|copy| copy.broker).collect();
        let epoch = copies.iter().map(|copy| copy.rank().0).max().filter(|epoch| *epoch >= 0);
        table.push([
            topic.into(),
            copies.iter().find_map(|copy| copy.topic_id.clone()).into(),
            partition.into(),
            None::<i32>.into(),
            epoch.into(),
            Some(replicas).filter(|replicas| !replicas.is_empty()).map(|replicas| replicas.into_iter().collect::<Vec<_>>()).into(),
            None::<Vec<i32>>.into(),
            None::<Vec<i32>>.into(),
            None::<bool>.into(),
        ]);
    }
}
