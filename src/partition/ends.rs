//! Where segments begin and end, as their batches and indexes show, whatever their names say.

use super::growing::{EndOptions, segment_end};
use super::{SegmentFile, SegmentLookup, Storage};
use crate::decode::OffsetRange;
use crate::error::Result;
use crate::limits::Limits;
use crate::log::LastBatch;
use crate::model::Formats;

/// The last valid batch of a segment, past damage.
///
/// # Errors
/// `Io`.
pub(super) fn last_valid(file: &SegmentFile, storage: &dyn Storage) -> Result<Option<LastBatch>> {
    let options = EndOptions { formats: Formats::Every, limits: Limits::default(), skips_damage: true, is_checked: true };
    segment_end(file, options, None, storage).map(|found| found.end.last)
}

/// The offset after the last valid batch of a segment, and its first offset if there is none.
///
/// # Errors
/// `Io`.
pub(super) fn next_offset(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    Ok(last_valid(file, storage)?.map_or(file.base(), |last| last.last_offset.saturating_add(1)))
}

/// The offset after the last valid batch of a segment; 0 if there is none. An offset of Kafka 0.7 is a position.
///
/// # Errors
/// `Io`.
pub(super) fn end_of_replica(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    if file.is_of_0_7() {
        let size = storage.entry(&file.path)?.size.unwrap_or(0);
        return Ok(file.base().saturating_add(i64::try_from(size).unwrap_or(i64::MAX)));
    }
    Ok(last_valid(file, storage)?.map_or(0, |last| last.last_offset.saturating_add(1)))
}

/// The offset after the last whole batch by its header, however the segment ends after it; the first offset of the segment if there is none.
///
/// # Errors
/// `Io`, and that of a damaged header.
pub(super) fn end_by_headers(file: &SegmentFile, storage: &dyn Storage) -> Result<i64> {
    let (end, _) = SegmentLookup::new(file.clone()).end(storage)?;
    Ok(end.unwrap_or(file.base()))
}

/// The first offset of a segment by its first batch, past damage before it.
///
/// # Errors
/// `Io`.
pub(super) fn first_offset(file: &SegmentFile, storage: &dyn Storage) -> Result<Option<i64>> {
    SegmentLookup::new(file.clone()).first_offset(&OffsetRange { start: 0, end: None }, storage)
}
