use std::collections::BTreeSet;

use super::shown::Shown;
use crate::cluster::table::ColumnKind::{Bool, Int, Long, Text, Texts};
use crate::cluster::table::{ColumnKind, Table};
use crate::cluster::{Cluster, PartitionCopy};
use crate::sidecar::ProducerEntry;

const PARTITIONS: &[(&str, ColumnKind)] = &[
    ("topic", Text),
    ("partition", Int),
    ("path", Text),
    ("logStartOffset", Long),
    ("logEndOffset", Long),
    ("lastStableOffset", Long),
    ("size", Long),
    ("segments", Int),
    ("health", Text),
    ("behind", Bool),
];
const TRANSACTIONS: &[(&str, ColumnKind)] = &[
    ("transactionalId", Text),
    ("coordinator", Int),
    ("producerId", Long),
    ("producerEpoch", Int),
    ("state", Text),
    ("timeoutMs", Int),
    ("startTimestamp", Long),
    ("lastUpdateTimestamp", Long),
    ("partitions", Texts),
    ("problem", Text),
];
const PRODUCERS: &[(&str, ColumnKind)] = &[
    ("topic", Text),
    ("partition", Int),
    ("producerId", Long),
    ("producerEpoch", Int),
    ("coordinatorEpoch", Int),
    ("lastSequence", Int),
    ("lastTimestamp", Long),
    ("currentTransactionStartOffset", Long),
];

/// A row for each directory of a partition.
pub(super) fn partitions(cluster: &Cluster, shown: Shown<'_>) -> Table {
    let mut table = Table::new(PARTITIONS);
    for copy in &cluster.copies {
        let end = copy.end.as_ref();
        table.push([
            copy.topic.as_str().into(),
            copy.partition.into(),
            shown(&copy.path).into(),
            copy.start.into(),
            end.map(|end| end.offset).into(),
            end.map(|end| end.stable).into(),
            i64::try_from(copy.size).unwrap_or(i64::MAX).into(),
            i32::try_from(copy.files.len()).unwrap_or(i32::MAX).into(),
            copy.health.into(),
            copy.is_behind.into(),
        ]);
    }
    table
}

/// The best directories, and their open transactions.
fn open_transactions(cluster: &Cluster) -> Vec<(&PartitionCopy, ProducerEntry)> {
    let mut found = Vec::new();
    for copy in cluster.best_copies().into_values() {
        let producers = copy.end.iter().flat_map(|end| &end.producers);
        found.extend(producers.filter(|producer| producer.current_txn_first_offset >= 0).map(|producer| (copy, *producer)));
    }
    found
}

/// A row for each transactional id, and for each producer with an open transaction that no coordinator knows.
pub(super) fn transactions(cluster: &Cluster) -> Table {
    let mut table = Table::new(TRANSACTIONS);
    let open = open_transactions(cluster);
    let mut known = BTreeSet::new();
    for (name, (id, coordinator)) in &cluster.coordinators.transactional {
        let is_live = matches!(id.state(), "Ongoing" | "PrepareCommit" | "PrepareAbort" | "PrepareEpochFence");
        if is_live {
            known.insert(id.producer_id);
        }
        let mut partitions: Vec<String> =
            id.partitions.iter().flat_map(|(topic, numbers)| numbers.iter().map(move |number| format!("{topic}-{number}"))).collect();
        partitions.sort();
        table.push([
            name.as_str().into(),
            (*coordinator).into(),
            id.producer_id.into(),
            id.producer_epoch.into(),
            id.state().into(),
            id.timeout_ms.into(),
            Some(id.start).filter(|start| *start >= 0).into(),
            id.last_update.into(),
            partitions.into(),
            None::<String>.into(),
        ]);
    }
    let hanging: BTreeSet<i64> = open.iter().map(|(_, producer)| producer.producer_id).filter(|id| !known.contains(id)).collect();
    for id in hanging {
        let own: Vec<_> = open.iter().filter(|(_, producer)| producer.producer_id == id).collect();
        let epoch = own.iter().map(|(_, producer)| i32::from(producer.producer_epoch)).max();
        let partitions: Vec<String> = own.iter().map(|(copy, _)| format!("{}-{}", copy.topic, copy.partition)).collect();
        table.push([
            None::<String>.into(),
            None::<i32>.into(),
            id.into(),
            epoch.into(),
            "Hanging".into(),
            None::<i32>.into(),
            None::<i64>.into(),
            own.iter().map(|(_, producer)| producer.timestamp).max().into(),
            partitions.into(),
            "the transaction is open in its partitions, and no coordinator has it".into(),
        ]);
    }
    table
}

/// A row for each producer of the best directory of each partition.
pub(super) fn producers(cluster: &Cluster) -> Table {
    let mut table = Table::new(PRODUCERS);
    for copy in cluster.best_copies().into_values() {
        for producer in copy.end.iter().flat_map(|end| &end.producers) {
            table.push([
                copy.topic.as_str().into(),
                copy.partition.into(),
                producer.producer_id.into(),
                i32::from(producer.producer_epoch).into(),
                producer.coordinator_epoch.into(),
                producer.last_sequence.into(),
                producer.timestamp.into(),
                Some(producer.current_txn_first_offset).filter(|first| *first >= 0).into(),
            ]);
        }
    }
    table
}
