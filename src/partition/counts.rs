//! What the batches of segments hold, past damage: their offsets, and records before an offset.

use std::path::Path;

use super::storage::in_file;
use super::{AtDamage, SegmentFile, Storage};
use crate::decode::{Checksums, DecodeOptions, Decoder, OffsetRange};
use crate::error::Result;
use crate::framing::{Frame, FrameEvent, Runs, Source, Step, step};
use crate::log::{Batch, BatchTrust, Batches};
use crate::model::{Formats, HeaderRef, RecordFormat, RecordRef, RecordSink};
use crate::wire::as_u64;

/// Bytes of entries that are looked at together.
const RUN_LEN: usize = 1 << 20;

/// The first and the last offset of each valid batch of a segment.
///
/// # Errors
/// `Io`.
pub(super) fn valid_batches(file: &SegmentFile, storage: &dyn Storage) -> Result<Vec<(i64, i64)>> {
    let mut walk = batches(file, BatchTrust::valid(), storage)?;
    let mut found = Vec::new();
    let mut end = file.base();
    while let Some(batch) = walk.next_batch().map_err(|error| in_file(error, &file.path, storage))? {
        // A compressed message of magic 0 or 1 has its last offset only.
        found.push((batch.base_offset.unwrap_or(end), batch.header.last_offset));
        end = batch.header.last_offset.saturating_add(1);
    }
    Ok(found)
}

/// The highest offset after a valid batch of a segment; 0 if there is none.
///
/// # Errors
/// `Io`.
pub(super) fn highest_end(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    let ends = valid_batches(file, storage)?.into_iter().map(|(_, last)| last.saturating_add(1));
    Ok(ends.max().unwrap_or(0))
}

/// The number of records of a partition before an offset, without control records: by the headers, and in the batch around it. `None` for
/// all records.
///
/// # Errors
/// If a file cannot be read. One that is gone has no records.
pub fn records_before(files: &[SegmentFile], offset: Option<i64>, storage: &dyn Storage) -> Result<u64> {
    let mut total = 0;
    for file in files.iter().filter(|file| offset.is_none_or(|offset| file.base() < offset)) {
        match records_of_file_before(file, offset, storage) {
            Err(error) if error.is_not_found() => {}
            number => total += number?,
        }
    }
    Ok(total)
}

fn records_of_file_before(file: &SegmentFile, offset: Option<i64>, storage: &dyn Storage) -> Result<u64> {
    let trust = BatchTrust { checksums: Checksums::None, ..BatchTrust::valid() };
    let mut walk = batches(file, trust.resolving(), storage)?;
    let path = &file.path;
    let mut total = 0;
    while let Some(Batch { header, .. }) = walk.next_batch().map_err(|error| in_file(error, path, storage))? {
        total += match offset.filter(|offset| header.last_offset >= *offset) {
            _ if header.is_control() => 0,
            Some(offset) => records_of_batch_before(path, (header.position, header.size), offset, storage)?,
            None => header.count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0),
        };
    }
    Ok(total)
}

/// The number of records of one batch before an offset, by its position and size. A batch that cannot be decompressed has none.
///
/// # Errors
/// If the file cannot be read.
pub fn records_of_batch_before(path: &Path, (position, size): (u64, u64), offset: i64, storage: &dyn Storage) -> Result<u64> {
    let source = storage.source(path, position, Some(position.saturating_add(size)), AtDamage::Fail)?;
    match records_in(source, offset) {
        Err(error) if error.is_about_data() => Ok(0),
        number => number.map_err(|error| in_file(error, path, storage)),
    }
}

fn records_in(source: Source, offset: i64) -> Result<u64> {
    let offsets = OffsetRange { end: Some(offset), ..OffsetRange::default() };
    let decode = DecodeOptions { formats: Formats::Every, is_control_wanted: true, offsets, ..DecodeOptions::default() };
    let limits = decode.limits;
    let mut runs = Runs::new(source, limits, RUN_LEN).of(decode.formats);
    let mut decoder = Decoder::new(decode);
    let mut records = RecordsBefore { base_offset: 0, offset, number: 0 };
    while let Some(piece) = runs.next_piece()? {
        let FrameEvent::Run(run) = piece else { continue };
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.entries_from(at), Formats::Every, &limits) {
            let bytes = run.bytes.get(at..at + len).unwrap_or_default();
            let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
            if let Some(opened) = decoder.open(frame)? {
                records.base_offset = opened.header.base_offset;
                let section = decoder.section(&opened, bytes, run.bytes.get(at..).unwrap_or_default());
                opened.walk.read_all(&section, &mut records)?;
            }
            at += len;
        }
    }
    Ok(records.number)
}

/// Counts records before an offset.
struct RecordsBefore {
    base_offset: i64,
    offset: i64,
    number: u64,
}

impl RecordSink for RecordsBefore {
    fn header(&mut self, _: HeaderRef) {}

    fn record(&mut self, record: RecordRef) {
        self.number += u64::from(self.base_offset.wrapping_add(record.offset_delta) < self.offset);
    }
}

/// The batches of a segment, past damage.
fn batches(file: &SegmentFile, trust: BatchTrust, storage: &dyn Storage) -> Result<Batches> {
    let source = storage.source(&file.path, 0, None, AtDamage::GoOn)?;
    let trust = BatchTrust { formats: formats_of(&file.path), base_position: file.base(), ..trust };
    Ok(Batches::new(source, trust, &storage.interrupt()))
}

/// What the entries of a file are, by its name.
fn formats_of(path: &Path) -> Formats {
    let is_of_0_7 = path.extension().is_some_and(|extension| extension == "kafka");
    if is_of_0_7 { Formats::Only(RecordFormat::V07) } else { Formats::Every }
}
