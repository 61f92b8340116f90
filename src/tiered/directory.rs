//! Uploads as files of log directories.
//!
//! A directory with uploads has for each upload that is read `<stem>.log`, `.index`, `.timeindex` and `.txnindex`; the producer snapshot under
//! the offset after the segment, where a broker has it; and the newest `leader-epoch-checkpoint`. Other files are unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::error::{TieredError, TieredResult};
use super::file::{Content, TieredFile};
use super::manifest::Index;
use super::names::{CHECKPOINT, EPOCH_SUFFIXES, LOG, ObjectName, PartitionName, cut_name};
use super::objects::{SegmentObjects, without_ring};
use super::sidecars::Sidecars;
use super::upload::FoundUpload;
use super::uri::Uri;
use super::view::{UploadedSegment, View};
use super::virtual_file::File;
use crate::interrupt::Interrupt;
use crate::model::UploadOffsets;
use crate::stores::{Pending, PlaceEntry, StoreError, StoreErrorKind, in_background};
use crate::validate::Finding;
use crate::wire::as_u64;

/// Open a file, to read it by position: a segment, with the offsets that its batches must have, or an index of it.
///
/// # Errors
/// `Key` if a key is missing or wrong, `Undecided`; `NotFound` and others of the store.
pub fn open(uri: &Uri, interrupt: &Interrupt) -> TieredResult<TieredFile> {
    let file = File::of(uri);
    if file.is_log() {
        return file.log(interrupt);
    }
    let virtual_bytes = match file.objects(interrupt).and_then(|objects| file.bytes(objects.as_ref(), interrupt)) {
        Err(TieredError::Manifest(_)) => {
            return Err(StoreError::new(StoreErrorKind::NotFound, uri.place.to_string(), "no such file or directory").into());
        }
        bytes => bytes?,
    };
    if let Some(bytes) = virtual_bytes {
        return Ok(TieredFile::new(Content::Memory(bytes)));
    }
    let opened = TieredFile::new(Content::Plain(uri.place.open(interrupt)?));
    Ok(match uri.layouts.segment(&file.name) {
        Some(name) => opened.with_offsets(UploadOffsets { start: name.base_offset, end: None }),
        None => opened,
    })
}

/// Opens a file without a key ring. All uploads of the directory decide what is read of a damaged one, which may need the ring.
///
/// # Errors
/// As `open`, and `Key` for a segment with a damaged manifest.
pub(super) fn open_ahead(uri: &Uri, interrupt: &Interrupt) -> TieredResult<TieredFile> {
    let file = open(uri, interrupt)?;
    if matches!(file.content(), Content::Lost(_)) { Err(TieredError::Key(uri.place.to_string())) } else { Ok(file) }
}

/// Begin to open a log in a store, and to fetch the chunk at its end.
///
/// # Errors
/// Those of the key ring. An error of the answer may be one of a key that only the caller has.
pub fn begin_end(uri: &Uri) -> TieredResult<Pending<TieredResult<TieredFile>>> {
    let uri = without_ring(uri)?;
    let pending = in_background(&uri.place.to_string(), move |interrupt| {
        let file = open_ahead(&uri, interrupt)?;
        // The error of a damaged chunk is that of the look-up that reads it.
        let _ = file.read(file.size().saturating_sub(1), 1, false, interrupt);
        Ok(file)
    });
    Ok(pending?)
}

/// Begin to read a small file of a store; see `read`.
///
/// # Errors
/// As `begin_end`.
pub fn begin_read(uri: &Uri, most: u64) -> TieredResult<Pending<TieredResult<Option<Bytes>>>> {
    let uri = without_ring(uri)?;
    Ok(in_background(&uri.place.to_string(), move |interrupt| read(&uri, most, interrupt))?)
}

/// Return the bytes of a small file, at most `most` of them; `None` if there is no such file. An index that cannot be decrypted counts as
/// missing: reads continue without it.
///
/// # Errors
/// As `open`.
pub fn read(uri: &Uri, most: u64, interrupt: &Interrupt) -> TieredResult<Option<Bytes>> {
    read_within(&File::of(uri), most, interrupt)
}

/// Reads a small file; see `read`.
fn read_within(file: &File<'_>, most: u64, interrupt: &Interrupt) -> TieredResult<Option<Bytes>> {
    let uri = file.uri;
    if file.is_log() {
        return file.log(interrupt)?.read(0, most, false, interrupt).map(|part| Some(part.bytes));
    }
    let found = file.objects(interrupt).and_then(|objects| {
        let bytes = file.bytes(objects.as_ref(), interrupt)?;
        if bytes.is_none() && objects.is_none() { Ok(uri.place.read(most, interrupt)?) } else { Ok(bytes) }
    });
    match found {
        Err(TieredError::Chunk(_) | TieredError::Manifest(_)) => Ok(None),
        found => Ok(found?.map(|bytes| bytes.slice(..bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX))))),
    }
}

impl Sidecars {
    /// Return the files and directories, by name.
    ///
    /// # Errors
    /// As `entries`.
    pub fn entries(&self, interrupt: &Interrupt) -> TieredResult<Vec<PlaceEntry>> {
        entries_of(&self.view, &self.directory, interrupt)
    }

    /// Return the bytes of a small file of the directory, at most `most` of them; see `read`.
    ///
    /// # Errors
    /// As `read`.
    pub fn read(&self, file: &Uri, most: u64, interrupt: &Interrupt) -> TieredResult<Option<Bytes>> {
        read_within(&File::known(file, self), most, interrupt)
    }

    /// Begin to read a small file; see `read`.
    ///
    /// # Errors
    /// Those of the key ring. An error of the answer may be one of a key that only the caller has.
    pub fn begin(self: &Arc<Self>, file: &Uri, most: u64) -> TieredResult<Pending<TieredResult<Option<Bytes>>>> {
        let manifest = self.manifest_behind(&file.place.name())?;
        let keys = file.keys.without_ring(manifest.and_then(|manifest| manifest.encryption.as_ref()), &file.place.to_string())?;
        let (own, file) = (Arc::clone(self), Uri { keys, ..file.clone() });
        Ok(in_background(&file.place.to_string(), move |interrupt| own.read(&file, most, interrupt))?)
    }
}

/// Return the content of a directory, by name.
///
/// # Errors
/// `Undecided` if two uploads overlap and have different records; those of the store.
pub fn entries(uri: &Uri, interrupt: &Interrupt) -> TieredResult<Vec<PlaceEntry>> {
    entries_of(&*View::of(uri, None, false, interrupt)?, uri, interrupt)
}

/// Returns the content of a directory by its view; see `entries`.
fn entries_of(view: &View, uri: &Uri, interrupt: &Interrupt) -> TieredResult<Vec<PlaceEntry>> {
    if let Some(known) = view.entries.get() {
        return Ok(known.clone());
    }
    let others = view.listed.values().filter(|entry| entry.is_directory || uri.layouts.object_in(&uri.place, &entry.name).is_none());
    let mut found: BTreeMap<String, PlaceEntry> = others.map(|entry| (entry.name.clone(), entry.clone())).collect();
    let mut add = |name: String, size: u64| {
        let entry = PlaceEntry::of_bytes(name.clone(), size);
        found.entry(name).or_insert(entry);
    };
    if !view.found.is_empty() {
        for candidate in view.read()? {
            sizes(uri, candidate, view, interrupt)?.into_iter().for_each(|(name, size)| add(name, size));
        }
        view.snapshots()?.keys().for_each(|offset| add(format!("{offset:020}.snapshot"), 0));
        let has_epochs = |candidate: &FoundUpload| {
            candidate.manifest.is_some() || EPOCH_SUFFIXES.iter().any(|suffix| candidate.suffixes.contains(*suffix))
        };
        if view.newest()?.is_some_and(has_epochs) {
            add(CHECKPOINT.to_owned(), 0);
        }
    }
    Ok(view.entries.get_or_init(|| found.into_values().collect()).clone())
}

/// Return the entry of a path.
///
/// # Errors
/// `NotFound`, and as `open`.
pub fn entry(uri: &Uri, interrupt: &Interrupt) -> TieredResult<PlaceEntry> {
    let file = File::of(uri);
    if file.is_log() {
        let entry = uri.place.entry(interrupt)?;
        let name = cut_name(&file.name, uri.before);
        let size = if entry.is_directory { entry.size } else { file.log(interrupt)?.size() };
        return Ok(PlaceEntry { name, size, ..entry });
    }
    match file.objects(interrupt).and_then(|objects| file.bytes(objects.as_ref(), interrupt))? {
        Some(bytes) => Ok(PlaceEntry::of_bytes(cut_name(&file.name, uri.before), as_u64(bytes.len()))),
        None => Ok(uri.place.entry(interrupt)?),
    }
}

/// Return the uploads of a directory that are read, and findings of those that are not read, or not to their end. `listed` are the files of the
/// directory, if it was listed already.
///
/// # Errors
/// `Undecided` if two uploads overlap and have different records; those of the store.
pub fn segments_in(
    directory: &Uri,
    listed: Option<Vec<PlaceEntry>>,
    interrupt: &Interrupt,
) -> TieredResult<(Vec<UploadedSegment>, Vec<Finding>)> {
    let view = View::of(directory, listed, true, interrupt)?;
    let segment = |candidate: &FoundUpload| {
        let PartitionName { topic, partition, .. } = candidate.upload.partition.clone();
        let (before, base_offset) = (candidate.before(), candidate.upload.base_offset);
        let size = candidate.upload.size.filter(|_| before.is_none() || candidate.is_closed);
        UploadedSegment { name: cut_name(&format!("{}.{LOG}", candidate.stem()), before), topic, partition, base_offset, size }
    };
    Ok((view.read()?.into_iter().map(segment).collect(), view.findings()))
}

/// Return the name that a broker gives a file of an upload, and the id of its topic if the name of a directory has it; `None` for any other
/// file.
pub fn local_name(file: &Uri) -> Option<(String, Option<String>)> {
    let directory = file.place.parent();
    let ObjectName { base_offset, suffix, .. } = file.layouts.object_in(&directory, &file.place.name())?;
    Some((format!("{base_offset:020}.{suffix}"), file.layouts.partition(&directory).topic_id))
}

/// Return the paths of the indexes of a log that its manager need not store, and that are not there: Pinterest's uploader stores no transaction
/// index (TS-82), and no index is required of a layout of the user (TS-85).
///
/// # Errors
/// Those of the store.
pub fn absent_indexes(log: &Uri, interrupt: &Interrupt) -> TieredResult<Vec<String>> {
    let file = File::of(log);
    let path = |stem: &str, index: Index| file.directory.join(&format!("{stem}.{}", index.suffix())).to_string();
    let Some(parts) = &file.parts else {
        let name = log.layouts.segment(&file.name);
        return Ok(name.map(|name| path(&name.stem, Index::Transaction)).into_iter().collect());
    };
    if log.layouts.has_manifests() {
        return Ok(Vec::new());
    }
    let view = file.view(interrupt)?;
    let is_absent = |index: &Index| !view.listed.contains_key(&format!("{}.{}", parts.stem, index.suffix()));
    let indexes = [Index::Offset, Index::Timestamp, Index::Transaction].into_iter().filter(is_absent);
    Ok(indexes.map(|index| path(&parts.stem, index)).collect())
}

/// Return the upload with its log at a path; `None` for any other file. An upload without a valid manifest fails when it is read.
///
/// # Errors
/// Those of the store.
pub fn segment_at(log: &Uri, interrupt: &Interrupt) -> TieredResult<Option<UploadedSegment>> {
    let file = File::of(log);
    let Some(parts) = file.parts.clone().filter(|parts| parts.suffix == LOG) else { return Ok(None) };
    let (name, base_offset, whole) = (cut_name(&file.name, log.before), parts.base_offset, log.before.is_none());
    let named = log.layouts.partition(&file.directory);
    let of_directory =
        |size| UploadedSegment { name: name.clone(), topic: named.topic.clone(), partition: named.partition, base_offset, size };
    match file.objects(interrupt) {
        Ok(Some(objects)) => {
            let size = Some(objects.manifest.chunks.file_size).filter(|_| whole);
            let Some(segment) = &objects.manifest.segment else { return Ok(Some(of_directory(size))) };
            let (topic, partition) = (Some(segment.topic.clone()), Some(segment.partition));
            Ok(Some(UploadedSegment { name, topic, partition, base_offset, size }))
        }
        Err(TieredError::Manifest(_)) => Ok(Some(of_directory(None))),
        // An object of a layout without manifests, or of an unfinished upload.
        Ok(None) => {
            let size = if whole { Some(log.place.entry(interrupt)?.size) } else { None };
            Ok(Some(of_directory(size)))
        }
        Err(error) => Err(error),
    }
}

/// Returns the names and sizes of the files of an upload.
fn sizes(uri: &Uri, candidate: &FoundUpload, view: &View, interrupt: &Interrupt) -> TieredResult<Vec<(String, u64)>> {
    let stem = candidate.stem();
    let (log, size) = (format!("{stem}.{LOG}"), candidate.upload.size.unwrap_or(0));
    let listed = |name: &String| view.listed.get(name).map(|entry| entry.size);
    if candidate.is_lost {
        let size = listed(&log).unwrap_or(0);
        return Ok(vec![(log, size)]);
    }
    if candidate.is_closed {
        return Ok(vec![(cut_name(&log, candidate.before()), size)]);
    }
    let names = [Index::Offset, Index::Timestamp, Index::Transaction].map(|index| (index, format!("{stem}.{}", index.suffix())));
    if let Some(before) = candidate.before() {
        let whole = std::iter::once(log).chain(names.into_iter().map(|(_, name)| name));
        return cut_sizes(uri, before, whole, interrupt);
    }
    let mut sizes = vec![(log, size)];
    match candidate.manifest.as_ref().filter(|manifest| manifest.parts.is_some()) {
        None => sizes.extend(names.into_iter().filter_map(|(_, name)| Some((name.clone(), listed(&name)?)))),
        Some(manifest) => {
            let objects = SegmentObjects::open(&uri.place, &candidate.name, &uri.keys, Some(Arc::clone(manifest)), interrupt)?;
            sizes.extend(names.into_iter().filter_map(|(index, name)| Some((name, objects.index_size(index)?))));
        }
    }
    Ok(sizes)
}

fn cut_sizes(uri: &Uri, before: i64, names: impl Iterator<Item = String>, interrupt: &Interrupt) -> TieredResult<Vec<(String, u64)>> {
    let mut sizes = Vec::new();
    for name in names {
        let size = match open(&uri.at(uri.place.join(&name)).cut_before(Some(before)), interrupt) {
            Ok(file) => file.size(),
            // It exists and cannot be decrypted.
            Err(TieredError::Chunk(_)) => 0,
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(error),
        };
        sizes.push((cut_name(&name, Some(before)), size));
    }
    Ok(sizes)
}
