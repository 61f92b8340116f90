//! Which records are meant.

use std::sync::Arc;

use super::{KeySet, OffsetSet};
use crate::model::timestamp::TimeRange;
use crate::model::{BatchHeader, NewRecord};

/// Records that fulfil all conditions that are given; of the values of one condition, one is enough.
#[derive(Clone, Debug, Default)]
pub struct RecordSelection {
    /// Keys.
    pub keys: Option<Arc<KeySet>>,
    /// Headers.
    pub headers: Option<Vec<HeaderMatch>>,
    /// Offsets.
    pub offsets: Option<Arc<OffsetSet>>,
    /// Places of records among the records of the file that are not control records, from 0: what an expression selected.
    pub places: Option<Arc<OffsetSet>>,
    /// Timestamps, as consumers get them.
    pub times: Option<Vec<TimeRange>>,
}

/// A header with this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMatch {
    /// The key.
    pub key: Vec<u8>,
    /// Its values; `None` for any value.
    pub values: Option<Vec<Option<Vec<u8>>>>,
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

impl RecordSelection {
    /// True when headers of records are looked at.
    pub fn reads_headers(&self) -> bool {
        self.headers.is_some()
    }

    /// What the header of a batch proves about its records. Offsets and times are those of the records: a header under a matching checksum may
    /// claim others (FND-2, FND-16). An append time is the time of all records.
    pub fn of_batch(&self, header: &BatchHeader) -> Matches {
        let append_time = header.append_time().filter(|_| header.format.is_batch());
        let is_time = |time| self.times.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(time)));
        if append_time.is_some_and(|time| !is_time(time)) {
            return Matches::None;
        }
        let looks_at_times = self.times.is_some() && append_time.is_none();
        let is_decided = self.keys.is_none() && self.headers.is_none() && self.offsets.is_none() && self.places.is_none();
        if is_decided && !looks_at_times { Matches::All } else { Matches::Some }
    }

    /// True when a record is meant; `place` is its number among the records of the file.
    #[inline]
    pub fn matches(&self, place: i64, record: &NewRecord<'_>) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.contains(record.key))
            && self.offsets.as_ref().is_none_or(|offsets| offsets.contains(record.offset))
            && self.places.as_ref().is_none_or(|places| places.contains(place))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::OffsetRange;
    use crate::model::{Attributes, NewHeader, RecordFormat};

    #[test]
    fn only_an_append_time_decides_about_a_batch() {
        let created = BatchHeader { last_offset: 9, max_timestamp: 100, ..BatchHeader::new(RecordFormat::V2) };
        let appended = BatchHeader { attributes: Attributes(0x08), ..created };
        let of = |start, end| RecordSelection {
            offsets: Some(Arc::new(OffsetSet::new(vec![OffsetRange { start, end }]))),
            ..RecordSelection::default()
        };
        assert_eq!([of(0, Some(10)), of(10, None)].map(|selection| selection.of_batch(&created)), [Matches::Some; 2]);
        let times = |start| RecordSelection { times: Some(vec![TimeRange { start, end: None }]), ..RecordSelection::default() };
        assert_eq!([100, 101].map(|start| times(start).of_batch(&created)), [Matches::Some; 2]);
        assert_eq!([100, 101].map(|start| times(start).of_batch(&appended)), [Matches::All, Matches::None]);
        assert_eq!(times(100).of_batch(&BatchHeader { format: RecordFormat::V1, ..appended }), Matches::Some);
        assert_eq!(RecordSelection::default().of_batch(&created), Matches::All);
    }

    #[test]
    fn all_conditions_must_hold_and_one_value_of_each() {
        let mut keys = KeySet::default();
        keys.insert(Some(b"a"));
        let wanted = HeaderMatch { key: b"tenant".to_vec(), values: Some(vec![Some(b"x".to_vec()), None]) };
        let selection = RecordSelection { keys: Some(Arc::new(keys)), headers: Some(vec![wanted]), ..RecordSelection::default() };
        let record = |key, value| {
            let headers = [NewHeader { key: b"tenant", value }];
            selection.matches(0, &NewRecord { key: Some(key), headers: &headers, ..NewRecord::default() })
        };
        assert!(record(b"a", Some(b"x")) && record(b"a", None));
        assert!(!record(b"a", Some(b"y")) && !record(b"b", Some(b"x")));
        assert!(!selection.matches(0, &NewRecord { key: Some(b"a"), ..NewRecord::default() }));
    }

    #[test]
    fn a_record_without_a_timestamp_is_in_no_range_of_times() {
        let selection = RecordSelection { times: Some(vec![TimeRange { start: i64::MIN, end: None }]), ..RecordSelection::default() };
        assert!(!selection.matches(0, &NewRecord::default()));
        assert!(selection.matches(0, &NewRecord { timestamp: 0, ..NewRecord::default() }));
    }
}
