use super::schema::Record;
use super::tables::{cluster_metadata, consumer_offsets, control, mirror_maker, remote_log_metadata, share_group_state, transaction_state};

/// An internal topic of Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// `__consumer_offsets`: groups of every protocol, and what they committed.
    ConsumerOffsets,
    /// `__transaction_state`: the transactions of a coordinator.
    TransactionState,
    /// `__share_group_state`: what share groups have acknowledged.
    ShareGroupState,
    /// `__cluster_metadata`: the log of a KRaft controller, and its snapshots.
    ClusterMetadata,
    /// `__remote_log_metadata`: the segments in remote storage.
    RemoteLogMetadata,
    /// `CLUSTER.checkpoints.internal`: the offsets of groups of another cluster, of MirrorMaker 2.
    MirrorCheckpoints,
    /// `heartbeats`, and `CLUSTER.heartbeats` in the other cluster, of MirrorMaker 2.
    MirrorHeartbeats,
    /// `mm2-offset-syncs.CLUSTER.internal`: offsets of both clusters next to each other, of MirrorMaker 2.
    MirrorOffsetSyncs,
}

/// How the records of a topic say what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The key begins with the number of the type (int16), the value with its version (int16).
    Coordinator,
    /// The value begins with the version of the frame, the number of the type and its version (unsigned varints).
    Framed,
    /// All records have one type. The key has no version; the value begins with its version (int16), or has none.
    Mirror {
        /// The value begins with its version.
        has_version: bool,
    },
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ConsumerOffsets,
        Self::TransactionState,
        Self::ShareGroupState,
        Self::ClusterMetadata,
        Self::RemoteLogMetadata,
        Self::MirrorCheckpoints,
        Self::MirrorHeartbeats,
        Self::MirrorOffsetSyncs,
    ];

    /// The internal topic with this name.
    ///
    /// Source: `ReplicationPolicy` and `DefaultReplicationPolicy` in `org.apache.kafka.connect.mirror`; the separator is an option there.
    pub fn named(name: &str) -> Option<Self> {
        // Any text that is no letter or digit may be before the last part of a name: the separator.
        let before = |last: &str| name.strip_suffix(last).filter(|rest| rest.ends_with(|end: char| !end.is_alphanumeric()));
        let is_whole = |topic: &Self| !matches!(topic, Self::MirrorCheckpoints | Self::MirrorOffsetSyncs) && topic.name() == name;
        let own = Self::ALL.into_iter().find(is_whole);
        own.or_else(|| {
            if before("heartbeats").is_some_and(|rest| rest.len() > 1) {
                return Some(Self::MirrorHeartbeats);
            }
            let rest = before("internal")?.trim_end_matches(|end: char| !end.is_alphanumeric());
            if rest.starts_with("mm2-offset-syncs") && rest.len() > "mm2-offset-syncs".len() {
                return Some(Self::MirrorOffsetSyncs);
            }
            let rest = rest.strip_suffix("checkpoints")?;
            (rest.len() > 1 && rest.ends_with(|end: char| !end.is_alphanumeric())).then_some(Self::MirrorCheckpoints)
        })
    }

    /// Its name, or the part of it that all topics of its kind have.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConsumerOffsets => "__consumer_offsets",
            Self::TransactionState => "__transaction_state",
            Self::ShareGroupState => "__share_group_state",
            Self::ClusterMetadata => "__cluster_metadata",
            Self::RemoteLogMetadata => "__remote_log_metadata",
            Self::MirrorCheckpoints => "checkpoints.internal",
            Self::MirrorHeartbeats => "heartbeats",
            Self::MirrorOffsetSyncs => "mm2-offset-syncs",
        }
    }

    /// The types of its records.
    pub fn records(self) -> &'static [Record] {
        match self {
            Self::ConsumerOffsets => consumer_offsets::RECORDS,
            Self::TransactionState => transaction_state::RECORDS,
            Self::ShareGroupState => share_group_state::RECORDS,
            Self::ClusterMetadata => cluster_metadata::RECORDS,
            Self::RemoteLogMetadata => remote_log_metadata::RECORDS,
            Self::MirrorCheckpoints => mirror_maker::CHECKPOINTS,
            Self::MirrorHeartbeats => mirror_maker::HEARTBEATS,
            Self::MirrorOffsetSyncs => mirror_maker::OFFSET_SYNCS,
        }
    }

    pub(super) fn layout(self) -> Layout {
        match self {
            Self::ConsumerOffsets | Self::TransactionState | Self::ShareGroupState => Layout::Coordinator,
            Self::ClusterMetadata | Self::RemoteLogMetadata => Layout::Framed,
            Self::MirrorCheckpoints | Self::MirrorHeartbeats => Layout::Mirror { has_version: true },
            Self::MirrorOffsetSyncs => Layout::Mirror { has_version: false },
        }
    }
}

/// The types of control records.
pub(super) fn control_records() -> &'static [Record] {
    control::RECORDS
}

/// The type with this number.
pub(super) fn record_of(records: &'static [Record], id: i64) -> Option<&'static Record> {
    records.iter().find(|record| i64::from(record.id) == id)
}
