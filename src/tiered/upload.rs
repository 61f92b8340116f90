//! The uploads in a directory of objects, each as its own objects describe it (TS-8, TS-40, TS-44).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cache::Cache;
use super::error::{TieredError, TieredResult};
use super::file::{Content, TieredFile};
use super::layout::Layouts;
use super::manifest::{Index, Manifest};
use super::names::{EPOCH_SUFFIXES, INDEXES, LOG, MANIFEST, ObjectName, PartitionName};
use super::objects::{MOST_INDEX, read_manifest};
use super::several::asked;
use super::valid_batches::{ValidEnd, valid_end};
use crate::interrupt::Interrupt;
use crate::sidecar::{OffsetEntry, checkpoint, offset_index};
use crate::stores::{PlaceEntry, StoragePlace};
use crate::validate::Finding;

const MOST_CHECKPOINT: u64 = 1 << 24;
/// Spans that are kept.
const MOST_KEPT: u64 = 4096;

/// The object, its version, and the offset of its name.
type NamedVersion = (StoragePlace, (u64, String), i64);
static SPANS: Cache<NamedVersion, (UploadSpan, ValidEnd)> = Cache::new(MOST_KEPT, |_| 1);

/// What is done with an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadState {
    /// It is read.
    Finished,
    /// Another upload holds the same records.
    Duplicate,
    /// The newest checkpoint of the partition has other leader epochs for its offsets.
    Superseded,
    /// Objects are missing.
    Unfinished,
    /// Its manifest cannot be read.
    Damaged,
}

impl UploadState {
    /// `"finished"` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Duplicate => "duplicate",
            Self::Superseded => "superseded",
            Self::Unfinished => "unfinished",
            Self::Damaged => "damaged",
        }
    }
}

/// One upload of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Upload {
    /// Its log, as people may see its name.
    pub path: String,
    /// Of its manifest, or else of the names of its directories.
    pub partition: PartitionName,
    /// Of its name.
    pub base_offset: i64,
    /// Of its name; empty for Pinterest's uploader, which adds no id.
    pub segment_id: String,
    /// The last offset, if it is known.
    pub end_offset: Option<i64>,
    /// Bytes of the segment, if they are known.
    pub size: Option<u64>,
    /// What is done with it.
    pub state: UploadState,
    /// Why the upload, or the rest of it, is not read; empty for an upload that is read whole. A finished upload has a reason too if a key is
    /// missing that is needed to find its last offset.
    pub reason: String,
    /// The last offset that is read of it, if another upload holds the offsets after.
    pub last_read: Option<i64>,
}

/// The offsets of an upload, the leader epochs by first offset, and the time of the upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UploadSpan {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) epochs: Vec<(i64, i32)>,
    pub(super) written: i64,
}

impl UploadSpan {
    fn ending(self, end: i64) -> Self {
        let end = end.max(self.start);
        let epochs = self.epochs.into_iter().filter(|(first, _)| *first <= end).collect();
        Self { end, epochs, ..self }
    }
}

/// An upload with what is needed to read it.
#[derive(Clone, Debug)]
pub struct FoundUpload {
    /// What people see of it.
    pub upload: Upload,
    pub(super) name: ObjectName,
    pub(super) manifest: Option<Arc<Manifest>>,
    /// The suffixes of its objects.
    pub(super) suffixes: BTreeSet<String>,
    /// Its offsets and their leader epochs, where they are known.
    pub(super) span: Option<UploadSpan>,
    /// The rule that is broken.
    pub(super) rule: &'static str,
    /// The upload cannot be read, and no other upload has its offsets: every read of this segment fails.
    pub(super) is_lost: bool,
    /// Every read fails, because a missing key decides whether and how far the upload is read.
    pub(super) is_closed: bool,
    /// The path of an overlapping upload with different records.
    pub(super) rival: Option<String>,
    /// Why the upload is not read, or only in part.
    pub(super) finding: Option<Finding>,
}

impl FoundUpload {
    pub(super) fn stem(&self) -> String {
        self.name.stem.clone()
    }

    /// True if it is a segment of the log.
    pub(super) fn is_read(&self) -> bool {
        self.upload.state == UploadState::Finished || self.is_lost
    }

    /// The first offset that is not read of it; `None` for an upload that is read whole.
    pub(super) fn before(&self) -> Option<i64> {
        if self.is_closed { Some(self.upload.base_offset) } else { self.upload.last_read.map(|last| last.saturating_add(1)) }
    }

    /// The last offset that is read of it, if it is known.
    pub(super) fn last_offset(&self) -> Option<i64> {
        self.upload.last_read.or_else(|| self.span.as_ref().map(|span| span.end))
    }
}

/// Returns the uploads of a directory with these files, in the order of their offsets.
///
/// # Errors
/// Those of the store.
pub(super) fn uploads_in(
    directory: &StoragePlace,
    entries: &[PlaceEntry],
    layouts: &Layouts,
    interrupt: &Interrupt,
) -> TieredResult<Vec<FoundUpload>> {
    let mut objects: BTreeMap<(i64, String), (ObjectName, BTreeMap<String, PlaceEntry>)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.is_directory) {
        if let Some(name) = layouts.object_in(directory, &entry.name) {
            let (key, suffix) = ((name.base_offset, name.stem.clone()), name.suffix.clone());
            objects.entry(key).or_insert_with(|| (name, BTreeMap::new())).1.insert(suffix, entry.clone());
        }
    }
    let own: Vec<_> = objects.into_values().collect();
    let manifests = asked(directory.is_stored(), &own, interrupt, |(_, own), interrupt| {
        let Some(entry) = own.get(MANIFEST).filter(|_| layouts.has_manifests()) else { return Ok(None) };
        match read_manifest(&directory.join(&entry.name), entry, interrupt) {
            Ok(manifest) => Ok(Some(Ok(manifest))),
            Err(TieredError::Manifest(error)) => Ok(Some(Err(error))),
            Err(error) => Err(error),
        }
    })?;
    let found = own.iter().zip(manifests).filter_map(|((name, own), manifest)| found(directory, layouts, (name, own), manifest));
    let mut found: Vec<FoundUpload> = found.collect();
    // Those of Kafka's LocalTieredStorage (TS-62) and of a template have no manifest with offsets.
    let spans = asked(directory.is_stored(), &found, interrupt, |candidate, interrupt| {
        let is_plain = candidate.upload.state == UploadState::Finished && candidate.manifest.is_none();
        let entry = own.iter().find(|(name, _)| is_plain && name.stem == candidate.name.stem).and_then(|(_, own)| own.get(LOG));
        entry.map(|entry| local_span(directory, candidate, entry, interrupt)).transpose()
    })?;
    let mut bases: Vec<i64> = found.iter().map(|candidate| candidate.upload.base_offset).collect();
    bases.sort_unstable();
    for (candidate, span) in found.iter_mut().zip(spans) {
        if let Some((span, end)) = span {
            candidate.span = Some(certain_span(span, end, &bases));
        }
    }
    Ok(found)
}

/// Returns the leader epochs and first offsets in the checkpoint of an upload without a manifest; none if it has no valid checkpoint.
///
/// # Errors
/// Those of the store.
pub(super) fn local_epochs(directory: &StoragePlace, candidate: &FoundUpload, interrupt: &Interrupt) -> TieredResult<Vec<(i32, i64)>> {
    let Some(suffix) = EPOCH_SUFFIXES.into_iter().find(|suffix| candidate.suffixes.contains(*suffix)) else { return Ok(Vec::new()) };
    let bytes = directory.join(&format!("{}.{suffix}", candidate.stem())).read(MOST_CHECKPOINT, interrupt)?;
    Ok(epochs_in(&bytes.unwrap_or_default()))
}

/// The leader epochs and first offsets in the bytes of a checkpoint; none if it is damaged.
pub(super) fn epochs_in(bytes: &[u8]) -> Vec<(i32, i64)> {
    let parsed = checkpoint::parse_epochs(bytes);
    if parsed.is_valid() { parsed.entries.iter().map(|entry| (entry.epoch, entry.start_offset)).collect() } else { Vec::new() }
}

/// The entries of a sound `.index`; none of a damaged one.
pub(super) fn offsets_in(bytes: &[u8], base_offset: i64) -> Vec<OffsetEntry> {
    let parsed = offset_index::parse(bytes, base_offset);
    if parsed.is_valid() { parsed.entries } else { Vec::new() }
}

type MaybeManifest = Option<std::result::Result<Arc<Manifest>, Box<super::error::ManifestError>>>;

fn found(
    directory: &StoragePlace,
    layouts: &Layouts,
    (name, own): (&ObjectName, &BTreeMap<String, PlaceEntry>),
    manifest: MaybeManifest,
) -> Option<FoundUpload> {
    let layout = layouts.of_upload(directory, &|suffix| own.contains_key(suffix))?;
    let (is_read, known) = (manifest.is_some(), manifest.as_ref().and_then(|manifest| manifest.as_ref().ok()).cloned());
    let mut upload = described(directory, name, known.as_deref(), || layout.partition(directory));
    let mut missing: Vec<&str> = layout.needed().iter().copied().filter(|suffix| !own.contains_key(*suffix)).collect();
    let parts = known.as_ref().and_then(|manifest| manifest.parts.as_ref());
    if parts.is_some_and(|parts| parts.values().any(|part| part.size > 0)) && !own.contains_key(INDEXES) {
        missing.push(INDEXES);
    }
    let mut rule = "";
    if !missing.is_empty() {
        (rule, upload.state) = ("TS-8", UploadState::Unfinished);
        upload.reason = format!("unfinished, or being deleted: no .{}", missing.join(" and no ."));
    } else if let Some(Err(error)) = manifest {
        (rule, upload.state) = (error.rule, UploadState::Damaged);
        upload.reason = error.text.strip_prefix(&format!("{directory}/")).unwrap_or(&error.text).to_owned();
    } else if !is_read {
        upload.size = own.get(LOG).map(|log| log.size);
    }
    let span = known.as_deref().and_then(span);
    let suffixes = own.keys().cloned().collect();
    let (is_lost, is_closed, rival, finding) = (false, false, None, None);
    Some(FoundUpload { upload, name: name.clone(), manifest: known, suffixes, span, rule, is_lost, is_closed, rival, finding })
}

fn described(directory: &StoragePlace, name: &ObjectName, manifest: Option<&Manifest>, named: impl FnOnce() -> PartitionName) -> Upload {
    let segment = manifest.and_then(|manifest| manifest.segment.as_ref());
    let partition = segment.map_or_else(named, |segment| PartitionName {
        topic: Some(segment.topic.clone()),
        topic_id: Some(segment.topic_id.clone()),
        partition: Some(segment.partition),
    });
    Upload {
        path: directory.join(&format!("{}.{LOG}", name.stem)).to_string(),
        partition,
        base_offset: name.base_offset,
        segment_id: name.segment_id.clone(),
        end_offset: segment.map(|segment| segment.end_offset),
        size: manifest.map(|manifest| manifest.chunks.file_size),
        state: UploadState::Finished,
        reason: String::new(),
        last_read: None,
    }
}

fn span(manifest: &Manifest) -> Option<UploadSpan> {
    let segment = manifest.segment.as_ref()?;
    let (start, end, written) = (segment.start_offset, segment.end_offset, segment.event_timestamp);
    Some(UploadSpan { start, end, epochs: segment.epochs.clone(), written })
}

/// Returns the offsets of a segment without a manifest, from its batches, and their leader epochs, from its checkpoint (TS-61).
///
/// A log without a valid batch has its first offset only, so that another upload with this offset is read in its place.
fn local_span(
    directory: &StoragePlace,
    candidate: &FoundUpload,
    entry: &PlaceEntry,
    interrupt: &Interrupt,
) -> TieredResult<(UploadSpan, ValidEnd)> {
    let place = directory.join(&entry.name);
    let base_offset = candidate.upload.base_offset;
    let version = (place.clone(), entry.version(), base_offset);
    if let Some(known) = SPANS.get(&version) {
        return Ok(known);
    }
    let index = directory.join(&format!("{}.{}", candidate.stem(), Index::Offset.suffix())).read(MOST_INDEX, interrupt)?;
    let log = TieredFile::new(Content::Plain(place.open(interrupt)?));
    let end = valid_end(&log, &offsets_in(&index.unwrap_or_default(), base_offset), interrupt)?;
    let end = end.unwrap_or(ValidEnd { offset: base_offset, certain: base_offset, last_base_offset: base_offset });
    let mut epochs: Vec<_> = local_epochs(directory, candidate, interrupt)?.into_iter().map(|(epoch, first)| (first, epoch)).collect();
    epochs.sort_unstable();
    let span = UploadSpan { start: base_offset, end: end.offset, epochs, written: -1 }.ending(end.offset);
    Ok(SPANS.put(version, (span, end)))
}

/// Ends the span before a last batch that skips the first offset of another upload: damage has changed its base offset.
fn certain_span(span: UploadSpan, end: ValidEnd, bases: &[i64]) -> UploadSpan {
    let is_skipped = bases.iter().any(|base| end.certain < *base && *base <= end.last_base_offset);
    if is_skipped { span.ending(end.certain) } else { span }
}
