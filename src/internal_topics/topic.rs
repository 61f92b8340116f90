use super::schema::Record;
use super::tables::{cluster_metadata, consumer_offsets, control, remote_log_metadata, share_group_state, transaction_state};

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
}

/// How the records of a topic say what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The key begins with the number of the type (int16), the value with its version (int16).
    Coordinator,
    /// The value begins with the version of the frame, the number of the type and its version (unsigned varints).
    Framed,
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::ConsumerOffsets, Self::TransactionState, Self::ShareGroupState, Self::ClusterMetadata, Self::RemoteLogMetadata];

    /// The internal topic with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConsumerOffsets => "__consumer_offsets",
            Self::TransactionState => "__transaction_state",
            Self::ShareGroupState => "__share_group_state",
            Self::ClusterMetadata => "__cluster_metadata",
            Self::RemoteLogMetadata => "__remote_log_metadata",
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
        }
    }

    pub(super) fn layout(self) -> Layout {
        match self {
            Self::ConsumerOffsets | Self::TransactionState | Self::ShareGroupState => Layout::Coordinator,
            Self::ClusterMetadata | Self::RemoteLogMetadata => Layout::Framed,
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
