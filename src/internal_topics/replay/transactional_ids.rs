//! Transactional ids, from the records of one partition of `__transaction_state`. Source: `TransactionStateManager` in Kafka.

use std::collections::BTreeMap;

use crate::internal_topics::{MessageValue, Topic, Undecoded, identify};

/// The state of a transactional id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionalId {
    /// Id of its producer.
    pub producer_id: i64,
    /// Epoch of its producer.
    pub producer_epoch: i32,
    /// How long a transaction may take, ms.
    pub timeout_ms: i32,
    /// Number of Kafka's `TransactionState`.
    pub status: i32,
    /// The partitions of its transaction.
    pub partitions: Vec<(String, Vec<i32>)>,
    /// When the state was written, ms.
    pub last_update: i64,
    /// When its transaction began, ms; -1 without one.
    pub start: i64,
}

/// The transactional ids of a coordinator.
#[derive(Clone, Debug, Default)]
pub struct TransactionalIds {
    /// By name.
    pub ids: BTreeMap<String, TransactionalId>,
}

impl TransactionalId {
    /// Kafka's name of the state.
    pub fn state(&self) -> &'static str {
        match self.status {
            0 => "Empty",
            1 => "Ongoing",
            2 => "PrepareCommit",
            3 => "PrepareAbort",
            4 => "CompleteCommit",
            5 => "CompleteAbort",
            6 => "Dead",
            7 => "PrepareEpochFence",
            _ => "Unknown",
        }
    }
}

impl TransactionalIds {
    /// Adds a record that is not a marker. Returns why it cannot be read.
    pub fn add(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Option<Undecoded> {
        self.replay(key, value).err()
    }

    fn replay(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), Undecoded> {
        let Some(record) = identify(Some(Topic::TransactionState), false, key, value) else { return Ok(()) };
        if let Some(undecoded) = record.undecoded {
            return Err(undecoded);
        }
        let key = MessageValue::of(&record, &record.key)?;
        let name = key.text("transactionalId").unwrap_or_default().to_owned();
        if record.value.is_null() {
            self.ids.remove(&name);
            return Ok(());
        }
        let fields = MessageValue::of(&record, &record.value)?;
        let partition =
            |fields: &MessageValue| (fields.text("topic").unwrap_or_default().to_owned(), fields.ints("partitionIds").unwrap_or_default());
        let state = TransactionalId {
            producer_id: fields.long("producerId").unwrap_or(-1),
            producer_epoch: fields.int("producerEpoch").unwrap_or(-1),
            timeout_ms: fields.int("transactionTimeoutMs").unwrap_or(-1),
            status: fields.int("transactionStatus").unwrap_or(-1),
            partitions: fields.list("transactionPartitions").unwrap_or_default().iter().map(partition).collect(),
            last_update: fields.long("transactionLastUpdateTimestampMs").unwrap_or(-1),
            start: fields.long("transactionStartTimestampMs").unwrap_or(-1),
        };
        self.ids.insert(name, state);
        Ok(())
    }
}
