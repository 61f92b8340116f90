//! The transactions of a partition one by one: which producer, from where to where, how large, how long, and how each ended.
//!
//! Batch headers and markers go in, transactions come out. Damage puts the transactions that are open there in doubt: their markers may
//! have been in the damaged bytes. Source: KIP-98 and KIP-664; `TransactionsCommand` in Kafka's tools.

use std::collections::{HashMap, HashSet};

use crate::decode::transactions::{Begin, Clocks};
use crate::model::BatchHeader;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// By a COMMIT marker.
    Committed,
    /// By an ABORT marker.
    Aborted,
    /// Not yet.
    Open,
    /// Not yet, and a coordinator would have aborted it by now.
    Hanging,
    /// Damage follows its begin, which may have held its marker.
    Undecided,
}

impl TransactionState {
    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Aborted => "aborted",
            Self::Open => "open",
            Self::Hanging => "hanging",
            Self::Undecided => "unknown",
        }
    }
}

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// How it ended.
    pub state: TransactionState,
    /// Producer id.
    pub producer_id: i64,
    /// Producer epoch in which it began.
    pub producer_epoch: i16,
    /// First offset of its first batch.
    pub first_offset: i64,
    /// Last offset of its last batch.
    pub last_offset: i64,
    /// Offset of its marker.
    pub marker_offset: Option<i64>,
    /// Batches.
    pub batches: u64,
    /// Records in them.
    pub records: i64,
    /// Their bytes as stored.
    pub bytes: u64,
    /// Time of its first batch as stored, ms; -1 for none.
    pub first_timestamp: i64,
    /// From its begin to its marker, or to the time up to which open transactions last, ms; see `decode::transactions::Begin`.
    pub duration_ms: i64,
}

/// A transaction without a marker so far, and when it began.
#[derive(Debug)]
struct UnfinishedTransaction {
    transaction: Transaction,
    begin: Begin,
}

/// The transactions that have no marker so far. Segments are visited in the order of their offsets.
#[derive(Debug)]
pub struct TransactionHistory {
    /// The markers of the segment that is read, by producer id and offset; true for a commit.
    markers: HashMap<(i64, i64), bool>,
    open: HashMap<i64, UnfinishedTransaction>,
    undecided: HashSet<i64>,
    /// Where the segment that is read is damaged, until a batch after it comes.
    damage: Vec<u64>,
    clocks: Clocks,
    /// Producers whose transactions began after the last time of a broker.
    begun: Vec<i64>,
    /// A transaction that is open for longer hangs, ms.
    longest_ms: i64,
}

impl TransactionHistory {
    /// A history without transactions; one that is open for longer than `longest_ms` hangs.
    pub fn new(longest_ms: i64) -> Self {
        Self {
            markers: HashMap::new(),
            open: HashMap::new(),
            undecided: HashSet::new(),
            damage: Vec::new(),
            clocks: Clocks::default(),
            begun: Vec::new(),
            longest_ms,
        }
    }

    /// Begin a segment with these markers: producer id, offset, and true for a commit.
    pub fn enter(&mut self, markers: impl IntoIterator<Item = (i64, i64, bool)>) {
        self.leave();
        self.markers = markers.into_iter().map(|(producer, offset, commits)| ((producer, offset), commits)).collect();
    }

    /// Remember that the segment is damaged at a position.
    pub fn add_damage(&mut self, position: u64) {
        self.damage.push(position);
    }

    /// End a segment: all of its damage lies before the next one.
    pub fn leave(&mut self) {
        if !self.damage.is_empty() {
            self.damage.clear();
            self.mark_undecided();
        }
    }

    /// Visit the next batch; return the transaction that it ends.
    pub fn visit(&mut self, header: &BatchHeader) -> Option<Transaction> {
        let before = self.damage.len();
        self.damage.retain(|position| *position > header.position);
        if self.damage.len() < before {
            self.mark_undecided();
        }
        if let Some(time) = self.clocks.visit(header) {
            for id in self.begun.drain(..) {
                if let Some(open) = self.open.get_mut(&id) {
                    open.begin.set_after(time);
                }
            }
        }
        let producer_id = header.producer.id;
        if !header.is_transactional() || producer_id < 0 {
            return None;
        }
        if !header.is_control() {
            self.add(header);
            return None;
        }
        let commits = *self.markers.get(&(producer_id, header.last_offset))?;
        let UnfinishedTransaction { transaction: ended, begin } = self.open.remove(&producer_id)?;
        self.clocks.end(&begin, header.max_timestamp);
        let state = self.state_of(&ended, if commits { TransactionState::Committed } else { TransactionState::Aborted });
        let duration_ms = begin.lasted_ms(header.max_timestamp, self.longest_ms);
        Some(Transaction { state, marker_offset: Some(header.last_offset), duration_ms, ..ended })
    }

    /// Put all open transactions in doubt, as a batch does whose checksum does not match.
    pub fn mark_undecided(&mut self) {
        self.undecided.extend(self.open.keys());
    }

    /// Return the transactions without a marker, by first offset.
    ///
    /// `now`: the time of a clock up to which they last; by default they last for as long as the log shows.
    pub fn open(&mut self, now: Option<i64>) -> Vec<Transaction> {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_unstable_by_key(|unfinished| unfinished.transaction.first_offset);
        let ended = open.into_iter().map(|UnfinishedTransaction { transaction, begin }| {
            let open_ms = now.map_or_else(|| self.clocks.open_ms(&begin), |now| begin.open_until_ms(now));
            let state =
                self.state_of(&transaction, if open_ms > self.longest_ms { TransactionState::Hanging } else { TransactionState::Open });
            let duration_ms = if now.is_some() { open_ms } else { open_ms.max(begin.own_ms(self.longest_ms)) };
            Transaction { state, duration_ms, ..transaction }
        });
        ended.collect()
    }

    fn state_of(&mut self, transaction: &Transaction, state: TransactionState) -> TransactionState {
        if self.undecided.remove(&transaction.producer_id) { TransactionState::Undecided } else { state }
    }

    fn add(&mut self, header: &BatchHeader) {
        let id = header.producer.id;
        let open = self.open.entry(id).or_insert_with(|| {
            self.begun.push(id);
            let begin = self.clocks.begin(header);
            let transaction = Transaction {
                state: TransactionState::Open,
                producer_id: id,
                producer_epoch: header.producer.epoch,
                first_offset: header.base_offset,
                last_offset: header.base_offset,
                marker_offset: None,
                batches: 0,
                records: 0,
                bytes: 0,
                first_timestamp: begin.first_timestamp(),
                duration_ms: 0,
            };
            UnfinishedTransaction { transaction, begin }
        });
        open.begin.add(header);
        let transaction = &mut open.transaction;
        transaction.last_offset = header.last_offset;
        transaction.batches += 1;
        transaction.records = transaction.records.saturating_add(i64::from(header.count.unwrap_or(0)));
        transaction.bytes = transaction.bytes.saturating_add(header.size);
    }
}
