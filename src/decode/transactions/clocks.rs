//! How long transactions last, by the clocks that a log has.
//!
//! A marker and a batch with LogAppendTime have the time of a broker, all other batches the time of their producer, which may be that of an
//! event long ago. Only times of one clock are subtracted: the broker's, or the producers' as far as they agree with each other and with it.

use crate::model::BatchHeader;
use crate::model::timestamp::NO_TIMESTAMP;

/// Kafka's `transaction.max.timeout.ms` by default: a coordinator aborts a transaction that is open longer.
pub const LONGEST_MS: i64 = 15 * 60 * 1000;

/// The clocks of a log, from its batches in the order of their offsets.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// Largest time of a broker so far.
    broker: Option<i64>,
    /// Largest time of a producer so far, and that producer's id.
    created: Option<(i64, i64)>,
    /// Largest time of the other producers.
    created_by_others: Option<i64>,
    /// The times of producers went back, or contradict the broker's, by more than a transaction may last.
    are_events: bool,
}

/// When a transaction began, as far as the clocks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    producer_id: i64,
    /// Smallest and largest time of its batches, as stored.
    own: Option<(i64, i64)>,
    is_of_broker: bool,
    /// Largest time of a broker before its first batch.
    before: Option<i64>,
    /// First time of a broker from its first batch on.
    after: Option<i64>,
    /// Largest time of a producer up to its first batch.
    created: Option<i64>,
}

impl Clocks {
    /// Visits a batch; returns its time if a broker gave it.
    pub fn visit(&mut self, header: &BatchHeader) -> Option<i64> {
        let time = Some(header.max_timestamp).filter(|time| *time > NO_TIMESTAMP)?;
        let is_of_broker = header.is_control() || header.append_time().is_some();
        self.are_events |= self.created.is_some_and(|(newest, _)| newest.saturating_sub(time) > LONGEST_MS);
        if is_of_broker {
            self.broker = self.broker.max(Some(time));
            return Some(time);
        }
        let id = header.producer.id;
        self.created = match self.created {
            Some((newest, other)) if newest >= time && other != id => {
                self.created_by_others = self.created_by_others.max(Some(time));
                self.created
            }
            Some((newest, other)) if newest < time && other != id => {
                self.created_by_others = Some(newest);
                Some((time, id))
            }
            Some((newest, _)) => Some((newest.max(time), id)),
            None => Some((time, id)),
        };
        None
    }

    /// Returns the begin of a transaction with this first batch, which was visited.
    pub fn begin(&self, header: &BatchHeader) -> Begin {
        let append_time = header.append_time().filter(|time| *time > NO_TIMESTAMP);
        let mut begin = Begin {
            producer_id: header.producer.id,
            own: None,
            is_of_broker: append_time.is_some(),
            before: self.broker.filter(|_| append_time.is_none()),
            after: append_time,
            created: self.created.map(|(newest, _)| newest),
        };
        begin.add(header);
        begin
    }

    /// Compares the times of a transaction with the time of its marker.
    pub fn end(&mut self, begin: &Begin, ended: i64) {
        self.are_events |= begin.own.is_some_and(|(first, _)| !begin.is_of_broker && ended.saturating_sub(first) > LONGEST_MS);
    }

    /// Returns for how long a transaction is open for certain, ms.
    pub fn open_ms(&self, begin: &Begin) -> i64 {
        let by_broker = self.broker.zip(begin.after).map_or(0, |(newest, after)| newest.saturating_sub(after));
        let others = match self.created {
            Some((newest, id)) if id != begin.producer_id => Some(newest),
            _ => self.created_by_others,
        };
        let by_producers = others.zip(begin.created).filter(|_| !self.are_events);
        by_producers.map_or(0, |(newest, created)| newest.saturating_sub(created)).max(by_broker).max(0)
    }
}

impl Begin {
    /// Adds a batch of the transaction.
    pub fn add(&mut self, header: &BatchHeader) {
        // With a delete horizon there is no base timestamp.
        let base = Some(header.base_timestamp).filter(|_| header.delete_horizon_ms().is_none() && !self.is_of_broker);
        for time in base.into_iter().chain([header.max_timestamp]).filter(|time| *time > NO_TIMESTAMP) {
            let (first, last) = self.own.unwrap_or((time, time));
            self.own = Some((first.min(time), last.max(time)));
        }
    }

    /// A batch with this time of a broker is at or after its first batch.
    pub fn set_after(&mut self, time: i64) {
        self.after.get_or_insert(time);
    }

    /// Time of its first batch as stored, or `NO_TIMESTAMP`.
    pub fn first_timestamp(&self) -> i64 {
        self.own.map_or(NO_TIMESTAMP, |(first, _)| first)
    }

    /// Returns how long it lasted up to this time of a broker, ms.
    ///
    /// The stored time of its first batch counts if it fits the times of the broker around it, and what a coordinator allows. If it does
    /// not fit, it is the time of an event: its own records say how long it took, within what the broker's times allow.
    pub fn lasted_ms(&self, ended: i64, longest_ms: i64) -> i64 {
        let since = |time: i64| ended.saturating_sub(time).max(0);
        let (least, most) = (self.after.map_or(0, since), self.before.map_or(i64::MAX, since));
        let Some((first, _)) = self.own else { return least };
        let fits = self.before.is_none_or(|before| before <= first) && first <= self.after.unwrap_or(ended).min(ended);
        if self.is_of_broker || (fits && since(first) <= longest_ms) {
            return since(first);
        }
        self.own_ms(longest_ms).min(most).max(least)
    }

    /// Returns how long it is open at this time of the caller's clock, ms. Times of events count as times of that clock.
    pub fn open_until_ms(&self, now: i64) -> i64 {
        let Some((first, _)) = self.own else { return self.after.map_or(0, |after| now.saturating_sub(after).max(0)) };
        let begun = if self.is_of_broker { first } else { first.max(self.before.unwrap_or(first)).min(self.after.unwrap_or(i64::MAX)) };
        now.saturating_sub(begun).max(0)
    }

    /// Returns how long it lasts by its own records, ms; 0 if that is more than a coordinator allows, as events may be.
    pub fn own_ms(&self, longest_ms: i64) -> i64 {
        self.own.map(|(first, last)| last.saturating_sub(first)).filter(|lasted| *lasted <= longest_ms).unwrap_or(0)
    }
}
