//! Look-ups of times in the segments of a partition, by headers as far as they say, and by the records themselves.

use std::sync::Arc;

use super::reader::log_start;
use super::storage::{AtDamage, Storage, in_file};
use super::wanted::WantedRange;
use super::{SegmentFile, SegmentLookup};
use crate::decode::{Checksums, DecodeOptions, DecodedBatch, Decoder, OffsetRange, Unreadable, sniff};
use crate::error::Result;
use crate::framing::{Ending, Frame, Source};
use crate::log::{Batch, BatchTrust, Batches, hides_times, no_data_error};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, HeaderRef, RecordFormat, RecordRef, RecordSink};

/// A first time (ms) that is wanted, and the first one that is too late.
pub type WantedTimes = (Option<i64>, Option<i64>);

/// How the records are decoded by which a time is looked up.
#[derive(Clone, Debug)]
pub struct TimeSearch {
    /// The segments of a partition, in the order of their offsets.
    pub segments: Vec<Arc<SegmentLookup>>,
    /// What the read wants that begins or ends at the time. If it skips damage, only batches whose checksums match are trusted, and all bytes
    /// before the record are read; otherwise indexes and headers lead to it, and damage on the way is an error.
    pub wanted: WantedRange,
    /// Formats, limits and codecs of the read.
    pub decode: DecodeOptions,
    /// Control records count for a time.
    pub is_control_wanted: bool,
}

/// The record that a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    /// The number of its segment.
    pub segment: usize,
    /// Its offset.
    pub offset: i64,
    /// The base offset of its batch.
    pub batch: i64,
}

impl TimeSearch {
    /// The first record of a time (ms) or later; `None` if there is none. Records before the first wanted offset, and from the first one on that
    /// is not wanted, do not count.
    ///
    /// # Errors
    /// If bytes on the way cannot be read, unless damage is skipped; if a file cannot be read.
    pub fn first_at(&self, timestamp: i64, storage: &dyn Storage) -> Result<Option<FoundRecord>> {
        for (number, segment) in self.segments.iter().enumerate() {
            if segment.file.is_of_0_7() {
                continue;
            }
            if let Some((offset, batch)) = self.first_in(segment, timestamp, storage)? {
                return Ok(Some(FoundRecord { segment: number, offset, batch }));
            }
        }
        Ok(None)
    }

    /// Where a read begins that begins at a time: the offset of the first record of it, but one that the header of its batch claims. The header
    /// of a batch decides which reads have it, and its records may have other offsets (FND-2). With `takes_batch` all of the batch is read, by
    /// a read that compares times with each record.
    ///
    /// # Errors
    /// As `first_at`.
    pub fn place_at(&self, timestamp: i64, takes_batch: bool, storage: &dyn Storage) -> Result<Option<i64>> {
        let Some(found) = self.first_at(timestamp, storage)? else { return Ok(None) };
        if takes_batch {
            return Ok(Some(found.offset.min(found.batch)));
        }
        let Some(segment) = self.segments.get(found.segment) else { return Ok(None) };
        let place = no_data_error(segment.find_offset(found.batch, storage))?.and_then(|place| place.header);
        let claims = place.filter(|header| (header.base_offset..=header.last_offset).contains(&found.batch));
        Ok(Some(claims.map_or(found.offset, |header| found.offset.max(header.base_offset).min(header.last_offset))))
    }

    /// What a read of a range of times wants.
    ///
    /// A first time alone is a place in the log, as for Kafka's consumers: the read begins at the first record of this time or later, and goes
    /// on to the end. With a second time, the times of a record decide, wherever the record is: one bad clock ends no read. A record without a
    /// timestamp is in no range. The read ends early only where the headers give the times of all later records; see `end_before`.
    ///
    /// # Errors
    /// As `first_at`.
    pub fn within(&self, (since, until): WantedTimes, storage: &dyn Storage) -> Result<WantedRange> {
        let mut wanted = self.wanted;
        let anywhere = WantedRange { start_offset: None, end_offset: None, ..wanted }.from_log_start(log_start(&self.segments));
        let anywhere = Self { wanted: anywhere, ..self.clone() };
        let (mut start, mut end) = (None, None);
        if let Some(since) = since {
            start = Some(anywhere.place_at(since, until.is_some(), storage)?.unwrap_or(i64::MAX));
        }
        if let Some(until) = until {
            end = anywhere.end_before(until, storage)?;
            wanted.times = (since, Some(until));
        }
        Ok(wanted.sharing(start, end))
    }

    /// The offset before which a read of records before a time can end; `None` if later records may be before it.
    ///
    /// It can end at the batch of the first record of that time, if the headers from there on give the times of all records (LogAppendTime, or
    /// batches of one record), and none is before it.
    fn end_before(&self, until: i64, storage: &dyn Storage) -> Result<Option<i64>> {
        if self.wanted.skips_damage {
            return Ok(None);
        }
        let Some(found) = self.first_at(until, storage)? else { return Ok(None) };
        let later = self.segments.get(found.segment..).unwrap_or_default();
        let Some(first) = later.first() else { return Ok(None) };
        let place = no_data_error(first.find_offset(found.batch, storage))?;
        let Some(place) = place.filter(|place| place.header.is_some_and(|header| header.base_offset == found.batch)) else {
            return Ok(None);
        };
        for (number, segment) in later.iter().enumerate() {
            let start = if number == 0 { place.position } else { 0 };
            if no_data_error(self.begins_at(segment, start, until, storage))? != Some(true) {
                return Ok(None);
            }
        }
        Ok(Some(found.batch))
    }

    /// True if no record from a position on is before a time, by the headers alone: that of each batch must give the time of all of its records.
    fn begins_at(&self, segment: &SegmentLookup, start: u64, timestamp: i64, storage: &dyn Storage) -> Result<bool> {
        let segment_offsets = segment.file.offsets.unwrap_or_default();
        let mut batches = self.batches(&segment.file, start, Checksums::None, storage)?;
        while let Some(Batch { header, .. }) = batches.next_batch()? {
            segment_offsets.ensure_holds(&header)?;
            let is_ignored = header.count == Some(0) || (header.is_control() && !self.is_control_wanted);
            if !is_ignored && time_of_all(&header).is_none_or(|time| time < timestamp) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first record of a time in a segment, and the base offset of its batch.
    fn first_in(&self, segment: &SegmentLookup, timestamp: i64, storage: &dyn Storage) -> Result<Option<(i64, i64)>> {
        let mut position = 0;
        if !self.wanted.skips_damage {
            // Batches whose headers say that all of their records are earlier are skipped.
            let found = segment.find_timestamp(timestamp, storage)?;
            if found.header.is_none() {
                return Ok(None);
            }
            position = found.position;
        }
        let found = self.search(segment, position, timestamp, storage);
        let mut found = found.map_err(|error| in_file(error, &segment.file.path, storage))?;
        let is_placed = segment.file.actual_offsets.is_none_or(|held| Some(held.0) == segment.file.named_offset());
        if let Some(next) = segment.file.next_offset.filter(|_| is_placed) {
            // A damaged base offset may claim any offset, and nothing after it may be skipped.
            let most = next.saturating_sub(1);
            found = found.map(|(offset, batch)| (offset.min(most), batch.min(most)));
        }
        let end = self.wanted.end_offset.filter(|_| !self.wanted.skips_damage);
        Ok(found.filter(|(offset, _)| end.is_none_or(|end| *offset < end)))
    }

    fn search(&self, segment: &SegmentLookup, position: u64, timestamp: i64, storage: &dyn Storage) -> Result<Option<(i64, i64)>> {
        let skips = self.wanted.skips_damage;
        let compares = self.decode.check_crc || !skips;
        let checksums = if compares { Checksums::All } else { Checksums::None };
        let mut batches = self.batches(&segment.file, position, checksums, storage)?;
        let mut records = TimedRecords::new(self, &batches);
        let mut found: Option<(i64, i64)> = None;
        loop {
            // The read itself returns an error after the record.
            let batch = match (batches.next_batch(), found) {
                (Err(error), Some(_)) if error.is_about_data() => None,
                (batch, _) => batch?,
            };
            let Some(batch) = batch else { return Ok(found) };
            if skips
                && compares
                && let Some(found) = found
            {
                return Ok(Some(before(found, batch.header.base_offset)));
            }
            if skips && compares && !may_hold(&batch.header, timestamp, self.wanted.start_offset) {
                continue;
            }
            let read = match records.read(&batch, batches.entry()) {
                Err(error) if found.is_some() && error.is_about_data() => return Ok(found),
                Err(error) if self.steps_over(&error) => None,
                read => read?,
            };
            let Some(base) = read else { continue };
            match found {
                // A copy of the batch has the same base offset.
                Some(found) if base != found.1 && !records.found.is_empty() => return Ok(Some(before(found, base))),
                Some(_) => {}
                None => found = records.first_at(timestamp).map(|offset| (offset, base)),
            }
        }
    }

    fn steps_over(&self, error: &crate::error::Error) -> bool {
        let is_skipped = if error.is_unreadable() { self.decode.unreadable == Unreadable::Skip } else { self.wanted.skips_damage };
        is_skipped && error.is_about_data()
    }

    fn batches(&self, file: &SegmentFile, start: u64, checksums: Checksums, storage: &dyn Storage) -> Result<Batches> {
        let skips = self.wanted.skips_damage;
        if start == 0 && !skips {
            storage.ensure_segment(&file.path)?;
        }
        let at_damage = if skips { AtDamage::GoOn } else { AtDamage::Fail };
        let mut source: Source = storage.source(&file.path, start, None, at_damage)?.before(ending(file, storage));
        let mut formats = self.decode.formats;
        if self.decode.sniffed_values.is_some() {
            formats = sniff(&mut source, formats, &self.decode.limits)?;
        }
        let (limits, base_position) = (self.decode.limits, self.decode.base_position);
        let trust = BatchTrust { formats, limits, checksums, skips_damage: skips, resolves: false, base_position };
        Ok(Batches::new(source, trust, &storage.interrupt()))
    }
}

/// What follows the last byte of a segment.
fn ending(file: &SegmentFile, storage: &dyn Storage) -> Ending {
    match file.next_offset {
        None if storage.is_uploaded(&file.path) => Ending::Uploaded,
        Some(next) if storage.has_next(&file.path, next) => Ending::Segment { first: file.named_offset(), next },
        _ => Ending::Open,
    }
}

/// The offsets and times of the wanted records of one batch.
struct TimedRecords {
    decoder: Decoder,
    found: Vec<(i64, i64)>,
}

impl TimedRecords {
    fn new(search: &TimeSearch, batches: &Batches) -> Self {
        let skips = search.wanted.skips_damage;
        let start = search.wanted.start_offset.unwrap_or(i64::MIN);
        let (offset_end, share) = if skips { (search.wanted.end_offset, search.wanted.share) } else { (None, search.wanted.share) };
        let decode = DecodeOptions {
            formats: batches.formats(),
            check_crc: search.decode.check_crc || !skips,
            is_control_wanted: true,
            offsets: OffsetRange { start, end: offset_end },
            share: OffsetRange { start: share.0.unwrap_or(i64::MIN), end: share.1 },
            times: None,
            ..search.decode.clone()
        };
        Self { decoder: Decoder::new(decode), found: Vec::new() }
    }

    /// Reads a batch, and returns its base offset; `None` if nothing of it is wanted.
    fn read(&mut self, batch: &Batch, entry: &[u8]) -> Result<Option<i64>> {
        self.found.clear();
        let frame = Frame { position: batch.header.position, magic: batch.header.magic, bytes: entry };
        let Some(mut opened) = self.decoder.open(frame)? else { return Ok(None) };
        let section = self.decoder.section(&opened, entry, entry);
        let mut sink = Collected { opened, found: &mut self.found };
        let walked = opened.walk.advance(&section, opened.walk.left(), &mut sink);
        // An entry is given whole or not at all.
        walked.map_err(|error| error.in_batch(opened.header.base_offset).at_byte(batch.header.position))?;
        Ok(Some(opened.header.base_offset))
    }

    fn first_at(&self, timestamp: i64) -> Option<i64> {
        self.found.iter().find(|(_, time)| *time >= timestamp).map(|(offset, _)| *offset)
    }
}

struct Collected<'a> {
    opened: DecodedBatch,
    found: &'a mut Vec<(i64, i64)>,
}

impl RecordSink for Collected<'_> {
    fn header(&mut self, _: HeaderRef) {}

    fn record(&mut self, record: RecordRef) {
        let offset = self.opened.header.base_offset.wrapping_add(record.offset_delta);
        let timestamp = self.opened.timestamp(&record);
        if self.opened.filter.is_none_or(|filter| filter.contains(offset, timestamp)) {
            self.found.push((offset, timestamp));
        }
    }
}

fn may_hold(header: &BatchHeader, timestamp: i64, start: Option<i64>) -> bool {
    let is_late = header.max_timestamp >= timestamp || hides_times(header);
    is_late && start.is_none_or(|start| header.last_offset >= start)
}

/// The time of every record of a batch, where the header alone gives it. Of several records `baseTimestamp` is not the smallest time.
fn time_of_all(header: &BatchHeader) -> Option<i64> {
    let (base, largest) = (header.base_timestamp, header.max_timestamp);
    let is_only = match header.format {
        _ if header.append_time().is_some() => true,
        RecordFormat::V1 => header.compression() == CompressionType::None,
        RecordFormat::V2 | RecordFormat::V3 => header.count == Some(1) && base == largest && header.delete_horizon_ms().is_none(),
        RecordFormat::V0 | RecordFormat::V07 => false,
    };
    Some(largest).filter(|time| is_only && *time != NO_TIMESTAMP)
}

/// The place of a record, or an earlier place if the next batch has a lower base offset. No checksum covers base offsets, and the batches after a
/// damaged one must not be skipped.
fn before((offset, base): (i64, i64), next: i64) -> (i64, i64) {
    (offset.min(next), base.min(next))
}
