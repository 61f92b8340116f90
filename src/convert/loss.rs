//! What the target of a conversion cannot hold, by name.

use std::collections::BTreeMap;
use std::fmt;

/// Kinds of losses (CNV-7, CNV-8; L7-2, L7-22 for Kafka 0.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Headers of records.
    Headers,
    /// Producer id, epoch and sequence: idempotence.
    Producer,
    /// The transactional flag: data of aborted transactions becomes ordinary.
    Transaction,
    /// Control batches: transaction markers, KRaft.
    ControlBatch,
    /// Batches that compaction left without records.
    EmptyBatch,
    /// First or last offset of a batch that are not those of its records.
    BatchBounds,
    /// The leader epoch.
    LeaderEpoch,
    /// The delete horizon.
    DeleteHorizon,
    /// Attribute bytes of records.
    RecordAttributes,
    /// Attribute bits of entries that no released format uses.
    UnusedBits,
    /// Timestamps.
    Timestamp,
    /// That timestamps are append times.
    TimestampType,
    /// Keys.
    Key,
    /// Null values, which become empty.
    NullValue,
    /// Offsets: those of Kafka 0.7 are positions, so that records get other ones.
    Offset,
}

/// A loss: how often, and where first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What is lost.
    pub kind: LossKind,
    /// How many records or entries lose it.
    pub count: u64,
    /// Position of the first such entry.
    pub position: u64,
    /// Its base offset.
    pub base_offset: i64,
}

/// Losses by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<LossKind, Loss>);

impl LossKind {
    /// The name that programs see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Producer => "producer",
            Self::Transaction => "transaction",
            Self::ControlBatch => "control_batch",
            Self::EmptyBatch => "empty_batch",
            Self::BatchBounds => "batch_bounds",
            Self::LeaderEpoch => "leader_epoch",
            Self::DeleteHorizon => "delete_horizon",
            Self::RecordAttributes => "record_attributes",
            Self::UnusedBits => "unused_bits",
            Self::Timestamp => "timestamp",
            Self::TimestampType => "timestamp_type",
            Self::Key => "key",
            Self::NullValue => "null_value",
            Self::Offset => "offset",
        }
    }

    /// What is counted: records, or entries.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Headers | Self::RecordAttributes | Self::Timestamp | Self::Key | Self::NullValue | Self::Offset => "record",
            _ => "entry",
        }
    }
}

impl Losses {
    /// Counts a loss.
    pub fn add(&mut self, kind: LossKind, count: u64, position: u64, base_offset: i64) {
        if count > 0 {
            self.0.entry(kind).or_insert(Loss { kind, count: 0, position, base_offset }).count += count;
        }
    }

    /// All of them, by kind.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.0.values()
    }

    /// True when nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, loss) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let (name, unit, count) = (loss.kind.name(), loss.kind.unit(), loss.count);
            let plural = match (count, unit) {
                (1, _) => unit,
                (_, "entry") => "entries",
                _ => "records",
            };
            write!(f, "{separator}{name} ({count} {plural}, first at byte {})", loss.position)?;
        }
        Ok(())
    }
}
