//! The segments of one directory: what follows each of them, and which offsets the names allow it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::folder::{SegmentFolder, in_reading_order, is_segment};
use super::interrupted::with_swaps;
use super::names::SegmentName;
use super::storage::is_io;
use super::{Listing, SegmentFile, Storage};
use crate::decode::OffsetRange;
use crate::error::Result;

/// Add the offsets from the names of the segments of each directory, and the offset of the next segment.
pub fn with_offsets(mut files: Vec<SegmentFile>, storage: &dyn Storage) -> Vec<SegmentFile> {
    let mut starts: HashMap<(PathBuf, bool), Vec<i64>> = HashMap::new();
    for file in &files {
        if let Some(start) = named_start(file, storage) {
            starts.entry((file.directory(), file.is_of_0_7())).or_default().push(start);
        }
    }
    starts.values_mut().for_each(|own| own.sort_unstable());
    for file in &mut files {
        let Some(start) = named_start(file, storage) else { continue };
        let own = starts.get(&(file.directory(), file.is_of_0_7())).map(Vec::as_slice).unwrap_or_default();
        let next = own.get(own.partition_point(|other| *other <= start)).copied();
        file.offsets = if file.is_of_0_7() { None } else { Some(OffsetRange { start, end: next }) };
        file.next_offset = next;
    }
    files
}

/// All segments of the directory of a segment; the segment alone if its name is not a segment's name.
///
/// # Errors
/// If the directory cannot be listed.
pub fn segments_of_directory(segment: &SegmentFile, storage: &dyn Storage) -> Result<Vec<SegmentFile>> {
    if segment.base_offset.is_none() {
        return Ok(vec![segment.clone()]);
    }
    let directory = segment.directory();
    if storage.layout_of(&segment.path).is_some() {
        return uploads_of_directory(segment, &directory, storage);
    }
    let folder = SegmentFolder::of(&directory, storage);
    let named = |listing: &Listing| {
        // A link without a target is a segment: whoever opens it raises the error.
        let entries = listing.files.iter().chain(listing.broken.iter().map(|(entry, _)| entry));
        entries.filter(|entry| is_segment(&entry.name)).map(|entry| folder.segment(entry)).collect()
    };
    let mut found = with_swaps(&folder, &storage.list(&directory)?, &named, storage, None)?;
    if !storage.is_stored(&segment.path) {
        // A path without a directory has none here either.
        let above = segment.path.parent().unwrap_or_else(|| Path::new(""));
        found.iter_mut().for_each(|file| file.path = above.join(file.path.file_name().unwrap_or_default()));
    }
    in_reading_order(&mut found, storage);
    Ok(with_offsets(found, storage))
}

/// All segments of a directory with the layout of a template.
fn uploads_of_directory(segment: &SegmentFile, directory: &Path, storage: &dyn Storage) -> Result<Vec<SegmentFile>> {
    let objects = storage.untiered(directory);
    let (uploads, _) = storage.uploads(&objects, Some(&segment.path), &storage.list(&objects)?.files)?;
    let mut found: Vec<SegmentFile> = uploads.into_iter().map(SegmentFile::from).collect();
    found.iter_mut().for_each(|file| file.path = storage.joined(directory, &file.name()));
    in_reading_order(&mut found, storage);
    Ok(found)
}

/// A segment that was named itself, with the offsets that the names in its directory allow, and with the next segment. It stays as it is if
/// its directory cannot be listed, or does not have it.
///
/// # Errors
/// When the work is to stop.
pub fn with_neighbours(segment: &SegmentFile, storage: &dyn Storage) -> Result<SegmentFile> {
    let found = match segments_of_directory(segment, storage) {
        Err(error) if is_io(&error) => Vec::new(),
        found => found?,
    };
    let own = found.into_iter().find(|file| file.path == segment.path);
    Ok(own.map_or_else(|| segment.clone(), |own| SegmentFile { offsets: own.offsets, next_offset: own.next_offset, ..segment.clone() }))
}

/// The offset in the name of a segment, a position for Kafka 0.7; `None` if names do not say which offsets are in it.
fn named_start(file: &SegmentFile, storage: &dyn Storage) -> Option<i64> {
    let is_plain = SegmentName::parse(&file.name()).is_some_and(|name| name.id.is_none());
    file.base_offset.filter(|_| is_plain && !storage.is_uploaded(&file.path))
}
