//! Where appended records come from, which decides what they are held against (`AppendOrigin` in Kafka's storage module).

/// Who appends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A Produce request: every rule.
    #[default]
    Client,
    /// The group or transaction coordinator of the same broker: may write control records, and its batches need no sequences.
    Coordinator,
    /// A follower that fetched from the leader: everything stays as the leader wrote it, nothing is decompressed.
    Replication,
    /// The leader of a Raft quorum, which gave its batches their offsets and its own epoch.
    RaftLeader,
}

impl AppendOrigin {
    /// All of them, with their names in lower case.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("client", Self::Client),
        ("coordinator", Self::Coordinator),
        ("replication", Self::Replication),
        ("raft_leader", Self::RaftLeader),
    ];

    /// True where records come without offsets, and get those that follow in the log.
    pub fn has_offsets_assigned(self) -> bool {
        matches!(self, Self::Client | Self::Coordinator)
    }
}
