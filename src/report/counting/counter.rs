use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;

use super::histogram::Histogram;
use super::producers::ProducersById;
use super::series::{Bucket, Series};
use crate::columns::batch_rows::{BatchRow, batch_rows};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::wire::as_u64;

/// Counts batches, file after file. Files of one partition come in the order of their offsets, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// Sums.
    pub sums: Sums,
    /// Batches by format.
    pub formats: BTreeMap<String, u64>,
    /// By codec.
    pub codecs: BTreeMap<String, CodecCounts>,
    /// Batches by the type of their timestamps.
    pub timestamp_types: BTreeMap<String, u64>,
    /// Batches by their bytes.
    pub sizes: Histogram,
    /// Batches by their records, where the header counts them.
    pub counts: Histogram,
    /// Over base offsets.
    pub by_offset: Series,
    /// Over the largest timestamps, in ms.
    pub by_time: Series,
    /// Lowest first offset and highest last offset.
    pub offsets: Option<(i64, i64)>,
    /// The earliest first time of a partition, and the latest of the largest timestamps, in ms.
    pub times: TimeBounds,
    /// The first offsets that no batch covers: the file of the batch behind, first and last offset.
    pub gaps: Vec<(Arc<str>, i64, i64)>,
    /// By id.
    pub producers: ProducersById,
    /// The first partitions, in their order.
    pub partitions: Vec<Partition>,
    /// How many more there are.
    pub other_partitions: u64,
    file: Arc<str>,
    is_of_0_7: bool,
    /// The offset after the batches so far, and their latest time, in this partition.
    end: Option<i64>,
    latest: Option<i64>,
    first: First,
}

/// Sums over all batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Bytes of whole batches.
    pub bytes: u64,
    /// Batches.
    pub batches: u64,
    /// Records that headers count.
    pub records: u64,
    /// Batches whose header does not count them.
    pub uncounted: u64,
    /// Offsets of all batches, those of records that compaction has taken too.
    pub produced: u64,
    /// Places between batches where offsets are missing, and how many are.
    pub gap_count: u64,
    /// Offsets in them.
    pub missing: u64,
    /// Batches that begin at or before the end of one before.
    pub overlaps: u64,
    /// Batches whose time is before that of an earlier one.
    pub late: u64,
    /// By how many ms at most.
    pub latest_step: u64,
    /// Batches without a time.
    pub untimed: u64,
    /// Batches of transactions, without markers.
    pub transactional: u64,
    /// Control batches.
    pub control: u64,
}

/// Batches of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Files.
    pub files: u64,
    /// Batches.
    pub batches: u64,
    /// Records that headers count.
    pub records: u64,
    /// Bytes of whole batches.
    pub bytes: u64,
    /// Lowest first offset and highest last offset.
    pub offsets: Option<(i64, i64)>,
    /// The time of the first batch's first record, and the latest of the largest timestamps, in ms.
    pub times: TimeBounds,
}

/// The first and the last time of batches, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBounds {
    /// That of the first record of the first batch that has one. It need not be the earliest.
    pub first: Option<i64>,
    /// The latest of the largest timestamps.
    pub last: Option<i64>,
}

/// Batches of one codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodecCounts {
    /// How many.
    pub batches: u64,
    /// Records of those that count them.
    pub records: u64,
    /// Bytes of whole batches.
    pub bytes: u64,
}

/// A batch that is worth looking into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledBatch {
    /// Where it is in its file.
    pub position: u64,
    /// Its codec.
    pub compression: String,
    /// What it is looked at for.
    pub purpose: Purpose,
}

/// What a batch is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The type of its control record.
    ControlType,
    /// The ratio of its codec.
    Ratio,
    /// The time of its first record; `found_first_time` takes it.
    FirstTime,
}

/// What a header says about the time of the first record of its batch.
enum FirstTime {
    /// The time.
    Known(i64),
    /// Only the record has it.
    Hidden,
    /// There is no record, or no time.
    Nothing,
}

/// The first time of the partition that is being counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum First {
    /// No batch had one.
    #[default]
    Missing,
    /// A batch is being opened for it; meanwhile a later batch may have said one.
    Asked(Option<i64>),
    /// Known.
    Found,
}

/// Partitions that are counted one by one.
const MOST_PARTITIONS: u64 = 1_000;
/// Gaps that are kept one by one.
const MOST_GAPS: usize = 1_000;
/// Control batches that are worth looking into.
const MOST_LOOKED_AT: u64 = 10_000;
/// Codecs that are distinguished: a hostile log can have one of each id of a plugin.
const MOST_CODECS: usize = 64;
/// The name of all others.
const OTHERS: &str = "others";

impl Counter {
    /// The next rows are those of another file, maybe of another partition.
    pub fn enter(&mut self, file: &str, is_of_0_7: bool, is_another_partition: bool) {
        (self.file, self.is_of_0_7) = (Arc::from(file), is_of_0_7);
        if is_another_partition {
            (self.end, self.latest, self.first) = (None, None, First::Missing);
            if as_u64(self.partitions.len()) < MOST_PARTITIONS {
                self.partitions.push(Partition::default());
            } else {
                self.other_partitions += 1;
            }
        }
        self.with_partition(|partition| partition.files += 1);
    }

    /// Counts rows of a view over batches. Gives the batches that are worth looking into: the first control batches, and of each codec
    /// one of 2**n, which spreads over the whole log. `None` when a column is missing.
    ///
    /// `log_start` is an offset, and the number of records of the first batch before it, which are not counted.
    pub fn add(&mut self, rows: &RecordBatch, log_start: Option<(i64, i32)>) -> Option<Vec<SampledBatch>> {
        let compressions = rows.column_by_name("compression")?.as_string_opt::<i32>()?;
        let timestamp_types = rows.column_by_name("timestampType")?.as_string_opt::<i32>()?;
        let mut looks = Vec::new();
        let mut found = batch_rows(rows)?;
        if let (Some(first), Some((start, below))) = (found.first_mut(), log_start) {
            first.header.count = first.header.count.map(|count| count.saturating_sub(below));
            if below > 0 && first.header.append_time().is_none() {
                // The time of the first record that counts is not in the header.
                first.header.base_timestamp = NO_TIMESTAMP;
            }
            first.base_offset = first.base_offset.map(|base| base.max(start));
        }
        for (at, row) in found.iter().enumerate() {
            self.add_row(row, compressions.value(at), timestamp_types.value(at), &mut looks);
        }
        Some(looks)
    }

    fn add_row(&mut self, row: &BatchRow, compression: &str, timestamp_type: &str, looks: &mut Vec<SampledBatch>) {
        let header = &row.header;
        let count = header.count.map(|count| u64::try_from(count).unwrap_or(0));
        let (sums, records) = (&mut self.sums, count.unwrap_or(0));
        sums.bytes = sums.bytes.saturating_add(header.size);
        sums.batches += 1;
        sums.records = sums.records.saturating_add(records);
        sums.uncounted += u64::from(count.is_none());
        of_name(&mut self.formats, if self.is_of_0_7 { RecordFormat::V07.name() } else { header.format.name() }, |batches| *batches += 1);
        of_name(&mut self.timestamp_types, timestamp_type, |batches| *batches += 1);
        self.sizes.add(header.size);
        count.into_iter().for_each(|count| self.counts.add(count));
        let is_known = self.codecs.len() < MOST_CODECS || self.codecs.contains_key(compression);
        let batches = of_name(&mut self.codecs, if is_known { compression } else { OTHERS }, |codec| {
            codec.batches += 1;
            codec.records = codec.records.saturating_add(records);
            codec.bytes = codec.bytes.saturating_add(header.size);
            codec.batches
        });
        let (times, is_late) = self.add_time(header, records);
        if self.asks_for_first_time(header) {
            looks.push(SampledBatch { position: header.position, compression: compression.to_owned(), purpose: Purpose::FirstTime });
        }
        self.add_offsets(row, Bucket { batches: 1, bytes: header.size, records, times, late: u64::from(is_late), reach: None });
        self.add_producer(header, records);
        let is_marker = header.is_control() && self.sums.control <= MOST_LOOKED_AT;
        if is_marker || (compression != "none" && batches.is_power_of_two()) {
            let purpose = if is_marker { Purpose::ControlType } else { Purpose::Ratio };
            looks.push(SampledBatch { position: header.position, compression: compression.to_owned(), purpose });
        }
    }

    /// Change the partition that is being counted, if it is counted by itself.
    fn with_partition(&mut self, change: impl FnOnce(&mut Partition)) {
        if self.other_partitions == 0 {
            self.partitions.last_mut().map(change);
        }
    }

    /// Takes the time of the first record of the batch that was to be opened for it; `None` if it has none.
    pub fn found_first_time(&mut self, time: Option<i64>) {
        let First::Asked(later) = self.first else { return };
        match time.filter(|time| *time != NO_TIMESTAMP).or(later) {
            Some(time) => self.set_first_time(time),
            None => self.first = First::Missing,
        }
    }

    fn set_first_time(&mut self, time: i64) {
        self.first = First::Found;
        self.times.first = Some(self.times.first.map_or(time, |first| first.min(time)));
        self.with_partition(|partition| partition.times.first = Some(time));
    }

    /// True if the batch must be opened for the first time of the partition.
    fn asks_for_first_time(&mut self, header: &BatchHeader) -> bool {
        if self.first == First::Found {
            return false;
        }
        match (self.first_time(header), self.first) {
            (FirstTime::Known(time), First::Missing) => self.set_first_time(time),
            (FirstTime::Known(time), First::Asked(None)) => self.first = First::Asked(Some(time)),
            (FirstTime::Hidden, First::Missing) => {
                self.first = First::Asked(None);
                return true;
            }
            _ => {}
        }
        false
    }

    fn first_time(&self, header: &BatchHeader) -> FirstTime {
        let known = |time: i64| if time == NO_TIMESTAMP { FirstTime::Nothing } else { FirstTime::Known(time) };
        let is_compressed = header.compression() != CompressionType::None;
        match (header.format, header.append_time()) {
            _ if self.is_of_0_7 || header.count == Some(0) => FirstTime::Nothing,
            (RecordFormat::V07, _) => FirstTime::Nothing,
            (_, Some(time)) => known(time),
            (RecordFormat::V0 | RecordFormat::V1, _) if is_compressed => FirstTime::Hidden,
            (RecordFormat::V0 | RecordFormat::V1, _) => known(header.max_timestamp),
            _ if header.delete_horizon_ms().is_some() || header.base_timestamp == NO_TIMESTAMP => FirstTime::Hidden,
            _ => FirstTime::Known(header.base_timestamp),
        }
    }

    /// The first and the largest time of a batch, as far as its header has them, and whether an earlier batch has a later one.
    fn add_time(&mut self, header: &BatchHeader, records: u64) -> (Option<(i64, i64)>, bool) {
        let time = header.max_timestamp;
        if time == NO_TIMESTAMP {
            self.sums.untimed += 1;
            return (None, false);
        }
        let times = match self.first_time(header) {
            FirstTime::Known(first) => (first.min(time), time),
            _ => (time, time),
        };
        self.by_time.add(time, Bucket { batches: 1, bytes: header.size, records, reach: Some(times), ..Bucket::default() });
        self.times.last = self.times.last.max(Some(time));
        let delay = self.latest.filter(|latest| time < *latest).map(|latest| latest.abs_diff(time));
        if let Some(delay) = delay {
            self.sums.late += 1;
            self.sums.latest_step = self.sums.latest_step.max(delay);
        }
        self.latest = self.latest.max(Some(time));
        (Some(times), delay.is_some())
    }

    fn add_offsets(&mut self, row: &BatchRow, batch: Bucket) {
        let last = row.header.last_offset;
        let first = row.base_offset.unwrap_or(last);
        let offsets = last.saturating_sub(first).saturating_add(1);
        self.sums.produced = self.sums.produced.saturating_add(u64::try_from(offsets).unwrap_or(0));
        self.by_offset.add(first, Bucket { reach: Some((first, last.max(first))), ..batch });
        self.offsets = widened(self.offsets, first, last);
        let times = batch.times;
        self.with_partition(|partition| {
            partition.batches += 1;
            partition.records = partition.records.saturating_add(batch.records);
            partition.bytes = partition.bytes.saturating_add(batch.bytes);
            partition.offsets = widened(partition.offsets, first, last);
            partition.times.last = partition.times.last.max(times.map(|(_, last)| last));
        });
        // Where a compressed message of magic 0 or 1 begins only decompressing shows.
        if let Some(end) = self.end.filter(|_| row.header.count.is_some()) {
            if first > end {
                self.sums.gap_count += 1;
                self.sums.missing = self.sums.missing.saturating_add(first.abs_diff(end));
                if self.gaps.len() < MOST_GAPS {
                    self.gaps.push((Arc::clone(&self.file), end, first - 1));
                }
            }
            self.sums.overlaps += u64::from(first < end);
        }
        self.end = self.end.max(Some(last.saturating_add(1)));
    }

    fn add_producer(&mut self, header: &BatchHeader, records: u64) {
        self.sums.transactional += u64::from(header.is_transactional() && !header.is_control());
        self.sums.control += u64::from(header.is_control());
        if header.producer.id < 0 {
            return;
        }
        let Some(producer) = self.producers.of_batch(header.producer.id) else { return };
        producer.batches += 1;
        producer.epoch = producer.epoch.max(header.producer.epoch);
        if header.is_control() {
            producer.is_open = false;
            return;
        }
        producer.records = producer.records.saturating_add(records);
        producer.transactional += u64::from(header.is_transactional());
        producer.is_open |= header.is_transactional();
    }
}

/// The lowest and the highest number, with those of another range.
fn widened(range: Option<(i64, i64)>, first: i64, last: i64) -> Option<(i64, i64)> {
    Some(range.map_or((first, last), |(lowest, highest)| (lowest.min(first), highest.max(last))))
}

/// What is known under a name, from now on at the latest.
fn of_name<T: Default, R>(known: &mut BTreeMap<String, T>, name: &str, change: impl FnOnce(&mut T) -> R) -> R {
    match known.get_mut(name) {
        Some(value) => change(value),
        None => change(known.entry(name.to_owned()).or_default()),
    }
}
