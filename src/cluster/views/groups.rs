use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::table::ColumnKind::{Int, Long, Text};
use crate::cluster::table::{Cell, ColumnKind, Table};
use crate::cluster::{Cluster, text};
use crate::internal_topics::replay::{Group, GroupKind};

const GROUPS: &[(&str, ColumnKind)] = &[
    ("group", Text),
    ("type", Text),
    ("state", Text),
    ("protocol", Text),
    ("memberId", Text),
    ("topic", Text),
    ("partition", Int),
    ("committedOffset", Long),
    ("leaderEpoch", Int),
    ("metadata", Text),
    ("commitTimestamp", Long),
    ("expireTimestamp", Long),
];
const LAG: &[(&str, ColumnKind)] = &[
    ("group", Text),
    ("topic", Text),
    ("partition", Int),
    ("committedOffset", Long),
    ("logEndOffset", Long),
    ("lastStableOffset", Long),
    ("lag", Long),
    ("lagMs", Long),
    ("problem", Text),
];

/// The columns of an offset: topic, partition, offset, leader epoch, metadata, times of the commit and of its expiry.
type OffsetCells = [Cell; 7];

/// A row for each member and each committed offset; one of both null for a group without any.
pub(super) fn groups(cluster: &Cluster) -> Table {
    let mut table = Table::new(GROUPS);
    let mut offsets = offsets_of(cluster);
    let shared: BTreeSet<&str> = cluster.coordinators.shared.keys().map(|place| place.group.as_str()).collect();
    let names: BTreeSet<String> = cluster.coordinators.groups.keys().chain(offsets.keys()).cloned().collect();
    for name in names {
        // A group that only commits offsets has no record of its own.
        let kind = if shared.contains(name.as_str()) { GroupKind::Share } else { GroupKind::Classic };
        let implied = Group { kind, ..Group::default() };
        let group = cluster.coordinators.groups.get(&name).unwrap_or(&implied);
        let own = offsets.remove(&name).unwrap_or_default();
        let mut row = |member: Option<String>, [topic, partition, offset, epoch, metadata, committed, expires]: OffsetCells| {
            let (kind, state) = (group.kind.name().into(), group.state().into());
            let protocol = group.protocol_type.as_str().into();
            table.push([
                name.as_str().into(),
                kind,
                state,
                protocol,
                member.into(),
                topic,
                partition,
                offset,
                epoch,
                metadata,
                committed,
                expires,
            ]);
        };
        if group.members.is_empty() && own.is_empty() {
            row(None, no_offset());
        }
        group.members.keys().for_each(|member| row(Some(member.clone()), no_offset()));
        own.into_iter().for_each(|offset| row(None, offset));
    }
    table
}

fn no_offset() -> OffsetCells {
    [Cell::Text(None), Cell::Int(None), Cell::Long(None), Cell::Int(None), Cell::Text(None), Cell::Long(None), Cell::Long(None)]
}

/// Committed offsets, and the start offsets of share groups, by group.
fn offsets_of(cluster: &Cluster) -> BTreeMap<String, Vec<OffsetCells>> {
    let mut found: BTreeMap<String, Vec<OffsetCells>> = BTreeMap::new();
    for (place, (commit, _)) in &cluster.coordinators.commits {
        found.entry(place.group.clone()).or_default().push([
            place.topic.as_str().into(),
            place.partition.into(),
            commit.offset.into(),
            commit.leader_epoch.into(),
            commit.metadata.as_str().into(),
            commit.commit_timestamp.into(),
            commit.expire_timestamp.into(),
        ]);
    }
    let mut shared: Vec<_> = cluster.coordinators.shared.iter().collect();
    let name_of = |id| cluster.topic_name(id).unwrap_or_else(|| text::uuid(id));
    shared.sort_by_cached_key(|(place, _)| (place.group.clone(), name_of(&place.topic_id), place.partition));
    for (place, offset) in shared {
        found.entry(place.group.clone()).or_default().push([
            name_of(&place.topic_id).into(),
            place.partition.into(),
            Some(offset.start_offset).filter(|start| *start >= 0).into(),
            offset.leader_epoch.into(),
            Cell::Text(None),
            offset.write_timestamp.into(),
            Cell::Long(None),
        ]);
    }
    found
}

/// A row for each committed offset.
pub(super) fn lag(cluster: &Cluster) -> Table {
    let mut table = Table::new(LAG);
    for lag in &cluster.lag {
        table.push([
            lag.group.as_str().into(),
            lag.topic.as_str().into(),
            lag.partition.into(),
            lag.committed.into(),
            lag.end.into(),
            lag.stable.into(),
            lag.lag.into(),
            lag.lag_ms.into(),
            lag.problem.clone().into(),
        ]);
    }
    table
}
