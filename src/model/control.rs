use crate::error::{ErrorKind, Result};
use crate::wire::Cursor;

/// What a control record says (CTL-3; `ControlRecordType` in Kafka).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlType {
    /// 0: the producer's open transaction is aborted.
    Abort,
    /// 1: the producer's open transaction is committed.
    Commit,
    /// 2: a KRaft leader was elected.
    LeaderChange,
    /// 3: first batch of a KRaft snapshot.
    SnapshotHeader,
    /// 4: last batch of a KRaft snapshot.
    SnapshotFooter,
    /// 5: the KRaft protocol version.
    KraftVersion,
    /// 6: the KRaft voters.
    KraftVoters,
    /// Any other number: skipped by readers, never an error.
    Unknown(i16),
}

/// The transaction marker in a control batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// ABORT or COMMIT; others end no transaction.
    pub control_type: ControlType,
    /// Of the coordinator that wrote it; -1 where its value says none.
    pub coordinator_epoch: i32,
    /// Its timestamp, ms.
    pub timestamp: i64,
}

impl ControlType {
    /// Parses the key of a control record: version int16, type int16 (CTL-2).
    ///
    /// # Errors
    /// `Length` for a null key or one of fewer than 4 bytes (V2-47), `Invalid` for a version below 0.
    pub fn parse(key: Option<&[u8]>) -> Result<Self> {
        let mut cursor = Cursor::new(key.unwrap_or_default(), "V2-47");
        let version = cursor.take_i16("version")?;
        let id = cursor.take_i16("type")?;
        if version < 0 {
            return Err(ErrorKind::Invalid { rule: "CTL-2", what: "control record with a key version below 0" }.into());
        }
        Ok(Self::from_id(id))
    }

    /// The type with this number.
    pub fn from_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KraftVersion,
            6 => Self::KraftVoters,
            other => Self::Unknown(other),
        }
    }

    /// Its number.
    pub fn id(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::LeaderChange => 2,
            Self::SnapshotHeader => 3,
            Self::SnapshotFooter => 4,
            Self::KraftVersion => 5,
            Self::KraftVoters => 6,
            Self::Unknown(id) => id,
        }
    }

    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        (0..=6).map(Self::from_id).find(|kind| kind.name() == name)
    }

    /// The key of a control record of this type (CTL-2).
    pub fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }

    /// True for ABORT and COMMIT, which end a producer's transaction (CTL-5).
    pub fn is_marker(self) -> bool {
        matches!(self, Self::Abort | Self::Commit)
    }

    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abort => "ABORT",
            Self::Commit => "COMMIT",
            Self::LeaderChange => "LEADER_CHANGE",
            Self::SnapshotHeader => "SNAPSHOT_HEADER",
            Self::SnapshotFooter => "SNAPSHOT_FOOTER",
            Self::KraftVersion => "KRAFT_VERSION",
            Self::KraftVoters => "KRAFT_VOTERS",
            Self::Unknown(_) => "UNKNOWN",
        }
    }
}

/// The value of an ABORT or COMMIT marker (CTL-4).
pub fn marker_value(coordinator_epoch: i32) -> [u8; 6] {
    let [a, b, c, d] = coordinator_epoch.to_be_bytes();
    [0, 0, a, b, c, d]
}

/// Parses the value of an ABORT or COMMIT marker: version int16, coordinatorEpoch int32 (CTL-4).
///
/// # Errors
/// `Length` for fewer than 6 bytes, `Invalid` for a version below 0.
pub fn coordinator_epoch(value: Option<&[u8]>) -> Result<i32> {
    let mut cursor = Cursor::new(value.unwrap_or_default(), "CTL-4");
    let version = cursor.take_i16("version")?;
    let epoch = cursor.take_i32("coordinatorEpoch")?;
    if version < 0 {
        return Err(ErrorKind::Invalid { rule: "CTL-4", what: "transaction marker with a version below 0" }.into());
    }
    Ok(epoch)
}
