//! The objects of one upload of Aiven's plug-in: its manifest, its log by chunks, and its indexes.

use std::sync::Arc;

use bytes::Bytes;

use super::cache::Cache;
use super::chunks::ChunkedFile;
use super::cipher::{ChunkOpener, SEAL_LEN};
use super::error::{ManifestError, TieredError, TieredResult};
use super::keys::{DataKey, Keys};
use super::manifest::{Index, IndexRange, Manifest};
use super::names::{INDEXES, LOG, MANIFEST, ObjectName};
use super::several::asked;
use super::uri::Uri;
use crate::interrupt::Interrupt;
use crate::stores::{PlaceEntry, StoragePlace, StoreError, StoreErrorKind};
use crate::validate::{Finding, Severity};
use crate::wire::as_u64;

/// A larger object is not a manifest: a list of sizes is 10 MiB at most before base64.
const MOST_MANIFEST: u64 = 32 << 20;
/// Most bytes of an index.
pub(super) const MOST_INDEX: u64 = 1 << 31;
const ADVICE: &str = "reads continue without it, and `restore` rebuilds it from the log";
/// Manifests that are kept.
const MOST_KEPT: u64 = 4096;

/// The object, and its version.
type ObjectVersion = (StoragePlace, (u64, String));
static MANIFESTS: Cache<ObjectVersion, Arc<Manifest>> = Cache::new(MOST_KEPT, |_| 1);
/// The manifest of each place that was read last, for its data key.
static LATEST: Cache<StoragePlace, Arc<Manifest>> = Cache::new(MOST_KEPT, |_| 1);

/// Reads and parses the manifest of an entry of a directory.
///
/// # Errors
/// `Manifest`, of which the text begins with its path; those of the store.
pub(super) fn read_manifest(place: &StoragePlace, entry: &PlaceEntry, interrupt: &Interrupt) -> TieredResult<Arc<Manifest>> {
    let version = (place.clone(), entry.version());
    if let Some(known) = MANIFESTS.get(&version) {
        return Ok(LATEST.put(place.clone(), known));
    }
    let data = place.read(MOST_MANIFEST, interrupt)?;
    let data = data.ok_or_else(|| StoreError::new(StoreErrorKind::NotFound, place.to_string(), "the manifest was removed"))?;
    match Manifest::parse(&data) {
        Ok(manifest) => Ok(LATEST.put(place.clone(), MANIFESTS.put(version, Arc::new(manifest)))),
        Err(TieredError::Manifest(error)) => {
            let text = format!("{place}: {}", error.text);
            Err(TieredError::Manifest(Box::new(ManifestError { text, ..*error })))
        }
        Err(error) => Err(error),
    }
}

/// The objects of one segment.
#[derive(Clone, Debug)]
pub struct SegmentObjects {
    directory: StoragePlace,
    /// The common beginning of their names.
    stem: String,
    base_offset: i64,
    keys: Keys,
    /// Says what they are.
    pub manifest: Arc<Manifest>,
}

impl SegmentObjects {
    /// The objects of the upload of a log. `manifest` is known already, or read.
    ///
    /// # Errors
    /// `Manifest` if it is invalid; those of the store.
    pub(super) fn open(
        directory: &StoragePlace,
        name: &ObjectName,
        keys: &Keys,
        manifest: Option<Arc<Manifest>>,
        interrupt: &Interrupt,
    ) -> TieredResult<Self> {
        let stem = name.stem.clone();
        let manifest = match manifest {
            Some(manifest) => manifest,
            None => {
                let place = directory.join(&format!("{stem}.{MANIFEST}"));
                read_manifest(&place, &place.entry(interrupt)?, interrupt)?
            }
        };
        Ok(Self { directory: directory.clone(), stem, base_offset: name.base_offset, keys: keys.clone(), manifest })
    }

    /// Opens the segment.
    ///
    /// # Errors
    /// `Key` if its key is missing or wrong, `Manifest` if the object does not belong to it; those of the store.
    pub(super) fn log(&self, interrupt: &Interrupt) -> TieredResult<ChunkedFile> {
        let place = self.place(LOG);
        let opener = if self.manifest.is_untransformed() { None } else { Some(self.opener(self.manifest.is_compressed)?) };
        let (name, table) = (place.to_string(), self.manifest.chunks.clone());
        ChunkedFile::new(name, place.open(interrupt)?, table, opener, Box::new(self.clone()))
    }

    /// Returns the bytes of an index; `None` if there is no such index, or the manifest has no sizes.
    pub(super) fn index_size(&self, index: Index) -> Option<u64> {
        let size = self.manifest.parts.as_ref()?.get(&index)?.size;
        Some(if self.manifest.encryption.is_some() { size.saturating_sub(SEAL_LEN) } else { size })
    }

    /// Reads an index; `None` if there is no such index (TS-36, TS-37, TS-52).
    ///
    /// # Errors
    /// `Chunk` if its bytes cannot be restored, `Key` as `log`; those of the store.
    pub(super) fn index(&self, index: Index, interrupt: &Interrupt) -> TieredResult<Option<Bytes>> {
        let (place, stored) = self.stored_index(index, interrupt)?;
        let stored = match stored {
            Some(stored) if !stored.is_empty() && self.manifest.encryption.is_some() => stored,
            whole => return Ok(whole),
        };
        let opened = self.opener(false)?.opened(&stored, as_u64(stored.len()).saturating_sub(SEAL_LEN));
        opened.map(Some).map_err(|reason| TieredError::chunk(format!("{place}: the {} index is lost: {reason}", index.member())))
    }

    /// The place of the object with a suffix.
    pub(super) fn place(&self, suffix: &str) -> StoragePlace {
        self.directory.join(&format!("{}.{suffix}", self.stem))
    }

    /// What helps to report the offsets of a damaged chunk: the bytes of the `.index`, if any, and the first and last offset.
    pub(super) fn hints(&self, interrupt: &Interrupt) -> (Bytes, Option<i64>, Option<i64>) {
        let index = self.index(Index::Offset, interrupt).ok().flatten().unwrap_or_default();
        let offsets = self.manifest.offsets(self.base_offset);
        (index, Some(offsets.start), offsets.end)
    }

    fn stored_index(&self, index: Index, interrupt: &Interrupt) -> TieredResult<(StoragePlace, Option<Bytes>)> {
        let Some(parts) = &self.manifest.parts else {
            let place = self.place(index.suffix());
            let stored = place.read(MOST_INDEX, interrupt)?;
            return Ok((place, stored));
        };
        let place = self.place(INDEXES);
        let Some(IndexRange { position, size }) = parts.get(&index).copied() else { return Ok((place, None)) };
        if size == 0 {
            return Ok((place, Some(Bytes::new())));
        }
        let stored = place.read_range(position..position.saturating_add(size), interrupt)?;
        if as_u64(stored.len()) < size {
            let text = format!("{place}: the {} index is lost: the object ends before its end", index.member());
            return Err(TieredError::chunk(text));
        }
        Ok((place, Some(stored)))
    }

    fn opener(&self, is_compressed: bool) -> TieredResult<ChunkOpener> {
        let key = self.data_key()?;
        let encryption = self.manifest.encryption.as_ref().zip(key.as_ref());
        Ok(ChunkOpener::new(encryption.map(|(encryption, key)| (key, encryption.aad.as_slice())), is_compressed))
    }

    fn data_key(&self) -> TieredResult<Option<DataKey>> {
        let name = self.place(LOG).to_string();
        self.manifest.encryption.as_ref().map(|encryption| self.keys.data_key(encryption, &name)).transpose()
    }

    /// The finding of an index that cannot be read (TS-37).
    fn lost_index(&self, index: Index, interrupt: &Interrupt) -> TieredResult<Option<Finding>> {
        let lost = match self.index(index, interrupt) {
            Err(TieredError::Chunk(lost)) => lost,
            found => return found.map(|_| None),
        };
        let part = self.manifest.parts.as_ref().and_then(|parts| parts.get(&index));
        let path = self.place(if part.is_some() { INDEXES } else { index.suffix() }).to_string();
        let text = format!("{}; {ADVICE}", lost.text.strip_prefix(&format!("{path}: ")).unwrap_or(&lost.text));
        let (position, size) = part.map_or((0, 0), |part| (part.position, part.size));
        let finding = Finding::of_files("TS-37", Severity::Warning, text, position, size);
        Ok(Some(finding.in_file(&path.as_str().into())))
    }
}

/// Returns a file of an upload for another thread, which cannot ask a key ring: with the data key of its manifest, if that was read before.
///
/// # Errors
/// Those of the key ring.
pub(super) fn without_ring(file: &Uri) -> TieredResult<Uri> {
    let manifest = ObjectName::parse(&file.place.name()).and_then(|name| {
        let place = file.place.parent().join(&format!("{}.{MANIFEST}", name.stem));
        LATEST.get(&place)
    });
    let encryption = manifest.as_ref().and_then(|manifest| manifest.encryption.as_ref());
    let keys = file.keys.without_ring(encryption, &file.place.to_string())?;
    Ok(Uri { keys, ..file.clone() })
}

/// The objects of the upload of a log; `None` if there is no valid manifest, or the name is not that of an upload.
fn objects_of(log: &Uri, interrupt: &Interrupt) -> TieredResult<Option<SegmentObjects>> {
    let name = log.layouts.object(&log.place.name()).filter(|_| log.layouts.has_manifests());
    let Some(name) = name else { return Ok(None) };
    match SegmentObjects::open(&log.place.parent(), &name, &log.keys, None, interrupt) {
        Err(error) if error.is_missing() || matches!(error, TieredError::Manifest(_)) => Ok(None),
        found => found.map(Some),
    }
}

/// Return the indexes of uploads that cannot be read: the path that each would have as a file of a log directory, and a finding.
///
/// There are none of an upload with a wrong manifest or key: a read of the log reports that.
///
/// # Errors
/// Those of the store.
pub fn lost_indexes(logs: &[Uri], interrupt: &Interrupt) -> TieredResult<Vec<(String, Finding)>> {
    let is_stored = logs.iter().any(|log| log.place.is_stored());
    // The error of the first upload counts, whichever comes first.
    let found = asked(is_stored, logs, interrupt, |log, interrupt| Ok(lost_indexes_of(log, interrupt)))?;
    let found: TieredResult<Vec<_>> = found.into_iter().collect();
    Ok(found?.into_iter().flatten().collect())
}

fn lost_indexes_of(log: &Uri, interrupt: &Interrupt) -> TieredResult<Vec<(String, Finding)>> {
    let Some(objects) = objects_of(log, interrupt)? else { return Ok(Vec::new()) };
    let mut lost = Vec::new();
    for index in Index::ALL {
        match objects.lost_index(index, interrupt) {
            Ok(found) => lost.extend(found.map(|finding| (objects.place(index.suffix()).to_string(), finding))),
            Err(error) if error.is_missing() || matches!(error, TieredError::Key(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    Ok(lost)
}

/// Return the largest timestamp (ms) of the records of an upload, from its manifest; `None` if the manifest does not have it.
///
/// # Errors
/// Those of the store.
pub fn max_timestamp(log: &Uri, interrupt: &Interrupt) -> TieredResult<Option<i64>> {
    let objects = objects_of(log, interrupt)?;
    Ok(objects.and_then(|objects| objects.manifest.segment.as_ref()?.max_timestamp))
}

/// Return the text of the data key of an upload, for a task that reads it and must not have private keys; `None` if it is not encrypted.
///
/// # Errors
/// `Key` if its key is missing or wrong; those of the store.
pub fn data_key_of(log: &Uri, interrupt: &Interrupt) -> TieredResult<Option<String>> {
    let Some(objects) = objects_of(log, interrupt)? else { return Ok(None) };
    let key = objects.data_key()?;
    Ok(objects.manifest.encryption.as_ref().zip(key.as_ref()).map(|(encryption, key)| Keys::text_of(encryption, key)))
}
