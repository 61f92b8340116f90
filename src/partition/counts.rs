//! What the batches of segments hold, past damage: their offsets, and records before an offset.

use std::path::Path;

use super::storage::{in_file, is_gone};
use super::{AtDamage, SegmentFile, Storage};
use crate::decode::{ChecksumVerifier, Checksums, DecodeOptions, Decoder, OffsetRange, UploadCheck, parse_header, verify};
use crate::error::Result;
use crate::framing::{Frame, Piece, Runs, Source, Step, step};
use crate::model::{BatchHeader, Formats, HeaderRef, RecordRef, RecordSink};
use crate::wire::as_u64;

/// Bytes of entries that are looked at together.
const RUN_LEN: usize = 1 << 20;

/// The first and the last offset of each valid batch of a segment.
///
/// # Errors
/// `Io`.
pub(super) fn valid_batches(file: &SegmentFile, storage: &dyn Storage) -> Result<Vec<(i64, i64)>> {
    let mut found = Vec::new();
    let mut end = file.base();
    each_batch(&file.path, storage, Checksums::All, &mut |header, _| {
        // A compressed message of magic 0 or 1 has its last offset only.
        found.push((if header.count.is_none() { end } else { header.base_offset }, header.last_offset));
        end = header.last_offset.saturating_add(1);
        Ok(())
    })?;
    Ok(found)
}

/// The highest offset after a valid batch of a segment; 0 if there is none.
///
/// # Errors
/// `Io`.
pub(super) fn highest_end(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    let mut end = 0;
    each_batch(&file.path, storage, Checksums::All, &mut |header, _| {
        end = end.max(header.last_offset.saturating_add(1));
        Ok(())
    })?;
    Ok(end)
}

/// The number of records of a partition before an offset, without control records: by the headers, and in the batch around it. `None` for
/// all records.
///
/// # Errors
/// If a file cannot be read. One that is gone has no records.
pub fn records_before(files: &[SegmentFile], offset: Option<i64>, storage: &dyn Storage) -> Result<u64> {
    let mut total = 0;
    for file in files.iter().filter(|file| offset.is_none_or(|offset| file.base() < offset)) {
        match records_of_file_before(&file.path, offset, storage) {
            Err(error) if is_gone(&error) => {}
            number => total += number?,
        }
    }
    Ok(total)
}

fn records_of_file_before(path: &Path, offset: Option<i64>, storage: &dyn Storage) -> Result<u64> {
    let mut total = 0;
    let mut resolver = Decoder::new(DecodeOptions { check_crc: false, ..options(None) });
    each_batch(path, storage, Checksums::None, &mut |header, frame| {
        if header.is_control() {
            return Ok(());
        }
        if let Some(offset) = offset.filter(|offset| header.last_offset >= *offset) {
            total += records_of_batch_before(path, (header.position, header.size), offset, storage)?;
            return Ok(());
        }
        // Only decompressing a wrapper of magic 0 or 1 shows its count.
        let count = match header.count {
            None => resolver.open(frame)?.and_then(|opened| opened.header.count),
            count => count,
        };
        total += count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        Ok(())
    })?;
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
    let decode = options(Some(offset));
    let limits = decode.limits;
    let mut runs = Runs::new(source, limits, RUN_LEN).of(decode.formats);
    let mut decoder = Decoder::new(decode);
    let mut records = RecordsBefore { base_offset: 0, offset, number: 0 };
    while let Some(piece) = runs.next_piece()? {
        let Piece::Run(run) = piece else { continue };
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.entries_from(at), Formats::Experimental, &limits) {
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

fn options(end: Option<i64>) -> DecodeOptions {
    let offsets = OffsetRange { end, ..OffsetRange::default() };
    DecodeOptions { formats: Formats::Experimental, is_control_wanted: true, offsets, ..DecodeOptions::default() }
}

/// Visits each batch, past damage.
fn each_batch(
    path: &Path,
    storage: &dyn Storage,
    checksums: Checksums,
    visit: &mut dyn FnMut(&BatchHeader, Frame<'_>) -> Result<()>,
) -> Result<()> {
    let source = storage.source(path, 0, None, AtDamage::GoOn)?;
    let decode = DecodeOptions { upload: source.upload(), ..options(None) };
    let (formats, limits) = (decode.formats, decode.limits);
    let mut runs = Runs::new(source, limits, RUN_LEN)
        .of(formats)
        .with_source_check(UploadCheck::of(&decode))
        .with_recovery(Box::new(ChecksumVerifier { formats, limits, checksums }))
        .with_interrupt(storage.interrupt())
        .giving_broken();
    let mut walk = || {
        while let Some(piece) = runs.next_piece()? {
            storage.interrupt().ensure_wanted()?;
            let (Piece::Run(run) | Piece::Broken(run)) = piece else { continue };
            let mut at = 0;
            while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &limits) {
                let bytes = run.bytes.get(at..at + len).unwrap_or_default();
                let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
                at += len;
                let Ok(header) = parse_header(frame, formats, 0) else { continue };
                if checksums == Checksums::None || verify(bytes, &header).is_ok() {
                    match visit(&header, frame) {
                        Err(error) if error.is_about_data() => {}
                        visited => visited?,
                    }
                }
            }
        }
        Ok(())
    };
    walk().map_err(|error| in_file(error, path, storage))
}
