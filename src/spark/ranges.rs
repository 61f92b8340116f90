//! Where queries begin and end: limits and the segments of topic-partitions go in, offsets come out.
//!
//! A time is looked up in the segments. A log begins after the records that retention or a request deleted.
//! Source: `KafkaOffsetReaderAdmin` in Spark.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::{QueryResult, SparkError};
use super::offset_limit::{EARLIEST, Edge, LATEST, OffsetLimit};
use super::query::BatchQuery;
use super::topics::{Logs, TopicPartition};
use crate::columns::{BatchSource, BinaryKind, Column, Projection, StreamOptions, stream};
use crate::decode::{DecodeOptions, OffsetRange};
use crate::framing::Ending;
use crate::io::position_07;
use crate::model::timestamp::TimeRange;
use crate::model::{Formats, RecordFormat};
use crate::partition::{AtDamage, PartitionReader, PieceBytes, SegmentFile, SegmentLookup, Storage, TimeSearch, WantedRange};

/// The offsets of one topic-partition that a query reads.
#[derive(Clone, Debug)]
pub(super) struct LogRange {
    pub(super) name: TopicPartition,
    /// All of its segments, in order.
    pub(super) segments: Vec<Arc<SegmentLookup>>,
    /// First offset; `None` for the log start offset.
    pub(super) start: Option<i64>,
    /// First offset after the range; `None` for the end of the log at the time of the read.
    pub(super) end: Option<i64>,
    /// ms; records before this time, wherever they are.
    pub(super) until: Option<i64>,
    /// The start was a time, so that later records may have any offset.
    pub(super) starts_at_time: bool,
    /// The number of segments whose indexes were used to look a time up, from the first one on.
    pub(super) looked_up: usize,
}

/// Resolves the limits of a batch query.
pub(super) struct RangeFinder<'a> {
    pub(super) query: &'a BatchQuery,
    pub(super) storage: &'a dyn Storage,
    /// Warnings about missing offsets.
    pub(super) warnings: Vec<String>,
}

impl RangeFinder<'_> {
    /// The ranges of the topic-partitions. Those with an empty range are left out.
    ///
    /// # Errors
    /// `Value` if limits do not name what is read, a start is after its end, no record is late enough for a starting time, or offsets are
    /// missing and that ends the query; those of the files.
    pub(super) fn ranges(&mut self, logs: Logs) -> QueryResult<Vec<LogRange>> {
        let assigned: BTreeSet<TopicPartition> = logs.iter().map(|(name, _)| name.clone()).collect();
        self.query.starting.ensure_assigned(&assigned, Edge::Starting)?;
        self.query.ending.ensure_assigned(&assigned, Edge::Ending)?;
        let mut ranges = Vec::with_capacity(logs.len());
        for (name, files) in logs {
            ranges.extend(self.range(name, files)?);
        }
        Ok(ranges)
    }

    fn range(&mut self, name: TopicPartition, files: Vec<SegmentFile>) -> QueryResult<Option<LogRange>> {
        let query = self.query;
        let Some(file) = files.first() else { return Ok(None) };
        let first = file.base_offset.map(|base| base.max(file.log_start.unwrap_or(0)));
        // Deleted records stay in the file until all of its segment is deleted.
        let after_deleted = first.filter(|first| *first > file.base());
        let segments: Vec<Arc<SegmentLookup>> = files.into_iter().map(|file| Arc::new(SegmentLookup::new(file))).collect();
        let (since, until) = (query.starting.time_of(&name), query.ending.time_of(&name));
        let mut log = LogRange { name, segments, start: None, end: None, until, starts_at_time: since.is_some(), looked_up: 0 };
        let start = self.resolved(&mut log, &query.starting, Edge::Starting, after_deleted)?;
        let end = self.resolved(&mut log, &query.ending, Edge::Ending, after_deleted)?;
        self.ensure_boundary(&log, start, "starting")?;
        self.ensure_boundary(&log, end, "ending")?;
        let end = self.end_before_start(&mut log, start, end, after_deleted)?;
        if (0..start).contains(&end) || since.zip(until).is_some_and(|(since, until)| since > until) {
            let text = if (0..start).contains(&end) {
                format!("{}: offsets from {start} to {end}", log.name)
            } else {
                format!("{}: times from {} to {}", log.name, since.unwrap_or(0), until.unwrap_or(0))
            };
            let (starting, ending) = (query.starting.option(Edge::Starting), query.ending.option(Edge::Ending));
            return Err(SparkError::value(format!("{text}: option {starting} must not be after {ending}")));
        }
        let start = after_deleted.filter(|_| start == EARLIEST).unwrap_or(start);
        let is_empty = start >= 0 && (0..=start).contains(&end);
        if start == LATEST || end == EARLIEST || is_empty || (until.is_some() && since == until) {
            return Ok(None);
        }
        (log.start, log.end) = (Some(start).filter(|start| *start >= 0), Some(end).filter(|end| *end >= 0));
        self.without_lost(log, first).map(Some)
    }

    /// The end of a range between two times whose records are all after the second one.
    fn end_before_start(&self, log: &mut LogRange, start: i64, end: i64, after_deleted: Option<i64>) -> QueryResult<i64> {
        let Some(until) = log.until.filter(|_| start >= 0) else { return Ok(end) };
        match self.find(log, until, after_deleted)? {
            Some(late) if late < start && !self.has_record_before(until, start, log)? => Ok(late),
            _ => Ok(end),
        }
    }

    /// The offset that a limit means, or `EARLIEST` or `LATEST`.
    fn resolved(&self, log: &mut LogRange, limit: &OffsetLimit, edge: Edge, after_deleted: Option<i64>) -> QueryResult<i64> {
        if let Some(offset) = limit.offset_of(&log.name) {
            return Ok(offset);
        }
        // Records after the first one that is too late may be early enough.
        let Some(timestamp) = limit.time_of(&log.name).filter(|_| edge == Edge::Starting) else { return Ok(LATEST) };
        match self.find(log, timestamp, after_deleted)? {
            Some(found) => Ok(found),
            None if self.query.goes_on_without_match => Ok(LATEST),
            None => Err(SparkError::value(format!(
                "no record of {} has timestamp {timestamp} ms or later; set startingOffsetsByTimestampStrategy to latest to start after the \
                 last record",
                log.name
            ))),
        }
    }

    /// The first offset at a time (ms) or later.
    fn find(&self, log: &mut LogRange, timestamp: i64, after_deleted: Option<i64>) -> QueryResult<Option<i64>> {
        let wanted = WantedRange { start_offset: after_deleted, ..self.wanted() };
        let found = self.search(log, wanted)?.place_at(timestamp, false, self.storage)?;
        if !self.query.skips_damage() {
            let is_before = |segment: &&Arc<SegmentLookup>| found.is_none_or(|found| segment.file.base() <= found);
            log.looked_up = log.looked_up.max(log.segments.iter().filter(is_before).count());
        }
        Ok(found)
    }

    pub(super) fn wanted(&self) -> WantedRange {
        WantedRange { skips_damage: self.query.skips_damage(), ..WantedRange::default() }
    }

    pub(super) fn search(&self, log: &LogRange, wanted: WantedRange) -> QueryResult<TimeSearch> {
        let wanted = PartitionReader::new(log.segments.clone(), wanted, None).wanted;
        Ok(TimeSearch { segments: log.segments.clone(), wanted, decode: self.query.decode()?, is_control_wanted: false })
    }

    /// True if a record from an offset on is before a time. In a log in the order of time none is after a record of that time.
    fn has_record_before(&self, until: i64, start: i64, log: &LogRange) -> QueryResult<bool> {
        let wanted = WantedRange { start_offset: Some(start), ..self.wanted() };
        let search = TimeSearch { is_control_wanted: true, ..self.search(log, wanted)? };
        let wanted = search.within((None, Some(until)), self.storage)?;
        let reader = PartitionReader::new(log.segments.clone(), wanted, None);
        for (number, piece) in reader.pieces(self.storage)? {
            let Some(segment) = reader.segments.get(number) else { continue };
            let bytes = piece.bytes(self.storage)?;
            // One record decides.
            if self.records(&segment.file, &bytes)?.next_batch()?.is_some_and(|rows| rows.num_rows() > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The offsets of the records in some bytes of a segment.
    fn records(&self, file: &SegmentFile, bytes: &PieceBytes) -> QueryResult<Box<dyn BatchSource>> {
        let (skips, wanted) = (self.query.skips_damage(), bytes.wanted);
        let at_damage = if skips { AtDamage::GoOn } else { AtDamage::Fail };
        let ending = match file.next_offset {
            _ if bytes.is_inner => bytes.bytes.1.map_or(Ending::Open, |at| Ending::Entry { at }),
            Some(next) if self.storage.has_next(&file.path, next) => Ending::Segment { first: file.named_offset(), next },
            None if self.storage.is_uploaded(&file.path) => Ending::Uploaded,
            _ => Ending::Open,
        };
        let source = self.storage.source(&file.path, bytes.bytes.0, bytes.bytes.1, at_damage)?.before(ending);
        let range = |(start, end): (Option<i64>, Option<i64>)| OffsetRange { start: start.unwrap_or(i64::MIN), end };
        let position = position_07(&file.path);
        let own = self.query.decode()?;
        let decode = DecodeOptions {
            formats: if position.is_some() { Formats::Only(RecordFormat::V07) } else { own.formats },
            base_position: position.unwrap_or(0),
            upload: source.upload(),
            is_control_wanted: true,
            offsets: range((wanted.start_offset, wanted.end_offset)),
            share: range(wanted.share),
            times: wanted.times.1.map(|end| TimeRange { start: wanted.times.0.unwrap_or(i64::MIN), end: Some(end) }),
            segment: file.offsets.unwrap_or_default(),
            ..own
        };
        let projection = Projection { columns: vec![Column::Offset], binary: BinaryKind::Binary, has_null_headers: true };
        let options = StreamOptions {
            decode,
            projection,
            topic: None,
            partition: None,
            on_error: self.query.on_error(),
            is_tail_strict: false,
            batch_size: 1,
            batch_bytes: 1,
            keys: None,
            threads: 1,
            interrupt: self.storage.interrupt(),
        };
        Ok(stream::open(source, options))
    }

    /// A range without its offsets before the log start offset `first`; missing offsets are an error or a warning.
    fn without_lost(&mut self, log: LogRange, first: Option<i64>) -> QueryResult<LogRange> {
        let mut lost = Vec::new();
        if let Some((start, first)) = log.start.zip(first).filter(|(start, first)| start < first) {
            lost.push(format!("offset {start} of {} was deleted: the log starts at {first}", log.name));
        }
        lost.extend(self.lost_end(&log)?);
        if lost.is_empty() {
            return Ok(log);
        }
        let text = lost.join("; ");
        if self.query.fails_on_data_loss {
            return Err(SparkError::value(format!("{text}; set failOnDataLoss to false to read the remaining records")));
        }
        self.warnings.push(text);
        let start = log.start.map(|start| start.max(first.unwrap_or(0)));
        Ok(LogRange { start, ..log })
    }

    fn lost_end(&self, log: &LogRange) -> QueryResult<Option<String>> {
        let Some(offset) = log.end.or(log.start) else { return Ok(None) };
        let Some(last) = log.segments.last() else { return Ok(None) };
        let Some(end) = last.end_before(offset, self.query.skips_damage(), self.storage)? else { return Ok(None) };
        let wanted = if log.end.is_none() { format!("from {offset} on") } else { format!("up to {offset}") };
        Ok(Some(format!("offsets of {} {wanted} are requested, but the log ends before {end}", log.name)))
    }

    /// Refuse an offset of Kafka 0.7, which is a position, inside of an entry; it would add or leave out a message.
    ///
    /// Source: `Log.read` in Kafka 0.7 takes any position, and its consumer fails at the bytes there.
    fn ensure_boundary(&self, log: &LogRange, offset: i64, edge: &str) -> QueryResult<()> {
        let wanted = WantedRange { start_offset: Some(offset), end_offset: Some(offset.saturating_add(1)), ..WantedRange::default() };
        let reader = PartitionReader::new(log.segments.clone(), wanted, None);
        let Some(segment) = reader.wanted_segments().last().and_then(|(number, _)| reader.segments.get(*number)) else { return Ok(()) };
        let base = segment.file.base();
        let Some(position) = u64::try_from(offset.saturating_sub(base)).ok().filter(|at| *at > 0 && segment.file.is_of_0_7()) else {
            return Ok(());
        };
        let Some((begin, end)) = segment.entry_around(position, self.storage)? else { return Ok(()) };
        let at = |position: u64| base.saturating_add(i64::try_from(position).unwrap_or(i64::MAX));
        let starts = format!("no entry of {} starts at {offset}; the nearest are {} and {}", log.name, at(begin), at(end));
        Err(SparkError::value(format!("option {edge}Offsets: {starts}; offsets of Kafka 0.7 are positions")))
    }
}
