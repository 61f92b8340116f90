//! Which records are meant.

use std::sync::Arc;

use super::{KeySet, Offsets};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, NewRecord, RecordFormat};

/// Records that fulfil all conditions that are given; of the values of one condition, one is enough.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Keys.
    pub keys: Option<Arc<KeySet>>,
    /// Headers.
    pub headers: Option<Vec<HeaderMatch>>,
    /// Offsets.
    pub offsets: Option<Arc<Offsets>>,
    /// The offsets are those of records that were found by what they hold, so that no two records may share one.
    pub has_found_offsets: bool,
    /// Timestamps, as consumers get them.
    pub times: Option<Vec<Times>>,
}

/// A header with this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMatch {
    /// The key.
    pub key: Vec<u8>,
    /// Its values; `None` for any value.
    pub values: Option<Vec<Option<Vec<u8>>>>,
}

/// Timestamps in ms from `start` (inclusive) to `end` (exclusive). A record without a timestamp is in no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The first one.
    pub start: i64,
    /// The one after the last; `None` for no end.
    pub end: Option<i64>,
}

/// Of the records of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// No record is meant.
    None,
    /// Every record is meant.
    All,
    /// The records have to be looked at.
    Some,
}

impl Selection {
    /// True when headers of records are looked at.
    pub fn reads_headers(&self) -> bool {
        self.headers.is_some()
    }

    /// What the header of a batch tells of its records. Of a wrapper of magic 0 or 1, and of Kafka 0.7, it tells nothing.
    pub fn of_batch(&self, header: &BatchHeader) -> Matches {
        if !header.format.is_batch() {
            return Matches::Some;
        }
        let offsets = self.offsets.as_ref().map_or(Matches::All, |offsets| offsets_of(offsets, header));
        let times = self.times.as_ref().map_or(Matches::All, |ranges| times_of(ranges, header));
        match (offsets, times) {
            (Matches::None, _) | (_, Matches::None) => Matches::None,
            (Matches::All, Matches::All) if self.keys.is_none() && self.headers.is_none() => Matches::All,
            _ => Matches::Some,
        }
    }

    /// True when a record is meant.
    #[inline]
    pub fn matches(&self, record: &NewRecord<'_>) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.contains(record.key))
            && self.offsets.as_ref().is_none_or(|offsets| offsets.contains(record.offset))
            && self.times.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(record.timestamp)))
            && self.headers.as_ref().is_none_or(|headers| headers.iter().any(|wanted| wanted.is_in(record)))
    }
}

impl HeaderMatch {
    fn is_in(&self, record: &NewRecord<'_>) -> bool {
        let is_value =
            |value: Option<&[u8]>| self.values.as_ref().is_none_or(|values| values.iter().any(|wanted| wanted.as_deref() == value));
        record.headers.iter().any(|header| header.key == self.key && is_value(header.value))
    }
}

impl Times {
    #[inline]
    fn contains(&self, timestamp: i64) -> bool {
        timestamp != NO_TIMESTAMP && timestamp >= self.start && self.end.is_none_or(|end| timestamp < end)
    }
}

fn offsets_of(offsets: &Offsets, header: &BatchHeader) -> Matches {
    let (first, last) = (header.base_offset, header.last_offset);
    if offsets.covers(first, last) {
        Matches::All
    } else if offsets.misses(first, last) {
        Matches::None
    } else {
        Matches::Some
    }
}

/// The largest timestamp of a batch is in its header, the smallest is not.
fn times_of(ranges: &[Times], header: &BatchHeader) -> Matches {
    match header.append_time() {
        Some(time) if ranges.iter().any(|range| range.contains(time)) => Matches::All,
        Some(_) => Matches::None,
        None if header.format >= RecordFormat::V2 && ranges.iter().all(|range| header.max_timestamp < range.start) => Matches::None,
        None => Matches::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::OffsetRange;
    use crate::model::NewHeader;

    fn batch(first: i64, last: i64) -> BatchHeader {
        BatchHeader { base_offset: first, last_offset: last, max_timestamp: 100, ..BatchHeader::new(RecordFormat::V2) }
    }

    #[test]
    fn a_batch_header_decides_where_it_can() {
        let of = |start, end| Selection { offsets: Some(Arc::new(Offsets::new(vec![OffsetRange { start, end }]))), ..Selection::default() };
        assert_eq!(of(0, Some(10)).of_batch(&batch(0, 9)), Matches::All);
        assert_eq!(of(0, Some(9)).of_batch(&batch(0, 9)), Matches::Some);
        assert_eq!(of(10, None).of_batch(&batch(0, 9)), Matches::None);
        assert_eq!(of(0, Some(10)).of_batch(&BatchHeader { format: RecordFormat::V1, ..batch(0, 9) }), Matches::Some);
        let times = |start| Selection { times: Some(vec![Times { start, end: None }]), ..Selection::default() };
        assert_eq!(times(101).of_batch(&batch(0, 9)), Matches::None);
        assert_eq!(times(100).of_batch(&batch(0, 9)), Matches::Some);
        assert_eq!(Selection::default().of_batch(&batch(0, 9)), Matches::All);
    }

    #[test]
    fn all_conditions_must_hold_and_one_value_of_each() {
        let mut keys = KeySet::default();
        keys.insert(Some(b"a"));
        let wanted = HeaderMatch { key: b"tenant".to_vec(), values: Some(vec![Some(b"x".to_vec()), None]) };
        let selection = Selection { keys: Some(Arc::new(keys)), headers: Some(vec![wanted]), ..Selection::default() };
        let record = |key, value| {
            let headers = [NewHeader { key: b"tenant", value }];
            selection.matches(&NewRecord { key: Some(key), headers: &headers, ..NewRecord::default() })
        };
        assert!(record(b"a", Some(b"x")) && record(b"a", None));
        assert!(!record(b"a", Some(b"y")) && !record(b"b", Some(b"x")));
        assert!(!selection.matches(&NewRecord { key: Some(b"a"), ..NewRecord::default() }));
    }

    #[test]
    fn a_record_without_a_timestamp_is_in_no_range_of_times() {
        let selection = Selection { times: Some(vec![Times { start: i64::MIN, end: None }]), ..Selection::default() };
        assert!(!selection.matches(&NewRecord::default()));
        assert!(selection.matches(&NewRecord { timestamp: 0, ..NewRecord::default() }));
    }
}
