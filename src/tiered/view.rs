//! The uploads of directories: which are read, and under which names.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::cache::Cache;
use super::error::TieredResult;
use super::layout::UploadLayout;
use super::names::SNAPSHOT_SUFFIXES;
use super::overlaps::{ensure_decided, with_states};
use super::upload::{FoundUpload, Upload, UploadState, uploads_in};
use super::uri::Uri;
use crate::interrupt::Interrupt;
use crate::stores::{PlaceEntry, StoragePlace};
use crate::validate::Finding;

/// A view is kept for this many times the time that it took to make. So a new look costs less than a tenth of the time.
const KEPT_TIMES: u32 = 10;
/// Views that are kept.
const MOST_KEPT: u64 = 16;

/// The directory, and the texts of the keys and of the layouts.
type ViewKey = (StoragePlace, Arc<str>, Arc<str>);
static VIEWS: Cache<ViewKey, (Instant, Arc<View>)> = Cache::new(MOST_KEPT, |_| 1);

/// An uploaded segment: the name under which it is read, topic, partition, offset and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedSegment {
    /// The name of its log, with the offset before which it ends if it is not read to its end.
    pub name: String,
    /// The topic, if it is known.
    pub topic: Option<String>,
    /// The partition, if it is known.
    pub partition: Option<i32>,
    /// The first offset.
    pub base_offset: i64,
    /// Bytes, if they are known.
    pub size: Option<u64>,
}

/// The content of a directory with uploads.
#[derive(Debug)]
pub(super) struct View {
    /// Its files and directories, by name.
    pub(super) listed: BTreeMap<String, PlaceEntry>,
    pub(super) found: Vec<FoundUpload>,
    /// The content as a log directory, after it was first asked for.
    pub(super) entries: OnceLock<Vec<PlaceEntry>>,
}

impl View {
    /// Returns the content of the directory of a URI. A reader of a partition opens many of its files, so a view is kept for a short time, unless the
    /// directory `is_anew` to be looked at, as at the beginning of a read. `listed` are its files, if it was listed just now.
    pub(super) fn of(uri: &Uri, listed: Option<Vec<PlaceEntry>>, is_anew: bool, interrupt: &Interrupt) -> TieredResult<Arc<Self>> {
        let Uri { place: directory, keys, layouts, .. } = uri;
        let key = (directory.clone(), Arc::clone(keys.text()), Arc::clone(layouts.text()));
        if let Some((until, view)) = VIEWS.get(&key).filter(|_| listed.is_none() && !is_anew)
            && Instant::now() < until
        {
            return Ok(view);
        }
        let (begun, is_listed) = (Instant::now(), listed.is_some());
        let content = listed.map_or_else(|| directory.entries(interrupt), Ok)?;
        let is_uploaded = content.iter().any(|entry| layouts.object_in(directory, &entry.name).is_some_and(|name| name.is_upload()));
        let found = if is_uploaded { uploads_in(directory, &content, layouts, interrupt)? } else { Vec::new() };
        let found = with_states(directory, found, keys, interrupt)?;
        let listed = content.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let view = Arc::new(Self { listed, found, entries: OnceLock::new() });
        if !is_listed {
            let took: Duration = begun.elapsed();
            VIEWS.put(key, (Instant::now() + took * KEPT_TIMES, Arc::clone(&view)));
        }
        Ok(view)
    }

    /// Returns the uploads that are read.
    ///
    /// # Errors
    /// `Undecided` if two uploads overlap and have different records.
    pub(super) fn read(&self) -> TieredResult<Vec<&FoundUpload>> {
        ensure_decided(&self.found)
    }

    /// Returns the uploads with a producer snapshot, by its offset, which is the offset after the segment (TS-38, TS-43).
    pub(super) fn snapshots(&self) -> TieredResult<BTreeMap<i64, &FoundUpload>> {
        let read = self.read()?;
        let mut offsets = BTreeMap::new();
        for (at, candidate) in read.iter().enumerate() {
            let has_snapshot = candidate.manifest.is_some() || SNAPSHOT_SUFFIXES.iter().any(|suffix| candidate.suffixes.contains(*suffix));
            if candidate.is_lost || candidate.before().is_some() || !has_snapshot {
                continue;
            }
            let following = read.get(at + 1).map(|following| following.upload.base_offset.saturating_sub(1));
            if let Some(end) = candidate.last_offset().or(following) {
                offsets.insert(end.saturating_add(1), *candidate);
            }
        }
        Ok(offsets)
    }

    /// Returns the last upload that is read whole: the checkpoint of a cut upload may belong to another log.
    pub(super) fn newest(&self) -> TieredResult<Option<&FoundUpload>> {
        Ok(self.read()?.into_iter().rev().find(|candidate| !candidate.is_lost && candidate.before().is_none()))
    }

    /// Findings of the uploads that are not read, or not to their end.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.found.iter().filter_map(|candidate| candidate.finding.clone()).collect()
    }
}

/// Return all uploads below a directory, those that are read and those that are not. The segments of Pinterest's uploader, in directories with
/// its file `offset.wm`, are finished uploads without ids.
///
/// # Errors
/// Those of the store.
pub fn uploads(base: &Uri, interrupt: &Interrupt) -> TieredResult<Vec<Upload>> {
    if !base.place.entry(interrupt)?.is_directory {
        return Ok(Vec::new());
    }
    let mut uploads = Vec::new();
    for (directory, entries) in base.place.walk(interrupt)? {
        let files: Vec<PlaceEntry> = entries.into_iter().filter(|entry| !entry.is_directory).collect();
        for layout in base.layouts.uploaded_once().filter(|layout| layout.is_in(&directory, &files)) {
            uploads.extend(files.iter().filter_map(|file| named_upload(&directory, file, layout)));
        }
        if files.iter().any(|file| base.layouts.object_in(&directory, &file.name).is_some()) {
            let view = View::of(&base.at(directory), Some(files), true, interrupt)?;
            uploads.extend(view.found.iter().map(|candidate| candidate.upload.clone()));
        }
    }
    Ok(uploads)
}

/// The upload of a segment of which only the name is known.
fn named_upload(directory: &StoragePlace, file: &PlaceEntry, layout: &dyn UploadLayout) -> Option<Upload> {
    let name = layout.object(&file.name)?;
    Some(Upload {
        path: directory.join(&file.name).to_string(),
        partition: layout.partition(directory),
        base_offset: name.base_offset,
        segment_id: name.segment_id,
        end_offset: None,
        size: Some(file.size),
        state: UploadState::Finished,
        reason: String::new(),
        last_read: None,
    })
}
