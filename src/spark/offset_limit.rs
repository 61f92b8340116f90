//! Limits of offsets, as Spark writes them: JSON of offsets, `earliest`, `latest`, and times.
//!
//! Source: `KafkaSourceProvider` in Spark: `getKafkaOffsetRangeLimit`, `validateBatchOptions`, `checkOffsetLimitValidity`.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{QueryResult, SparkError, listed, quoted};
use super::options::QueryOptions;
use super::topics::TopicPartition;

/// In Spark's JSON: the first offset that is there.
pub(super) const EARLIEST: i64 = -2;
/// In Spark's JSON: after the last offset that is there.
pub(super) const LATEST: i64 = -1;
/// Topic-partitions that an error names.
const NAMED: usize = 5;
const EXAMPLE: &str = r#"{"orders":{"0":23,"1":-1},"payments":{"0":-2}}"#;
const TIMES_EXAMPLE: &str = r#"{"orders":{"0":1650000000000}}"#;

/// The start or the end of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Starting,
    Ending,
}

/// Numbers by topic-partition.
pub(super) type Offsets = BTreeMap<TopicPartition, i64>;

/// Where a read starts or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OffsetLimit {
    /// `EARLIEST` or `LATEST`.
    Everywhere(i64),
    /// An offset, `EARLIEST` or `LATEST`, for each topic-partition.
    Offsets(Offsets),
    /// Milliseconds since the epoch.
    Timestamp(i64),
    /// Milliseconds for each topic-partition.
    Timestamps(Offsets),
}

impl Edge {
    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ending => "ending",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Starting => "-2 means earliest",
            Self::Ending => "-1 means latest",
        }
    }
}

impl OffsetLimit {
    /// Parse a limit: a time for all takes precedence over times for each, and these over offsets.
    fn parse(options: &QueryOptions, edge: Edge, default: i64) -> QueryResult<Self> {
        let name = edge.name();
        if let Some(text) = options.get(&format!("{name}Timestamp")) {
            return long(text.trim(), &format!("{name}Timestamp")).map(Self::Timestamp);
        }
        if let Some(text) = options.get(&format!("{name}OffsetsByTimestamp")) {
            return numbers(text.trim(), &format!("{name}OffsetsByTimestamp"), TIMES_EXAMPLE).map(Self::Timestamps);
        }
        let Some(text) = options.get(&format!("{name}Offsets")) else { return Ok(Self::Everywhere(default)) };
        match text.trim().to_lowercase().as_str() {
            "earliest" => return Ok(Self::Everywhere(EARLIEST)),
            "latest" => return Ok(Self::Everywhere(LATEST)),
            _ => {}
        }
        let offsets = numbers(text.trim(), &format!("{name}Offsets"), EXAMPLE)?;
        if let Some((partition, offset)) = offsets.iter().find(|(_, offset)| **offset < EARLIEST) {
            let text = format!("option {name}Offsets: {offset} for {partition} is not an offset; {}", edge.advice());
            return Err(SparkError::value(text));
        }
        Ok(Self::Offsets(offsets))
    }

    /// The values of topic-partitions, which must be exactly those that are read.
    fn named(&self) -> Option<&Offsets> {
        match self {
            Self::Offsets(named) | Self::Timestamps(named) => Some(named),
            Self::Everywhere(_) | Self::Timestamp(_) => None,
        }
    }

    /// The time of a topic-partition in ms; `None` if the limit is none, or one of the times that brokers treat as words.
    pub(super) fn time_of(&self, name: &TopicPartition) -> Option<i64> {
        let time = match self {
            Self::Timestamp(time) => Some(*time),
            Self::Timestamps(times) => times.get(name).copied(),
            Self::Everywhere(_) | Self::Offsets(_) => None,
        };
        time.filter(|time| ![EARLIEST, LATEST].contains(time))
    }

    /// The offset of a topic-partition, `EARLIEST` or `LATEST`; `None` if a time decides.
    pub(super) fn offset_of(&self, name: &TopicPartition) -> Option<i64> {
        match self {
            Self::Everywhere(word) => Some(*word),
            Self::Offsets(offsets) => offsets.get(name).copied(),
            Self::Timestamp(time) => Some(*time).filter(|time| [EARLIEST, LATEST].contains(time)),
            Self::Timestamps(times) => times.get(name).copied().filter(|time| [EARLIEST, LATEST].contains(time)),
        }
    }

    /// The name of the option that set it.
    pub(super) fn option(&self, edge: Edge) -> String {
        let suffix = match self {
            Self::Timestamp(_) => "Timestamp",
            Self::Timestamps(_) => "OffsetsByTimestamp",
            Self::Everywhere(_) | Self::Offsets(_) => "Offsets",
        };
        format!("{}{suffix}", edge.name())
    }

    /// Refuse a limit that leaves a topic-partition out, or names one that is not read.
    pub(super) fn ensure_assigned(&self, assigned: &BTreeSet<TopicPartition>, edge: Edge) -> QueryResult<()> {
        let Some(named) = self.named().map(|named| named.keys().cloned().collect::<BTreeSet<_>>()) else { return Ok(()) };
        if named == *assigned {
            return Ok(());
        }
        let sorted = |names: BTreeSet<TopicPartition>, what: &str| {
            let mut texts: Vec<String> = names.iter().map(ToString::to_string).collect();
            texts.sort_unstable();
            texts.into_iter().map(|name| format!("{name} is {what}")).collect::<Vec<_>>()
        };
        let mistakes = [sorted(assigned - &named, "missing"), sorted(&named - assigned, "not read")].concat();
        let advice = if matches!(self, Self::Offsets(_)) { format!("; {}", edge.advice()) } else { String::new() };
        let what = format!("option {} must name all topic-partitions that are read and no others", self.option(edge));
        Err(SparkError::value(format!("{what}: {}{advice}", listed(&mistakes, NAMED))))
    }
}

/// Parse both limits of a batch query, with their restrictions; by default it reads all.
///
/// # Errors
/// `Value` for an invalid value or combination.
pub(super) fn batch_limits(options: &QueryOptions) -> QueryResult<(OffsetLimit, OffsetLimit)> {
    let starting = OffsetLimit::parse(options, Edge::Starting, EARLIEST)?;
    let ending = OffsetLimit::parse(options, Edge::Ending, LATEST)?;
    for (edge, limit, forbidden, word) in [(Edge::Starting, &starting, LATEST, "latest"), (Edge::Ending, &ending, EARLIEST, "earliest")] {
        let name = edge.name();
        if *limit == OffsetLimit::Everywhere(forbidden) {
            return Err(SparkError::value(format!("option {name}Offsets must not be {word} in a batch query")));
        }
        let OffsetLimit::Offsets(offsets) = limit else { continue };
        let never = offsets.iter().filter(|(_, offset)| **offset == forbidden).map(|(partition, _)| partition.to_string()).min();
        if let Some(never) = never {
            let text = format!("option {name}Offsets must not be {word} ({forbidden}) in a batch query, as it is for {never}");
            return Err(SparkError::value(text));
        }
    }
    ensure_ordered(&starting, &ending)?;
    Ok((starting, ending))
}

/// Refuse limits of different topic-partitions, and a start after its end.
fn ensure_ordered(starting: &OffsetLimit, ending: &OffsetLimit) -> QueryResult<()> {
    let names = (starting.option(Edge::Starting), ending.option(Edge::Ending));
    let (befores, afters) = (times(starting), times(ending));
    if befores.contains_key(&None) || afters.contains_key(&None) {
        for partition in befores.keys().chain(afters.keys()) {
            let of = |times: &BTreeMap<Option<TopicPartition>, i64>| times.get(partition).or_else(|| times.get(&None)).copied();
            if let (Some(since), Some(until)) = (of(&befores), of(&afters))
                && since > until
                && until >= 0
            {
                return Err(SparkError::value(format!("option {} must not be after {}: {since} and {until}", names.0, names.1)));
            }
        }
    }
    let pairs = match (starting, ending) {
        (OffsetLimit::Offsets(before), OffsetLimit::Offsets(after)) => Some(("Offsets", before, after)),
        (OffsetLimit::Timestamps(before), OffsetLimit::Timestamps(after)) => Some(("OffsetsByTimestamp", before, after)),
        _ => None,
    };
    let Some((what, before, after)) = pairs else { return Ok(()) };
    let (own, other): (BTreeSet<_>, BTreeSet<_>) = (before.keys().collect(), after.keys().collect());
    if let Some(differing) = own.symmetric_difference(&other).map(ToString::to_string).min() {
        let text = format!("options starting{what} and ending{what} must name the same topic-partitions; only one names {differing}");
        return Err(SparkError::value(text));
    }
    for (partition, start) in before {
        if let Some(end) = after.get(partition).filter(|end| *start > **end && **end >= 0) {
            let text = format!("option starting{what} must not be after ending{what}: {start} and {end} for {partition}");
            return Err(SparkError::value(text));
        }
    }
    Ok(())
}

/// The times of a limit by topic-partition; `None` stands for all.
fn times(limit: &OffsetLimit) -> BTreeMap<Option<TopicPartition>, i64> {
    match limit {
        OffsetLimit::Timestamp(time) => [(None, *time)].into(),
        OffsetLimit::Timestamps(times) => times.iter().map(|(name, time)| (Some(name.clone()), *time)).collect(),
        OffsetLimit::Everywhere(_) | OffsetLimit::Offsets(_) => BTreeMap::new(),
    }
}

/// Spark's JSON of numbers per topic and partition.
fn numbers(text: &str, option: &str, example: &str) -> QueryResult<Offsets> {
    let parsed = || {
        let topics: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
        let mut found = Offsets::new();
        for (topic, partitions) in topics {
            for (number, value) in partitions.as_object()? {
                let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                let partition = number.parse().ok().filter(|_| is_number)?;
                found.insert(TopicPartition { topic: Some(topic.clone()), partition: Some(partition) }, value.as_i64()?);
            }
        }
        Some(found)
    };
    parsed().ok_or_else(|| SparkError::value(format!("option {option} must be like {example}, not {}", quoted(text))))
}

fn long(text: &str, option: &str) -> QueryResult<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = format!("option {option} must be one number of milliseconds since 1970, not {}", quoted(text));
        return Err(SparkError::value(text));
    }
    text.parse().map_err(|_| SparkError::value(format!("option {option} must be a number of 64 bits, not {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(given: &[(&str, &str)]) -> QueryResult<(OffsetLimit, OffsetLimit)> {
        batch_limits(&QueryOptions::new(given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))))
    }

    #[test]
    fn limits_have_the_restrictions_of_a_batch_query() {
        assert_eq!(limits(&[]).unwrap(), (OffsetLimit::Everywhere(EARLIEST), OffsetLimit::Everywhere(LATEST)));
        assert_eq!(limits(&[("startingTimestamp", "7")]).unwrap().0, OffsetLimit::Timestamp(7));
        for bad in [
            [("startingOffsets", "latest"), ("x", "")],
            [("endingOffsets", "earliest"), ("x", "")],
            [("startingOffsets", r#"{"a":{"0":-1}}"#), ("x", "")],
            [("startingOffsets", r#"{"a":{"0":true}}"#), ("x", "")],
            [("startingOffsets", r#"{"a":{"0":1.5}}"#), ("x", "")],
            [("startingOffsets", r#"{"a":{"0":5}}"#), ("endingOffsets", r#"{"a":{"0":4}}"#)],
            [("startingOffsets", r#"{"a":{"0":5}}"#), ("endingOffsets", r#"{"b":{"0":9}}"#)],
            [("startingTimestamp", "9"), ("endingTimestamp", "8")],
            [("startingTimestamp", "x"), ("x", "")],
        ] {
            assert!(limits(&bad).is_err(), "{bad:?}");
        }
    }
}
