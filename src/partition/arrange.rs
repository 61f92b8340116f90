//! The order of the segments of a partition by the offsets that they hold (SEG-1).

use super::storage::{AtDamage, Storage, WantedEnds, newly_near};
use super::{SegmentFile, SegmentLookup};
use crate::decode::OffsetRange;
use crate::error::Result;
use crate::log::{BatchTrust, Batches};
use crate::model::RecordFormat;
use crate::validate::Finding;

/// Return the segments of partitions in the order of the offsets that they hold.
///
/// A segment that contradicts its name gets the first offset of its batches as `base_offset`. Without `reports` it keeps the offsets that its
/// name allows, so that whoever reads it raises the error. With `reports` it gets the offsets that its batches prove, and the finding. In a
/// store the names alone count unless `reports` is set: asking each segment costs a request.
///
/// `files`: segments, those of one directory one after the other, as discovery returns them.
///
/// # Errors
/// `Interrupted`. A file that cannot be opened is for its reader to report.
pub fn order_by_offsets(files: &[SegmentFile], reports: bool, storage: &dyn Storage) -> Result<Vec<SegmentFile>> {
    let mut found = Vec::with_capacity(files.len());
    for own in files.chunk_by(|one, other| one.directory() == other.directory()) {
        found.extend(order_in_directory(own, reports, storage)?);
    }
    Ok(found)
}

/// Return a segment with the offsets that its batches prove, and the finding, if they contradict its name.
///
/// # Errors
/// As `order_by_offsets`.
pub fn proven(file: SegmentFile, storage: &dyn Storage) -> Result<SegmentFile> {
    let lookup = with_neighbour_bounds(&file);
    let first = first_offset(&lookup, storage)?;
    Ok(match misnamed(&lookup, first, None, storage)? {
        Some(finding) => with_proven_offsets(file, first, Some(finding), true),
        None => file,
    })
}

/// Return a segment without the upper bound of its offsets, unless it contradicts its name: for readers of a directory that a broker changes.
/// Its cleaner may merge the next segment into this one after the directory was listed.
#[must_use]
pub fn lower_bounded(file: SegmentFile) -> SegmentFile {
    match file.offsets {
        Some(offsets) if file.actual_offsets.is_none() => SegmentFile { offsets: Some(OffsetRange { end: None, ..offsets }), ..file },
        _ => file,
    }
}

fn order_in_directory(files: &[SegmentFile], reports: bool, storage: &dyn Storage) -> Result<Vec<SegmentFile>> {
    let mut asked = files.to_vec();
    for file in &mut asked {
        if !reports && storage.is_stored(&file.path) {
            file.offsets = None;
        }
    }
    let mut found = Vec::with_capacity(asked.len());
    for (number, file) in asked.iter().enumerate() {
        newly_near(&asked, number).iter().for_each(|next| expect(next, storage));
        let lookup = with_neighbour_bounds(file);
        let first = first_offset(&lookup, storage)?;
        found.push((first, misnamed(&lookup, first, files.get(number + 1), storage)?));
    }
    if found.iter().all(|(_, finding)| finding.is_none()) {
        return Ok(files.to_vec());
    }
    for ((file, following), (first, finding)) in asked.iter().zip(files.iter().skip(1).map(Some).chain([None])).zip(&mut found) {
        *first = first_message(file, *first, storage)?;
        *finding = misnamed(&with_neighbour_bounds(file), *first, following, storage)?;
    }
    let each = files.iter().zip(found);
    let mut placed: Vec<SegmentFile> =
        each.map(|(file, (first, finding))| with_proven_offsets(file.clone(), first, finding, reports)).collect();
    placed.sort_by_key(SegmentFile::base);
    let following: Vec<Option<i64>> = placed.iter().skip(1).map(|file| file.base_offset).collect();
    for (file, end) in placed.iter_mut().zip(&following) {
        file.next_offset = file.next_offset.or(*end);
    }
    if let Some(last) = placed.last_mut() {
        last.next_offset = None;
    }
    Ok(placed)
}

/// Begins to fetch what is asked about a segment.
fn expect(file: &SegmentFile, storage: &dyn Storage) {
    if let Some(allowed) = file.offsets {
        // The end of the last segment is not asked for.
        storage.expect(&file.path, WantedEnds { has_front: true, size: file.known_size.filter(|_| allowed.end.is_some()) });
    }
}

/// A segment of a partition in which one contradicts its name.
fn with_proven_offsets(file: SegmentFile, first: Option<i64>, finding: Option<Finding>, reports: bool) -> SegmentFile {
    let Some(finding) = finding else {
        // The name of the other one may be that of its next segment.
        let base_offset = first.or(file.base_offset);
        return lower_bounded(SegmentFile { base_offset, ..file });
    };
    let first = finding.base_offset.unwrap_or(0);
    let last = finding.last_offset.map_or(super::piece::LAST, |last| last.max(first));
    let proven = SegmentFile { base_offset: Some(first), actual_offsets: Some((first, last)), named: file.offsets, ..file };
    if reports { SegmentFile { offsets: None, finding: Some(finding), ..proven } } else { proven }
}

/// The finding of a segment that contradicts its name.
fn misnamed(lookup: &SegmentLookup, first: Option<i64>, following: Option<&SegmentFile>, storage: &dyn Storage) -> Result<Option<Finding>> {
    let file = &lookup.file;
    let (Some(allowed), Some(first)) = (file.offsets, first) else { return Ok(None) };
    if first >= allowed.start && allowed.end.is_none() {
        return Ok(None);
    }
    let finding = unless_unreadable(lookup.misnamed(first, &allowed, storage))?.flatten();
    // The cleaner of a broker has merged the next segment into this one since the directory was listed.
    let is_gone = |following: &SegmentFile| !storage.is_there(&following.path);
    let is_merged = finding.is_some() && first >= allowed.start && following.is_some_and(is_gone);
    Ok(finding.filter(|_| !is_merged || storage.is_stored(&file.path)))
}

/// Where the segment begins: the offset of a compressed message set, which is found first, is that of its last message.
fn first_message(file: &SegmentFile, first: Option<i64>, storage: &dyn Storage) -> Result<Option<i64>> {
    let found = unless_unreadable(
        storage
            .source(&file.path, 0, None, AtDamage::GoOn)
            .and_then(|source| Batches::new(source, BatchTrust::valid().resolving(), &storage.interrupt()).next_batch()),
    )?;
    let base = found.flatten().filter(|batch| batch.header.format < RecordFormat::V2).and_then(|batch| batch.base_offset);
    Ok(first.map(|first| base.map_or(first, |base| first.min(base))))
}

/// Where the segment begins. A file that cannot be opened is for its reader to report.
fn first_offset(lookup: &SegmentLookup, storage: &dyn Storage) -> Result<Option<i64>> {
    let Some(allowed) = lookup.file.offsets else { return Ok(None) };
    Ok(unless_unreadable(lookup.first_offset(&allowed, storage))?.flatten())
}

/// The look-ups of a file whose end is not that of a segment for certain.
fn with_neighbour_bounds(file: &SegmentFile) -> SegmentLookup {
    SegmentLookup::new(SegmentFile { next_offset: None, ..file.clone() })
}

/// `None` for an error of a file or of its bytes.
fn unless_unreadable<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.is_interrupted() => Err(error),
        found => Ok(found.ok()),
    }
}
