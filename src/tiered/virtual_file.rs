//! A file of a log directory, and the objects that it is read from.

use std::sync::Arc;

use bytes::Bytes;

use super::cache::Cache;
use super::error::{ManifestError, TieredError, TieredResult};
use super::file::{Content, LostFile, TieredFile};
use super::manifest::Index;
use super::names::{CHECKPOINT, EPOCH_SUFFIXES, LOG, MANIFEST, ObjectName, SNAPSHOT_SUFFIXES, snapshot_offset};
use super::objects::{MOST_INDEX, SegmentObjects};
use super::sidecars::{KnownManifest, Sidecars};
use super::upload::{FoundUpload, offsets_in};
use super::uri::Uri;
use super::valid_batches::first_reaching;
use super::view::View;
use crate::interrupt::Interrupt;
use crate::model::UploadOffsets;
use crate::sidecar::{offset_index, time_index, txn_index};
use crate::stores::{StoragePlace, StoreError, StoreErrorKind};

/// Cuts that are kept.
const MOST_KEPT: u64 = 4096;

/// The object, its version, and the offset of a cut.
type CutKey = (StoragePlace, String, Option<i64>);

/// Bytes of a log before a cut; `None` if it is not cut.
static CUTS: Cache<CutKey, Option<u64>> = Cache::new(MOST_KEPT, |_| 1);

/// A file of a log directory, and the object that it is read from.
pub(super) struct File<'a> {
    pub(super) uri: &'a Uri,
    pub(super) directory: StoragePlace,
    pub(super) name: String,
    pub(super) parts: Option<ObjectName>,
    /// What was read of the directory, if it is not looked at again.
    known: Option<&'a Sidecars>,
}

impl<'a> File<'a> {
    pub(super) fn of(uri: &'a Uri) -> Self {
        let name = uri.place.name();
        let directory = uri.place.parent();
        Self { uri, parts: uri.layouts.object_in(&directory, &name), directory, name, known: None }
    }

    /// The file of a directory of which the listing and the manifests were read.
    pub(super) fn known(uri: &'a Uri, sidecars: &'a Sidecars) -> Self {
        Self { known: Some(sidecars), ..Self::of(uri) }
    }

    pub(super) fn is_log(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.suffix == LOG)
    }

    /// The objects of the upload of this file; `None` if it belongs to none, or to one without a manifest.
    pub(super) fn objects(&self, interrupt: &Interrupt) -> TieredResult<Option<SegmentObjects>> {
        let is_of_segment = |parts: &&ObjectName| parts.suffix == LOG || Index::of_suffix(&parts.suffix).is_some();
        let parts = self.parts.as_ref().filter(is_of_segment).filter(|_| self.uri.layouts.has_manifests());
        let Some(parts) = parts else { return Ok(None) };
        let manifest = match self.known.map(|known| known.manifest_of(parts)) {
            Some(KnownManifest::Missing) => return Ok(None),
            Some(KnownManifest::Valid(manifest)) => Some(manifest),
            Some(KnownManifest::Unread) | None => None,
        };
        match SegmentObjects::open(&self.directory, parts, &self.uri.keys, manifest, interrupt) {
            Err(error) if error.is_missing() => Ok(None),
            found => found.map(Some),
        }
    }

    pub(super) fn view(&self, interrupt: &Interrupt) -> TieredResult<Arc<View>> {
        match self.known {
            Some(known) => Ok(Arc::clone(&known.view)),
            None => View::of(&self.uri.at(self.directory.clone()), None, false, interrupt),
        }
    }

    /// Opens a log, up to its cut.
    pub(super) fn log(&self, interrupt: &Interrupt) -> TieredResult<TieredFile> {
        let base_offset = self.parts.as_ref().map_or(0, |parts| parts.base_offset);
        if self.uri.before == Some(base_offset) {
            return Err(self.closed(interrupt)?);
        }
        let opened = self.objects(interrupt).and_then(|objects| {
            let content = match &objects {
                Some(objects) => Content::Chunks(Arc::new(objects.log(interrupt)?)),
                None => Content::Plain(self.uri.place.open(interrupt)?),
            };
            Ok((objects, TieredFile::new(content)))
        });
        let (objects, file) = match opened {
            Err(TieredError::Manifest(error)) => return self.lost(*error, base_offset, interrupt),
            opened => opened?,
        };
        let position = self.cut_position(&file, objects.as_ref(), base_offset, interrupt)?;
        let file = position.map_or(file.clone(), |position| file.up_to(position));
        // No checksum covers a base offset.
        let by_name = UploadOffsets { start: base_offset, end: None };
        Ok(file.with_offsets(objects.map_or(by_name, |objects| objects.manifest.offsets(base_offset))))
    }

    /// Returns the position of the first valid batch that reaches the offset of the cut; `None` if there is none.
    ///
    /// Segments and leader epochs begin with a batch. The offsets of a damaged batch are not trusted, so damage before the cut stays in the
    /// segment, and reading reports it.
    pub(super) fn cut_position(
        &self,
        log: &TieredFile,
        objects: Option<&SegmentObjects>,
        base_offset: i64,
        interrupt: &Interrupt,
    ) -> TieredResult<Option<u64>> {
        let Some(before) = self.uri.before else { return Ok(None) };
        let (size, version) = log.version();
        let key = (self.uri.place.clone(), format!("{size} {version}"), Some(before));
        if let Some(known) = CUTS.get(&key) {
            return Ok(known);
        }
        let index = match objects {
            Some(objects) => objects.index(Index::Offset, interrupt),
            None => self.sidecar(Index::Offset).read(MOST_INDEX, interrupt).map_err(TieredError::from),
        };
        let index = match index {
            Err(TieredError::Chunk(_)) => None,
            index => index?,
        };
        let by_name = UploadOffsets { start: base_offset, end: None };
        let allowed = objects.map_or(by_name, |objects| objects.manifest.offsets(base_offset));
        let found = first_reaching(log, &offsets_in(&index.unwrap_or_default(), base_offset), (allowed, before), interrupt)?;
        Ok(CUTS.put(key, found.map(|batch| batch.position)))
    }

    /// The error of an upload of which nothing is read, since a key is missing.
    pub(super) fn closed(&self, interrupt: &Interrupt) -> TieredResult<TieredError> {
        let view = self.view(interrupt)?;
        let closed = view.found.iter().find(|candidate| candidate.is_closed && format!("{}.{LOG}", candidate.stem()) == self.name);
        Ok(closed.map_or_else(
            // An upload was added or removed.
            || {
                let text = "the folder has changed; list it again";
                TieredError::Store(StoreError::new(StoreErrorKind::NotFound, self.uri.place.to_string(), text))
            },
            |candidate| TieredError::Key(candidate.upload.reason.clone()),
        ))
    }

    pub(super) fn lost(&self, error: ManifestError, first: i64, interrupt: &Interrupt) -> TieredResult<TieredFile> {
        let view = self.view(interrupt)?;
        let starts = view.found.iter().filter(|candidate| candidate.is_read()).map(|candidate| candidate.upload.base_offset);
        let following = starts.filter(|start| *start > first).min();
        let manifest = self.sidecar_named(MANIFEST).to_string();
        let size = self.uri.place.entry(interrupt)?.size;
        let lost = LostFile::new(error, manifest, size, first, following.map(|start| start.saturating_sub(1)));
        Ok(TieredFile::new(Content::Lost(Arc::new(lost))))
    }

    /// Returns the bytes of a file that is not an object itself, or that is cut; `None` for any other name.
    pub(super) fn bytes(&self, objects: Option<&SegmentObjects>, interrupt: &Interrupt) -> TieredResult<Option<Bytes>> {
        let of_segment = self.parts.as_ref().and_then(|parts| Some((parts, Index::of_suffix(&parts.suffix)?)));
        if let Some((parts, index)) = of_segment.filter(|_| objects.is_some() || self.uri.before.is_some()) {
            let data = match objects {
                Some(objects) => objects.index(index, interrupt)?,
                None => self.uri.place.read(MOST_INDEX, interrupt)?,
            };
            return Ok(match (data, self.uri.before) {
                (Some(data), Some(before)) => Some(data.slice(..len_before(index, &data, parts.base_offset, before).min(data.len()))),
                (data, _) => data,
            });
        }
        let offset = snapshot_offset(&self.name);
        if offset.is_none() && self.name != CHECKPOINT {
            return Ok(None);
        }
        let view = match self.view(interrupt) {
            Err(error) if error.is_missing() => return Ok(None),
            view => view?,
        };
        if view.listed.contains_key(&self.name) || view.found.is_empty() {
            return Ok(None);
        }
        match offset {
            None => match view.newest()? {
                Some(newest) => self.index_of(newest, Index::LeaderEpoch, &EPOCH_SUFFIXES, interrupt),
                None => Ok(None),
            },
            Some(offset) => match view.snapshots()?.get(&offset) {
                Some(candidate) => self.index_of(candidate, Index::ProducerSnapshot, &SNAPSHOT_SUFFIXES, interrupt),
                None => Ok(None),
            },
        }
    }

    /// An index of another upload of the directory.
    pub(super) fn index_of(
        &self,
        candidate: &FoundUpload,
        index: Index,
        suffixes: &[&str],
        interrupt: &Interrupt,
    ) -> TieredResult<Option<Bytes>> {
        if candidate.manifest.is_some() {
            let objects = SegmentObjects::open(&self.directory, &candidate.name, &self.uri.keys, candidate.manifest.clone(), interrupt)?;
            return objects.index(index, interrupt);
        }
        let own = suffixes.iter().find(|suffix| candidate.suffixes.contains(**suffix));
        let place = own.map(|suffix| self.directory.join(&format!("{}.{suffix}", candidate.stem())));
        Ok(place.map(|place| place.read(MOST_INDEX, interrupt)).transpose()?.flatten())
    }

    pub(super) fn sidecar(&self, index: Index) -> StoragePlace {
        self.sidecar_named(index.suffix())
    }

    pub(super) fn sidecar_named(&self, suffix: &str) -> StoragePlace {
        let stem = self.parts.as_ref().map_or("", |parts| parts.stem.as_str());
        self.directory.join(&format!("{stem}.{suffix}"))
    }
}

/// How many bytes of an index have entries before an offset.
fn len_before(index: Index, data: &[u8], base_offset: i64, before: i64) -> usize {
    match index {
        Index::Offset => offset_index::len_before(data, base_offset, before),
        Index::Timestamp => time_index::len_before(data, base_offset, before),
        _ => txn_index::len_before(data, before),
    }
}
