//! The files next to the logs of a directory with uploads, for a check that reads all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::TieredResult;
use super::manifest::Manifest;
use super::names::{CHECKPOINT, MANIFEST, ObjectName, snapshot_offset};
use super::upload::FoundUpload;
use super::uri::Uri;
use super::view::View;
use crate::interrupt::Interrupt;

/// The files of a directory as it was listed once: a read costs a request for its own bytes, and none for the manifest and the listing.
/// Any thread may read them.
pub struct Sidecars {
    pub(super) directory: Uri,
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
    pub fn of(directory: &Uri, interrupt: &Interrupt) -> TieredResult<Self> {
        let view = View::of(directory, None, false, interrupt)?;
        let manifests = view.found.iter().filter_map(|upload| Some((upload.stem(), Arc::clone(upload.manifest.as_ref()?)))).collect();
        Ok(Self { directory: directory.clone(), view, manifests })
    }

    /// The manifest of the upload that a file is read from.
    pub(super) fn manifest_behind(&self, name: &str) -> TieredResult<Option<&Manifest>> {
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
