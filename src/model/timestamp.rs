/// Who set a timestamp (KIP-32). The number is Spark's and Kafka's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// There is none (magic 0).
    NoTimestampType,
    /// The producer.
    CreateTime,
    /// The broker, when it appended the batch.
    LogAppendTime,
}

/// The stored value of a record or batch without a timestamp (V2-16).
pub const NO_TIMESTAMP: i64 = -1;

impl TimestampType {
    /// -1, 0 or 1.
    pub fn id(self) -> i32 {
        match self {
            Self::NoTimestampType => -1,
            Self::CreateTime => 0,
            Self::LogAppendTime => 1,
        }
    }

    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTimestampType => "NoTimestampType",
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        }
    }
}

/// Timestamps in ms from `start` (inclusive) to `end` (exclusive). A record without a timestamp is in no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first one.
    pub start: i64,
    /// The one after the last; `None` for no end.
    pub end: Option<i64>,
}

impl TimeRange {
    /// True for a timestamp in the range.
    #[inline]
    pub fn contains(&self, timestamp: i64) -> bool {
        timestamp != NO_TIMESTAMP && timestamp >= self.start && self.end.is_none_or(|end| timestamp < end)
    }
}
