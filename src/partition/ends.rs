//! Where segments begin and end, as their batches and indexes show.

use std::path::Path;

use super::storage::{in_file, sidecar};
use super::{AtDamage, SegmentFile, Storage};
use crate::decode::OffsetRange;
use crate::error::Result;
use crate::framing::Ending;
use crate::limits::Limits;
use crate::log::{GrowingLog, LogEnd, Lookup, ReadAt};
use crate::model::{BatchHeader, Formats};
use crate::sidecar::{OffsetEntry, offset_index};

/// Batches of every format, also of those that never shipped.
const FORMATS: Formats = Formats::Experimental;

/// The end of a segment by its valid batches, past damage.
///
/// # Errors
/// `Io`.
pub(super) fn end_past_damage(file: &SegmentFile, storage: &dyn Storage) -> Result<LogEnd> {
    let path = &file.path;
    let (log, len) = storage.open(path, AtDamage::Fail)?;
    let (limits, interrupt) = (Limits::default(), storage.interrupt());
    // An index that cannot be read is a hint that is missing.
    let index = storage.read(&sidecar(path, "index")).ok().flatten().unwrap_or_default();
    let start = Lookup { log: &*log, len, limits, offsets: &valid_entries(&index, file.base()), ending: Ending::Open }.near_end();
    let growing =
        GrowingLog { log: &*log, len, limits, formats: FORMATS, is_checked: true, skips_damage: true, zeros: 0..0, interrupt: &interrupt };
    let open = |from: u64, to: Option<u64>| storage.source(path, from, to, AtDamage::GoOn);
    start.and_then(|start| growing.end(None, start, &open)).map_err(|error| in_file(error, path, storage))
}

/// The offset after the last valid batch of a segment, and its first offset if there is none.
///
/// # Errors
/// `Io`.
pub(super) fn next_offset(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    Ok(end_past_damage(file, storage)?.last.map_or(file.base(), |last| last.last_offset.saturating_add(1)))
}

/// The offset after the last valid batch of a segment; 0 if there is none. An offset of Kafka 0.7 is a position.
///
/// # Errors
/// `Io`.
pub(super) fn next_offset_past_damage(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    if file.is_of_0_7() {
        let size = storage.entry(&file.path)?.size.unwrap_or(0);
        return Ok(file.base().saturating_add(i64::try_from(size).unwrap_or(i64::MAX)));
    }
    Ok(end_past_damage(file, storage)?.last.map_or(0, |last| last.last_offset.saturating_add(1)))
}

/// The last whole batch of a segment by its header, however the segment ends after it.
///
/// # Errors
/// `Io`, and that of a damaged header.
pub(super) fn last_batch(file: &SegmentFile, storage: &dyn Storage) -> Result<Option<BatchHeader>> {
    let index = storage.read(&sidecar(&file.path, "index"))?.unwrap_or_default();
    let (log, len) = storage.open(&file.path, AtDamage::Fail)?;
    looked_up(&file.path, (&*log, len), &valid_entries(&index, file.base()), storage, |lookup| lookup.last_batch())
}

/// The first offset of a segment by its first batch, past damage before it.
///
/// # Errors
/// `Io`.
pub(super) fn first_offset(file: &SegmentFile, storage: &dyn Storage) -> Result<Option<i64>> {
    let (log, len) = storage.open(&file.path, AtDamage::GoOn)?;
    looked_up(&file.path, (&*log, len), &[], storage, |lookup| lookup.first_offset(&OffsetRange { start: 0, end: None }))
}

fn looked_up<T>(
    path: &Path,
    (log, len): (&dyn ReadAt, u64),
    offsets: &[OffsetEntry],
    storage: &dyn Storage,
    look_up: impl FnOnce(&Lookup<'_>) -> Result<T>,
) -> Result<T> {
    let lookup = Lookup { log, len, limits: Limits::default(), offsets, ending: Ending::Open };
    look_up(&lookup).map_err(|error| in_file(error, path, storage))
}

/// The entries of a sound index; none of another one.
fn valid_entries(bytes: &[u8], base_offset: i64) -> Vec<OffsetEntry> {
    let parsed = offset_index::parse(bytes, base_offset);
    if parsed.is_valid() { parsed.entries } else { Vec::new() }
}
