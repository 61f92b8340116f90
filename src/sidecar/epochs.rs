use crate::model::{BatchHeader, RecordFormat};

/// One line of a `leader-epoch-checkpoint` (SEG-9; KIP-101).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEntry {
    /// Number of a leader's term.
    pub epoch: i32,
    /// The first offset that it wrote.
    pub start_offset: i64,
}

/// Learns the leader epochs of a log from its batches, in order (`LeaderEpochFileCache` during recovery).
#[derive(Debug, Default)]
pub struct LeaderEpochs(Vec<EpochEntry>);

impl LeaderEpochs {
    /// Looks at the next batch.
    pub fn visit(&mut self, header: &BatchHeader) {
        let epoch = header.partition_leader_epoch;
        let is_new = self.0.last().is_none_or(|last| epoch > last.epoch);
        if header.format >= RecordFormat::V2 && epoch >= 0 && is_new {
            self.0.push(EpochEntry { epoch, start_offset: header.base_offset });
        }
    }

    /// What was learnt.
    pub fn entries(&self) -> &[EpochEntry] {
        &self.0
    }
}
