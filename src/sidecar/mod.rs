//! The files that Kafka keeps next to a `.log`: bytes or text to entries and findings, entries to bytes, and the entries that a log should
//! have, built from its batch headers. Reads no log: headers and markers come in from above.
//! Sources: `OffsetIndex`, `TimeIndex`, `TransactionIndex`, `ProducerStateManager`, `CheckpointFile`, `LogSegment` in Kafka's storage.

/// Text files: leader epochs, offsets of partitions, the id of a topic.
pub mod checkpoint;
/// Epochs and where they start.
pub mod epochs;
/// Findings about sidecar files.
pub mod finding;
/// The entries of offset and time index, from headers.
pub mod index_builder;
/// `.index`.
pub mod offset_index;
/// `.snapshot`.
pub mod producer_snapshot;
/// Producers and their transactions, from headers and markers.
pub mod producers;
/// `.timeindex`.
pub mod time_index;
/// `.txnindex`.
pub mod txn_index;

mod table;

pub use epochs::{EpochEntry, LeaderEpochs};
pub use finding::{SidecarFinding, SidecarFindings, SidecarProblem};
pub use index_builder::IndexBuilder;
pub use offset_index::OffsetEntry;
pub use producer_snapshot::ProducerEntry;
pub use producers::Producers;
pub use time_index::TimeEntry;
pub use txn_index::AbortedTxn;

/// What a file holds, and what is wrong with it. Entries are given as they are in the file, also those that a finding is about.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedSidecar<T> {
    /// In the order of the file.
    pub entries: Vec<T>,
    /// In the order of the file.
    pub findings: Vec<SidecarFinding>,
}

impl<T> ParsedSidecar<T> {
    /// True when nothing is wrong with it (a zero tail is nothing wrong).
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(SidecarFinding::is_harmful)
    }
}
