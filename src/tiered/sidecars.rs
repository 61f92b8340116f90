//! The files next to the logs of a directory with uploads, for a check that reads all of them.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::directory::{File, entries_of, read_within};
use super::error::Result;
use super::manifest::Manifest;
use super::names::{CHECKPOINT, MANIFEST, ObjectName, snapshot_offset};
use super::upload::FoundUpload;
use super::uri::Uri;
use super::view::View;
use crate::interrupt::Interrupt;
use crate::stores::{Pending, PlaceEntry, in_background};

/// The files of a directory as it was listed once: a read costs a request for its own bytes, and none for the manifest and the listing.
/// Any thread may read them.
pub struct Sidecars {
    directory: Uri,
    pub(super) view: Arc<View>,
    /// The valid manifests, by the common beginning of the names of their objects.
    manifests: HashMap<String, Arc<Manifest>>,
}

/// What a listing shows of the manifest of an upload.
pub(super) enum KnownManifest {
    Valid(Arc<Manifest>),
    Missing,
    /// It is there, and was not read or is invalid.
    Unread,
}

impl Sidecars {
    /// List a directory.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(directory: &Uri, interrupt: &Interrupt) -> Result<Self> {
        let view = View::of(directory, None, false, interrupt)?;
        let manifests = view.found.iter().filter_map(|upload| Some((upload.stem(), Arc::clone(upload.manifest.as_ref()?)))).collect();
        Ok(Self { directory: directory.clone(), view, manifests })
    }

    /// Return the files and directories, by name.
    ///
    /// # Errors
    /// As `entries`.
    pub fn entries(&self, interrupt: &Interrupt) -> Result<Vec<PlaceEntry>> {
        entries_of(&self.view, &self.directory, interrupt)
    }

    /// Return the bytes of a small file of the directory, at most `most` of them; see `read`.
    ///
    /// # Errors
    /// As `read`.
    pub fn read(&self, file: &Uri, most: u64, interrupt: &Interrupt) -> Result<Option<Bytes>> {
        read_within(&File::known(file, self), most, interrupt)
    }

    /// Begin to read a small file; see `read`.
    ///
    /// # Errors
    /// Those of the key ring. An error of the answer may be one of a key that only the caller has.
    pub fn begin(self: &Arc<Self>, file: &Uri, most: u64) -> Result<Pending<Result<Option<Bytes>>>> {
        let manifest = self.manifest_behind(&file.place.name())?;
        let keys = file.keys.without_ring(manifest.and_then(|manifest| manifest.encryption.as_ref()), &file.place.to_string())?;
        let (own, file) = (Arc::clone(self), Uri { keys, ..file.clone() });
        Ok(in_background(&file.place.to_string(), move |interrupt| own.read(&file, most, interrupt))?)
    }

    /// The manifest of the upload that a file is read from.
    fn manifest_behind(&self, name: &str) -> Result<Option<&Manifest>> {
        let stem = match (ObjectName::parse(name), snapshot_offset(name)) {
            (Some(name), _) => Some(name.stem.clone()),
            (None, Some(offset)) => self.view.snapshots()?.get(&offset).map(|upload| upload.stem()),
            (None, None) if name == CHECKPOINT => self.view.newest()?.map(FoundUpload::stem),
            (None, None) => None,
        };
        Ok(stem.and_then(|stem| self.manifests.get(&stem)).map(|manifest| &**manifest))
    }

    pub(super) fn manifest_of(&self, name: &ObjectName) -> KnownManifest {
        let stem = &name.stem;
        match self.manifests.get(stem) {
            Some(manifest) => KnownManifest::Valid(Arc::clone(manifest)),
            None if self.view.listed.contains_key(&format!("{stem}.{MANIFEST}")) => KnownManifest::Unread,
            None => KnownManifest::Missing,
        }
    }
}
