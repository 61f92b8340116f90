use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::histogram::Histogram;
use super::producers::Producers;
use super::row::{Row, Rows};
use super::series::{Bucket, Series};

/// Counts batches, file after file. Files of one partition come in the order of their offsets, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// Sums.
    pub sums: Sums,
    /// Batches by format.
    pub formats: BTreeMap<String, u64>,
    /// By codec.
    pub codecs: BTreeMap<String, Codec>,
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
    /// Earliest and latest of the largest timestamps, in ms.
    pub times: Option<(i64, i64)>,
    /// The first offsets that no batch covers: the file of the batch behind, first and last offset.
    pub gaps: Vec<(Arc<str>, i64, i64)>,
    /// By id.
    pub producers: Producers,
    file: Arc<str>,
    is_of_0_7: bool,
    /// The offset behind the batches so far, and their latest time, in this partition.
    end: Option<i64>,
    latest: Option<i64>,
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

/// Batches of one codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codec {
    /// How many.
    pub batches: u64,
    /// Records of those that count them.
    pub records: u64,
    /// Bytes of whole batches.
    pub bytes: u64,
}

/// A batch that is worth looking into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Where it is in its file.
    pub position: i64,
    /// Its codec.
    pub compression: String,
    /// For the type of its control record; otherwise for the ratio of its codec.
    pub is_control: bool,
}

/// Gaps that are kept one by one.
const MOST_GAPS: usize = 1_000;
/// Control batches that are worth looking into.
const MOST_LOOKED_AT: u64 = 10_000;
/// Codecs that are told apart: a hostile log can have one of each id of a plugin.
const MOST_CODECS: usize = 64;
/// The name of all others.
const OTHERS: &str = "others";
/// A timestamp that stands for none.
const NONE: i64 = -1;

impl Counter {
    /// The next rows are those of another file, maybe of another partition.
    pub fn enter(&mut self, file: &str, is_of_0_7: bool, is_another_partition: bool) {
        (self.file, self.is_of_0_7) = (Arc::from(file), is_of_0_7);
        if is_another_partition {
            (self.end, self.latest) = (None, None);
        }
    }

    /// Counts rows of a view over batches. Gives the batches that are worth looking into: the first control batches, and of each codec
    /// one of 2**n, which spreads over the whole log. `None` when a column is missing.
    pub fn add(&mut self, rows: &RecordBatch) -> Option<Vec<Look>> {
        let mut looks = Vec::new();
        for row in Rows::of(rows)?.iter() {
            self.add_row(&row, &mut looks);
        }
        Some(looks)
    }

    fn add_row(&mut self, row: &Row<'_>, looks: &mut Vec<Look>) {
        let (sums, records) = (&mut self.sums, row.count.unwrap_or(0));
        sums.bytes = sums.bytes.saturating_add(row.size);
        sums.batches += 1;
        sums.records = sums.records.saturating_add(records);
        sums.uncounted += u64::from(row.count.is_none());
        of_name(&mut self.formats, format_name(row.magic, self.is_of_0_7), |batches| *batches += 1);
        of_name(&mut self.timestamp_types, row.timestamp_type, |batches| *batches += 1);
        self.sizes.add(row.size);
        row.count.into_iter().for_each(|count| self.counts.add(count));
        let is_known = self.codecs.len() < MOST_CODECS || self.codecs.contains_key(row.compression);
        let batches = of_name(&mut self.codecs, if is_known { row.compression } else { OTHERS }, |codec| {
            codec.batches += 1;
            codec.records = codec.records.saturating_add(records);
            codec.bytes = codec.bytes.saturating_add(row.size);
            codec.batches
        });
        let (time, is_late) = self.add_time(row, records);
        self.add_offsets(row, Bucket { bytes: row.size, records, times: time.map(|time| (time, time)), late: u64::from(is_late) });
        self.add_producer(row, records);
        let is_marker = row.is_control && self.sums.control <= MOST_LOOKED_AT;
        if is_marker || (row.compression != "none" && batches.is_power_of_two()) {
            looks.push(Look { position: row.position, compression: row.compression.to_owned(), is_control: is_marker });
        }
    }

    /// The time of a batch, and whether an earlier batch has a later one.
    fn add_time(&mut self, row: &Row<'_>, records: u64) -> (Option<i64>, bool) {
        let time = row.max_timestamp;
        if time == NONE {
            self.sums.untimed += 1;
            return (None, false);
        }
        self.by_time.add(time, Bucket { bytes: row.size, records, ..Bucket::default() });
        self.times = Some(self.times.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        let behind = self.latest.filter(|latest| time < *latest).map(|latest| latest.abs_diff(time));
        if let Some(behind) = behind {
            self.sums.late += 1;
            self.sums.latest_step = self.sums.latest_step.max(behind);
        }
        self.latest = self.latest.max(Some(time));
        (Some(time), behind.is_some())
    }

    fn add_offsets(&mut self, row: &Row<'_>, batch: Bucket) {
        let last = row.last_offset;
        let first = row.base_offset.unwrap_or(last);
        let offsets = last.saturating_sub(first).saturating_add(1);
        self.sums.produced = self.sums.produced.saturating_add(u64::try_from(offsets).unwrap_or(0));
        self.by_offset.add(first, batch);
        self.offsets = Some(self.offsets.map_or((first, last), |(lowest, highest)| (lowest.min(first), highest.max(last))));
        // Where a compressed message of magic 0 or 1 begins only decompressing tells.
        if let Some(end) = self.end.filter(|_| row.count.is_some()) {
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

    fn add_producer(&mut self, row: &Row<'_>, records: u64) {
        self.sums.transactional += u64::from(row.is_transactional && !row.is_control);
        self.sums.control += u64::from(row.is_control);
        if row.producer_id < 0 {
            return;
        }
        let Some(producer) = self.producers.of_batch(row.producer_id) else { return };
        producer.batches += 1;
        producer.epoch = producer.epoch.max(row.producer_epoch);
        if row.is_control {
            producer.is_open = false;
            return;
        }
        producer.records = producer.records.saturating_add(records);
        producer.transactional += u64::from(row.is_transactional);
        producer.is_open |= row.is_transactional;
    }
}

/// What is known under a name, from now on at the latest.
fn of_name<T: Default, R>(known: &mut BTreeMap<String, T>, name: &str, change: impl FnOnce(&mut T) -> R) -> R {
    match known.get_mut(name) {
        Some(value) => change(value),
        None => change(known.entry(name.to_owned()).or_default()),
    }
}

fn format_name(magic: i8, is_of_0_7: bool) -> &'static str {
    match magic {
        _ if is_of_0_7 => "0.7",
        0 => "v0",
        1 => "v1",
        2 => "v2",
        _ => "v3",
    }
}
