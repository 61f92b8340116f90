//! The records of one opened entry (or of a bundle of uncompressed messages) into batches of another format.

use super::loss::{LossKind, Losses};
use crate::codec::Compressor;
use crate::decode::{DecodedBatch, OffsetRange, RecordsSource};
use crate::encode::{BatchBuilder, BatchSettings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v0_v1::parse::V0V1Message;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{NewRecord, RecordFormat, RecordRef, Section, TimestampType};
use crate::wire::{Sink, as_u64};

/// What is kept between entries.
pub struct Rebuilder {
    builder: BatchBuilder,
    compressor: Compressor,
    /// Takes the records of a conversion without output.
    dry: Sink,
}

/// Where new records go, and what is known about all of them.
pub struct RebuildTarget<'a> {
    /// What the batches say.
    pub settings: BatchSettings,
    /// Records that are wanted.
    pub offsets: OffsetRange,
    /// The offset of the next record, where records get new ones.
    pub renumbered: Option<&'a mut i64>,
    /// Called with the index of each record in its entry and its new offset.
    pub map: Option<&'a mut Vec<(u64, u64, i64)>>,
    /// What is lost.
    pub losses: &'a mut Losses,
    /// Gets the batches; without it nothing is compressed.
    pub out: Option<&'a mut Sink>,
}

impl Rebuilder {
    /// A rebuilder whose contexts are made when they are needed.
    ///
    /// # Errors
    /// As `BatchBuilder::new`.
    pub fn new(settings: BatchSettings) -> Result<Self> {
        Ok(Self { builder: BatchBuilder::new(settings)?, compressor: Compressor::default(), dry: Sink::default() })
    }

    /// The compression contexts.
    pub fn compressor(&mut self) -> &mut Compressor {
        &mut self.compressor
    }

    /// Writes all records of an entry.
    ///
    /// # Errors
    /// What is wrong with a record, `Unwritable` for one that cannot exist in the target.
    pub fn rebuild(&mut self, opened: &DecodedBatch, section: &Section<'_>, target: RebuildTarget<'_>) -> Result<()> {
        self.builder.open(target.settings)?;
        let (bounds, records) = (None, Lost::default());
        let mut rebuild = BatchRebuild { owner: self, opened, section: *section, target, bounds, records };
        // No target can hold headers: batches that keep theirs are compressed anew, or copied.
        opened.rewrite::<false>(section, |record, new| rebuild.take(record, new))?;
        rebuild.finish()
    }
}

/// Takes the records of one entry.
struct BatchRebuild<'a, 'b> {
    owner: &'b mut Rebuilder,
    opened: &'b DecodedBatch,
    section: Section<'a>,
    target: RebuildTarget<'b>,
    /// First and last offset of the records.
    bounds: Option<(i64, i64)>,
    records: Lost,
}

/// Records that lose something.
#[derive(Default)]
struct Lost {
    headers: u64,
    attributes: u64,
    timestamps: u64,
    keys: u64,
    nulls: u64,
    offsets: u64,
}

impl BatchRebuild<'_, '_> {
    #[inline]
    fn take(&mut self, record: &RecordRef, mut new: NewRecord<'_>) -> Result<()> {
        let (offset, read_timestamp) = (new.offset, new.timestamp);
        let (first, _) = *self.bounds.get_or_insert((offset, offset));
        self.bounds = Some((first, offset));
        if !self.target.offsets.contains(offset) {
            return Ok(());
        }
        new.offset = self.number(offset, record);
        new.timestamp = self.stored_timestamp(record).unwrap_or(read_timestamp);
        self.count(record, &mut new);
        self.put(&new, read_timestamp)
    }

    /// Returns the producer's timestamp of an inner message whose wrapper has an append time. On the way up it stays in the deltas, as in a
    /// batch that a broker stamped.
    fn stored_timestamp(&self, record: &RecordRef) -> Option<i64> {
        let is_stamped = self.target.settings.format.is_batch() && self.opened.header.append_time().is_some();
        if !is_stamped || self.opened.records_source != RecordsSource::Decompressed {
            return None;
        }
        let entry = self.section.run(record.start, record.end - record.start);
        V0V1Message::parse(entry).ok().map(|message| message.timestamp)
    }

    /// The offset that a record gets.
    #[inline]
    fn number(&mut self, offset: i64, record: &RecordRef) -> i64 {
        let Some(next) = self.target.renumbered.as_deref_mut() else { return offset };
        let given = *next;
        *next = next.wrapping_add(1);
        if let Some(map) = self.target.map.as_deref_mut() {
            // Each message of a bundle is an entry of its own.
            let start = if self.opened.records_source == RecordsSource::Input { record.start } else { 0 };
            map.push((self.opened.header.position.saturating_add(as_u64(start)), as_u64(record.index), given));
        }
        given
    }

    /// Counts what the target cannot hold, and takes it out.
    #[inline]
    fn count(&mut self, record: &RecordRef, new: &mut NewRecord<'_>) {
        let (from, to) = (self.opened.header.format, self.target.settings.format);
        let lost = &mut self.records;
        lost.headers += u64::from(record.headers > 0);
        lost.attributes += u64::from(from.is_batch() && record.attributes != 0);
        if to < RecordFormat::V1 {
            lost.timestamps += u64::from(new.timestamp != NO_TIMESTAMP);
            new.timestamp = NO_TIMESTAMP;
        }
        if to == RecordFormat::V07 {
            lost.keys += u64::from(new.key.is_some());
            lost.nulls += u64::from(new.value.is_none());
            (new.key, new.value) = (None, Some(new.value.unwrap_or_default()));
        }
        lost.offsets += u64::from(to == RecordFormat::V07 || from == RecordFormat::V07);
    }

    /// Writes a record, and first ends the batch that it does not fit into.
    #[inline]
    fn put(&mut self, record: &NewRecord<'_>, read_timestamp: i64) -> Result<()> {
        if self.must_end(record.offset, read_timestamp) {
            self.end_batch()?;
        }
        let Rebuilder { builder, dry, .. } = &mut *self.owner;
        builder.append(record, self.target.out.as_deref_mut().unwrap_or(dry)).map_err(unwritable)
    }

    /// Messages have each their own append time, and uncompressed ones any offset. What one batch cannot hold makes two.
    #[inline]
    fn must_end(&mut self, offset: i64, read_timestamp: i64) -> bool {
        let builder = &self.owner.builder;
        if self.opened.records_source == RecordsSource::Decompressed || self.opened.header.format.is_batch() || builder.is_empty() {
            return self.stamp(read_timestamp);
        }
        let is_far = offset <= builder.last_offset() || i32::try_from(offset.saturating_sub(builder.base_offset())).is_err();
        is_far || self.stamp(read_timestamp)
    }

    /// Sets the append time of the batch that a message begins; true when it is another than that of the open batch.
    fn stamp(&mut self, timestamp: i64) -> bool {
        let settings = &mut self.target.settings;
        if settings.timestamp_type != TimestampType::LogAppendTime || settings.log_append_time == Some(timestamp) {
            return false;
        }
        settings.log_append_time = Some(timestamp);
        true
    }

    fn end_batch(&mut self) -> Result<()> {
        let Rebuilder { builder, compressor, dry } = &mut *self.owner;
        match self.target.out.as_deref_mut() {
            Some(out) => builder.close(compressor, out).map(|_| ())?,
            None => dry.clear(),
        }
        builder.open(self.target.settings)
    }

    fn finish(mut self) -> Result<()> {
        self.end_batch()?;
        let header = self.opened.header;
        let Lost { headers, attributes, timestamps, keys, nulls, offsets } = self.records;
        let mut lose = |kind, count| self.target.losses.add(kind, count, header.position, header.base_offset);
        lose(LossKind::Headers, headers);
        lose(LossKind::RecordAttributes, attributes);
        lose(LossKind::Timestamp, timestamps);
        lose(LossKind::Key, keys);
        lose(LossKind::NullValue, nulls);
        lose(LossKind::Offset, offsets);
        let is_cut = header.format.is_batch() && self.bounds != Some((header.base_offset, header.last_offset));
        lose(LossKind::BatchBounds, u64::from(is_cut));
        Ok(())
    }
}

/// What Kafka's builder refuses is an error of the bytes, where the bytes were written by someone else.
fn unwritable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Refused { rule, reason } => ErrorKind::Unwritable { rule, reason: reason.clone() }.into(),
        _ => error,
    }
}
