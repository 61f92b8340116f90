//! Times in another unit than milliseconds (TIME-1): a time that is far from any that a record can have, and would not be in that unit.

use std::time::{SystemTime, UNIX_EPOCH};

/// The first millisecond of the year 2000.
const FIRST: i64 = 946_684_800_000;
/// Milliseconds of a year, by which the clock of a writer may be ahead.
const YEAR: i64 = 366 * 24 * 3600 * 1000;

/// The times that records can have.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The last one: a year from now, ms.
    last: i64,
}

impl Clock {
    /// The times up to a year from now.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self { last: i64::try_from(since).unwrap_or(i64::MAX).saturating_add(YEAR) }
    }

    /// The unit that a time is probably of, if that is not the millisecond.
    #[inline(always)]
    pub fn other_unit(&self, timestamp: i64) -> Option<&'static str> {
        if (FIRST..=self.last).contains(&timestamp) { None } else { self.likely_unit(timestamp) }
    }

    #[cold]
    fn likely_unit(&self, timestamp: i64) -> Option<&'static str> {
        let as_milliseconds =
            [("seconds", timestamp.saturating_mul(1000)), ("microseconds", timestamp / 1000), ("nanoseconds", timestamp / 1_000_000)];
        as_milliseconds.into_iter().find(|(_, time)| (FIRST..=self.last).contains(time)).map(|(unit, _)| unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_this_century_in_another_unit_is_recognized() {
        let clock = Clock::now();
        let times = [1_767_225_602, 1_767_225_602_000, 1_767_225_602_000_000, 1_767_225_602_000_000_000];
        let units = [Some("seconds"), None, Some("microseconds"), Some("nanoseconds")];
        assert_eq!(times.map(|time| clock.other_unit(time)), units);
        for old in [i64::MIN, -2, -1, 0, 1, 86_400_000, 500_000_000_000, 4_102_444_800_000, i64::MAX] {
            assert_eq!(clock.other_unit(old), None, "{old}");
        }
    }
}
