//! Groups of all protocols, from the records of one partition of `__consumer_offsets`.
//!
//! Source: the `replay` methods of `GroupMetadataManager` and `OffsetMetadataManager` in Kafka's group coordinator.

use std::collections::BTreeMap;

use crate::internal_topics::{CommittedOffsets, MessageValue, Topic, Undecoded, identify};

/// The protocol of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKind {
    /// Of consumers whose leader assigns partitions, and of Kafka Connect.
    #[default]
    Classic,
    /// Of consumers (KIP-848).
    Consumer,
    /// Of share consumers (KIP-932).
    Share,
    /// Of Kafka Streams (KIP-1071).
    Streams,
}

impl GroupKind {
    /// Kafka's name of the type, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
            Self::Share => "share",
            Self::Streams => "streams",
        }
    }
}

/// A group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its protocol.
    pub kind: GroupKind,
    /// What its members are: of a classic group that only commits offsets, empty.
    pub protocol_type: String,
    /// Its epoch; the generation of a classic group.
    pub epoch: i32,
    /// The epoch of its assignment; that of a classic group is its generation.
    pub assignment_epoch: i32,
    /// A topology is known, which a group of Kafka Streams needs.
    pub has_topology: bool,
    /// By id.
    pub members: BTreeMap<String, GroupMember>,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupMember {
    /// The epoch of its assignment.
    pub epoch: i32,
    /// It has what it was assigned.
    pub is_stable: bool,
}

impl Group {
    /// Kafka's name of the state that a coordinator gives the group when it loads it.
    pub fn state(&self) -> &'static str {
        let is_behind = |member: &GroupMember| !member.is_stable || member.epoch != self.assignment_epoch;
        match self.kind {
            _ if self.members.is_empty() => "Empty",
            GroupKind::Streams if !self.has_topology => "NotReady",
            GroupKind::Classic | GroupKind::Share => "Stable",
            GroupKind::Consumer | GroupKind::Streams if self.epoch > self.assignment_epoch => "Assigning",
            GroupKind::Consumer | GroupKind::Streams if self.members.values().any(is_behind) => "Reconciling",
            GroupKind::Consumer | GroupKind::Streams => "Stable",
        }
    }
}

/// The groups of a coordinator, and what they committed.
#[derive(Debug, Default)]
pub struct Groups {
    /// By id.
    pub groups: BTreeMap<String, Group>,
    /// The committed offsets.
    pub offsets: CommittedOffsets,
}

impl Groups {
    /// Adds a record that is not a marker; one with a producer id belongs to a transaction. Returns why it cannot be read.
    pub fn add(&mut self, record_offset: i64, producer_id: Option<i64>, key: Option<&[u8]>, value: Option<&[u8]>) -> Option<Undecoded> {
        self.replay(key, value).err().or_else(|| self.offsets.add(record_offset, producer_id, key, value))
    }

    fn replay(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), Undecoded> {
        let Some(record) = identify(Some(Topic::ConsumerOffsets), false, key, value) else { return Ok(()) };
        let Some((kind, what)) = record.name.and_then(part_of_group) else { return Ok(()) };
        if let Some(undecoded) = record.undecoded {
            return Err(undecoded);
        }
        let key = MessageValue::of(&record, &record.key)?;
        let Some(group) = key.text("groupId").or_else(|| key.text("group")) else { return Ok(()) };
        let member = key.text("memberId").unwrap_or_default();
        let value = if record.value.is_null() { None } else { Some(MessageValue::of(&record, &record.value)?) };
        self.apply((kind, what), group, member, value.as_ref());
        Ok(())
    }

    fn apply(&mut self, (kind, what): (GroupKind, GroupPart), name: &str, member: &str, value: Option<&MessageValue>) {
        let is_of_kind = self.groups.get(name).is_some_and(|group| group.kind == kind);
        let Some(value) = value else {
            let Some(group) = self.groups.get_mut(name).filter(|_| is_of_kind) else { return };
            match what {
                GroupPart::Classic | GroupPart::Metadata => drop(self.groups.remove(name)),
                GroupPart::Member => drop(group.members.remove(member)),
                GroupPart::Assignment => group.assignment_epoch = -1,
                GroupPart::CurrentAssignment => {
                    if let Some(member) = group.members.get_mut(member) {
                        *member = GroupMember { epoch: -1, is_stable: false };
                    }
                }
                GroupPart::Topology => group.has_topology = false,
            }
            return;
        };
        if what == GroupPart::Classic {
            self.groups.insert(name.to_owned(), classic(value));
            return;
        }
        if !is_of_kind {
            let protocol_type = if kind == GroupKind::Classic { "" } else { kind.name() };
            let group = Group { kind, protocol_type: protocol_type.to_owned(), assignment_epoch: -1, ..Group::default() };
            self.groups.insert(name.to_owned(), group);
        }
        let Some(group) = self.groups.get_mut(name) else { return };
        match what {
            GroupPart::Classic => {}
            GroupPart::Metadata => group.epoch = value.int("epoch").unwrap_or(-1),
            GroupPart::Member => drop(group.members.entry(member.to_owned()).or_insert(GroupMember { epoch: -1, is_stable: false })),
            GroupPart::Assignment => group.assignment_epoch = value.int("assignmentEpoch").unwrap_or(-1),
            GroupPart::CurrentAssignment => {
                // The states of `MemberState`: 0 is STABLE.
                let (epoch, is_stable) = (value.int("memberEpoch").unwrap_or(-1), value.int("state") == Some(0));
                group.members.insert(member.to_owned(), GroupMember { epoch, is_stable });
            }
            GroupPart::Topology => group.has_topology = true,
        }
    }
}

/// What a record of a group is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupPart {
    Classic,
    Metadata,
    Member,
    Assignment,
    CurrentAssignment,
    Topology,
}

fn part_of_group(name: &str) -> Option<(GroupKind, GroupPart)> {
    if name == "GROUP_METADATA" {
        return Some((GroupKind::Classic, GroupPart::Classic));
    }
    let kinds = [("CONSUMER_", GroupKind::Consumer), ("SHARE_", GroupKind::Share), ("STREAMS_", GroupKind::Streams)];
    let (rest, kind) = kinds.into_iter().find_map(|(prefix, kind)| Some((name.strip_prefix(prefix)?, kind)))?;
    let part = match rest {
        "GROUP_METADATA" => GroupPart::Metadata,
        "GROUP_MEMBER_METADATA" => GroupPart::Member,
        "GROUP_TARGET_ASSIGNMENT_METADATA" => GroupPart::Assignment,
        "GROUP_CURRENT_MEMBER_ASSIGNMENT" => GroupPart::CurrentAssignment,
        "GROUP_TOPOLOGY" => GroupPart::Topology,
        _ => return None,
    };
    Some((kind, part))
}

fn classic(value: &MessageValue) -> Group {
    let generation = value.int("generation").unwrap_or(-1);
    let member = |fields: &MessageValue| Some((fields.text("memberId")?.to_owned(), GroupMember { epoch: generation, is_stable: true }));
    Group {
        kind: GroupKind::Classic,
        protocol_type: value.text("protocolType").unwrap_or_default().to_owned(),
        epoch: generation,
        assignment_epoch: generation,
        has_topology: false,
        members: value.list("members").unwrap_or_default().iter().filter_map(member).collect(),
    }
}
