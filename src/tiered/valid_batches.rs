//! The valid batches of a log: the header of a batch with a wrong checksum may claim any offset and any length.

use super::error::TieredResult;
use super::file::{LogReader, TieredFile};
use crate::framing::{Ending, Source};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::log::{BatchTrust, Batches, Lookup};
use crate::model::{BatchHeader, UploadOffsets};
use crate::sidecar::OffsetEntry;

/// A log without an index is read whole up to this size; of a larger one only the headers are read.
const MOST_WHOLE: u64 = 1 << 20;

/// The end of a log.
///
/// No checksum of Kafka's covers the base offset of a batch. If the last batch follows a batch of far smaller offsets, damage may have
/// changed its base offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValidEnd {
    /// The last offset of the last valid batch.
    pub(super) offset: i64,
    /// The same; if the last batch skips offsets, the last offset before those.
    pub(super) certain: i64,
    /// The base offset of the last batch.
    pub(super) last_base_offset: i64,
}

/// Shows the valid batches of a source until `visit` returns false. Of a wrapper of magic 0 and 1 the base offset is its last one, unless it is
/// decompressed (`resolves`).
///
/// # Errors
/// `Io`, `Interrupted`; damage is skipped.
pub(super) fn each_valid(
    source: Source,
    resolves: bool,
    interrupt: &Interrupt,
    mut visit: impl FnMut(&BatchHeader) -> bool,
) -> crate::error::Result<()> {
    let trust = if resolves { BatchTrust::valid().resolving() } else { BatchTrust::valid() };
    let mut batches = Batches::new(source, trust, interrupt);
    while let Some(batch) = batches.next_batch()? {
        if !visit(&batch.header) {
            break;
        }
    }
    Ok(())
}

/// Returns the first valid batch of a log with a last offset at or after an offset, of those with offsets that the upload has.
///
/// # Errors
/// If the log cannot be read.
pub(super) fn first_reaching(
    log: &TieredFile,
    offsets: &[OffsetEntry],
    (allowed, offset): (UploadOffsets, i64),
    interrupt: &Interrupt,
) -> TieredResult<Option<BatchHeader>> {
    let reader = LogReader::new(log, interrupt);
    let lookup = lookup(&reader, offsets);
    match lookup.offset(offset) {
        Ok(place) if place.header.is_some() => {
            if let Some(batch) = valid_at(&reader, &lookup, place.position)? {
                return Ok(Some(batch));
            }
        }
        // Damage before the offset. Reading reports it; the valid batches after it still have offsets.
        Err(error) if !error.is_about_data() => return Err(reader.raised(error)),
        _ => reader.forget(),
    }
    let (first, _) = lookup.valid_range(Some(offset), None).map_err(|error| reader.raised(error))?;
    let mut found = None;
    let walked = each_valid(reader.source(first), false, interrupt, |batch| {
        found = Some(*batch).filter(|batch| batch.last_offset >= offset && allowed.holds(batch));
        found.is_none()
    });
    walked.map_err(|error| reader.raised(error)).map(|()| found)
}

/// Returns the end of the valid batches of a log; `None` if no batch is valid.
///
/// # Errors
/// If the log cannot be read.
pub(super) fn valid_end(log: &TieredFile, offsets: &[OffsetEntry], interrupt: &Interrupt) -> TieredResult<Option<ValidEnd>> {
    let reader = LogReader::new(log, interrupt);
    let lookup = lookup(&reader, offsets);
    // From the last but one index entry on, so that the batch before the last one is read as well.
    let first = match offsets.last() {
        Some(last) => lookup.valid_range(Some(last.offset), None).map_err(|error| reader.raised(error))?.0,
        None => {
            let last = match lookup.last_batch() {
                Err(error) if !error.is_about_data() => return Err(reader.raised(error)),
                last => last.ok().flatten(),
            };
            reader.forget();
            if let Some(last) = last.filter(|last| last.position > MOST_WHOLE)
                && let Some(last) = valid_at(&reader, &lookup, last.position)?
            {
                let (offset, last_base_offset) = (last.last_offset, last.base_offset);
                return Ok(Some(ValidEnd { offset, certain: offset, last_base_offset }));
            }
            0
        }
    };
    let (mut before, mut last): (Option<BatchHeader>, Option<BatchHeader>) = (None, None);
    let walked = each_valid(reader.source(first), false, interrupt, |batch| {
        before = last.replace(*batch);
        true
    });
    walked.map_err(|error| reader.raised(error))?;
    Ok(last.map(|last| {
        let end = |batch: &BatchHeader| batch.position.saturating_add(batch.size);
        let skips = |before: &BatchHeader| end(before) == last.position && before.last_offset.saturating_add(1) < last.base_offset;
        let certain = before.filter(skips).map_or(last.last_offset, |before| before.last_offset);
        ValidEnd { offset: last.last_offset, certain, last_base_offset: last.base_offset }
    }))
}

fn lookup<'a>(reader: &'a LogReader<'_>, offsets: &'a [OffsetEntry]) -> Lookup<'a> {
    Lookup { log: reader, len: reader.len(), limits: Limits::default(), offsets, ending: Ending::Open }
}

/// The header of the batch at a position, if it is valid; bytes that cannot be read are not.
fn valid_at(reader: &LogReader<'_>, lookup: &Lookup<'_>, position: u64) -> TieredResult<Option<BatchHeader>> {
    match lookup.valid_at(position) {
        Err(error) if !error.is_about_data() => Err(reader.raised(error)),
        found => Ok(found.ok().flatten()),
    }
}
