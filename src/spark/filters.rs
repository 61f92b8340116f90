//! The filters of a query on topic, partition, offset and timestamp, as far as a plan uses them. Spark checks the rows again.

use std::cmp::Ordering;

use super::topics::TopicPartition;

/// A value of a filter. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds of values")]
pub enum FilterValue {
    Number(i64),
    Text(String),
}

/// What a filter compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of Spark's filters")]
pub enum FilterTest {
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    In,
    StringStartsWith,
    StringEndsWith,
    StringContains,
}

impl FilterTest {
    /// The tests by the names of Spark's filters.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("EqualTo", Self::EqualTo),
        ("GreaterThan", Self::GreaterThan),
        ("GreaterThanOrEqual", Self::GreaterThanOrEqual),
        ("LessThan", Self::LessThan),
        ("LessThanOrEqual", Self::LessThanOrEqual),
        ("In", Self::In),
        ("StringStartsWith", Self::StringStartsWith),
        ("StringEndsWith", Self::StringEndsWith),
        ("StringContains", Self::StringContains),
    ];
}

/// A filter on one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The rows are wanted for which the test does not hold.
    pub is_negated: bool,
    /// The test.
    pub test: FilterTest,
    /// The column.
    pub column: String,
    /// The values of `In`, and the one value of any other test.
    pub values: Vec<FilterValue>,
}

impl Condition {
    /// True unless the test is known not to hold for a value.
    fn may_hold(&self, value: &FilterValue) -> bool {
        let holds = match self.test {
            FilterTest::In => Some(self.values.contains(value)),
            test => self.values.first().and_then(|wanted| holds(test, value, wanted)),
        };
        holds.is_none_or(|holds| holds != self.is_negated)
    }

    /// The least and the largest number for which the test holds; for `<` and `>` the bound itself may be among them.
    fn bounds(&self) -> (Option<i64>, Option<i64>) {
        let numbers = || self.values.iter().filter_map(|value| if let FilterValue::Number(number) = value { Some(*number) } else { None });
        match self.test {
            _ if self.is_negated => (None, None),
            FilterTest::EqualTo | FilterTest::In => (numbers().min(), numbers().max()),
            FilterTest::GreaterThan | FilterTest::GreaterThanOrEqual => (numbers().next(), None),
            FilterTest::LessThan | FilterTest::LessThanOrEqual => (None, numbers().next()),
            _ => (None, None),
        }
    }
}

fn holds(test: FilterTest, value: &FilterValue, wanted: &FilterValue) -> Option<bool> {
    let order = match (value, wanted) {
        (FilterValue::Number(value), FilterValue::Number(wanted)) => value.cmp(wanted),
        (FilterValue::Text(value), FilterValue::Text(wanted)) => match test {
            FilterTest::StringStartsWith => return Some(value.starts_with(wanted.as_str())),
            FilterTest::StringEndsWith => return Some(value.ends_with(wanted.as_str())),
            FilterTest::StringContains => return Some(value.contains(wanted.as_str())),
            _ => value.cmp(wanted),
        },
        _ => return None,
    };
    match test {
        FilterTest::EqualTo => Some(order == Ordering::Equal),
        FilterTest::GreaterThan => Some(order == Ordering::Greater),
        FilterTest::GreaterThanOrEqual => Some(order != Ordering::Less),
        FilterTest::LessThan => Some(order == Ordering::Less),
        FilterTest::LessThanOrEqual => Some(order != Ordering::Greater),
        _ => None,
    }
}

/// The rows that a query wants; `None` for no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedRows {
    /// Least offset.
    pub start: Option<i64>,
    /// First offset after the largest.
    pub end: Option<i64>,
    /// Least time, in milliseconds.
    pub timestamp: Option<i64>,
    topics: Vec<Condition>,
    partitions: Vec<Condition>,
}

impl WantedRows {
    /// The bounds of rows for which all filters hold.
    pub fn of(filters: &[Condition]) -> Self {
        let mut wanted = Self::default();
        for condition in filters {
            match condition.column.as_str() {
                "offset" => wanted.bound_offsets(condition),
                "timestamp" => {
                    // A largest time is useless: headers have the largest time of a batch, not the smallest.
                    let least = condition.bounds().0.map(|micros| micros.div_euclid(1000));
                    wanted.timestamp = wanted.timestamp.into_iter().chain(least).max();
                }
                "topic" => wanted.topics.push(condition.clone()),
                "partition" => wanted.partitions.push(condition.clone()),
                _ => {}
            }
        }
        wanted
    }

    /// True if rows of this topic-partition may be wanted.
    pub fn has(&self, name: &TopicPartition) -> bool {
        let topic = name.topic.clone().map(FilterValue::Text);
        let partition = name.partition.map(|number| FilterValue::Number(number.into()));
        let may_hold = |conditions: &[Condition], value: Option<FilterValue>| {
            value.is_none_or(|value| conditions.iter().all(|condition| condition.may_hold(&value)))
        };
        may_hold(&self.topics, topic) && may_hold(&self.partitions, partition)
    }

    fn bound_offsets(&mut self, condition: &Condition) {
        let (least, most) = condition.bounds();
        if let Some(least) = least {
            self.start = Some(self.start.unwrap_or(0).max(least));
        }
        // No record has the last offset of 64 bits.
        if let Some(most) = most.filter(|most| *most < i64::MAX) {
            let end = most.max(-1) + 1;
            self.end = Some(self.end.map_or(end, |own| own.min(end)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(test: FilterTest, column: &str, values: Vec<FilterValue>) -> Condition {
        Condition { is_negated: false, test, column: column.to_owned(), values }
    }

    fn number(test: FilterTest, column: &str, value: i64) -> Condition {
        condition(test, column, vec![FilterValue::Number(value)])
    }

    #[test]
    fn offsets_and_times_have_bounds() {
        let filters = [
            number(FilterTest::GreaterThanOrEqual, "offset", 5),
            number(FilterTest::LessThan, "offset", 9),
            number(FilterTest::GreaterThan, "timestamp", -1),
        ];
        let wanted = WantedRows::of(&filters);
        assert_eq!((wanted.start, wanted.end, wanted.timestamp), (Some(5), Some(10), Some(-1)));
        let largest = WantedRows::of(&[number(FilterTest::LessThanOrEqual, "offset", i64::MAX)]);
        assert_eq!(largest.end, None);
        let none = WantedRows::of(&[number(FilterTest::LessThan, "offset", -7)]);
        assert_eq!(none.end, Some(0));
        let negated = Condition { is_negated: true, ..number(FilterTest::EqualTo, "offset", 5) };
        assert_eq!(WantedRows::of(&[negated]), WantedRows::default());
    }

    #[test]
    fn topics_and_partitions_are_compared() {
        let name = |topic: &str, partition| TopicPartition { topic: Some(topic.to_owned()), partition: Some(partition) };
        let text = |value: &str| FilterValue::Text(value.to_owned());
        let filters = [
            condition(FilterTest::StringStartsWith, "topic", vec![text("or")]),
            Condition { is_negated: true, ..condition(FilterTest::In, "partition", vec![FilterValue::Number(1)]) },
        ];
        let wanted = WantedRows::of(&filters);
        assert!(wanted.has(&name("orders", 0)) && wanted.has(&TopicPartition::default()));
        assert!(!wanted.has(&name("orders", 1)) && !wanted.has(&name("payments", 0)));
    }
}
