//! The layouts of objects: one table of the known remote storage managers, and the template of a user in its place.
//!
//! A layout answers which objects a directory has (`object`, `partition`), what an upload consists of (`is_upload`, `needed`), and where its
//! last offset is found (`offsets`). Objects with a manifest are opened by it, and all others as they are.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::{TieredError, TieredResult};
use super::names::{LOG, MANIFEST, ObjectName, PartitionName, WATERMARK, broker_partition, is_of_aiven};
use super::template::Template;
use crate::stores::{PlaceEntry, StoragePlace};

/// Where the last offset of an upload is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastOffsetSource {
    /// In its manifest.
    Manifest,
    /// In its last valid batch. Uploads may overlap.
    Batches,
    /// Nowhere: each segment is uploaded once, and its name has the first offset.
    Name,
}

/// How a remote storage manager names and stores segments.
pub(super) trait UploadLayout: fmt::Debug + Send + Sync {
    /// True for a directory with these files that may have objects of this layout.
    fn is_in(&self, directory: &StoragePlace, files: &[PlaceEntry]) -> bool {
        let _ = (directory, files);
        true
    }

    /// Parse the name of an object; `None` for any other name.
    fn object(&self, name: &str) -> Option<ObjectName>;

    /// Topic, topic id and partition in the names of a directory.
    fn partition(&self, directory: &StoragePlace) -> PartitionName;

    /// True for an upload of this layout, complete or not. `has` is true for the suffixes of its objects.
    fn is_upload(&self, directory: &StoragePlace, has: &dyn Fn(&str) -> bool) -> bool {
        let _ = directory;
        has(LOG)
    }

    /// The suffixes without which an upload is unfinished.
    fn needed(&self) -> &'static [&'static str] {
        &[LOG]
    }

    /// Where the last offset of an upload is found.
    fn offsets(&self) -> LastOffsetSource;
}

/// The known layouts. The first that has an upload counts.
static KNOWN: [&dyn UploadLayout; 3] = [&Aiven, &LocalTieredStorage, &Pinterest];

/// Aiven's remote storage manager (TS-1 to TS-5, TS-7, TS-8).
#[derive(Debug)]
struct Aiven;

impl UploadLayout for Aiven {
    fn object(&self, name: &str) -> Option<ObjectName> {
        ObjectName::parse(name)
    }

    fn partition(&self, directory: &StoragePlace) -> PartitionName {
        PartitionName::of(directory)
    }

    fn is_upload(&self, directory: &StoragePlace, has: &dyn Fn(&str) -> bool) -> bool {
        has(MANIFEST) || is_of_aiven(directory)
    }

    fn needed(&self) -> &'static [&'static str] {
        &[LOG, MANIFEST]
    }

    fn offsets(&self) -> LastOffsetSource {
        LastOffsetSource::Manifest
    }
}

/// Kafka's `LocalTieredStorage` (TS-60 to TS-62).
#[derive(Debug)]
struct LocalTieredStorage;

impl UploadLayout for LocalTieredStorage {
    fn object(&self, name: &str) -> Option<ObjectName> {
        ObjectName::parse(name)
    }

    fn partition(&self, directory: &StoragePlace) -> PartitionName {
        PartitionName::of(directory)
    }

    fn offsets(&self) -> LastOffsetSource {
        LastOffsetSource::Batches
    }
}

/// Pinterest's uploader, which keeps the names of the broker (TS-80 to TS-84).
#[derive(Debug)]
struct Pinterest;

impl UploadLayout for Pinterest {
    fn is_in(&self, _: &StoragePlace, files: &[PlaceEntry]) -> bool {
        files.iter().any(|file| file.name == WATERMARK)
    }

    fn object(&self, name: &str) -> Option<ObjectName> {
        ObjectName::of_broker(name)
    }

    fn partition(&self, directory: &StoragePlace) -> PartitionName {
        let (topic, partition) = broker_partition(&directory.name()).unzip();
        PartitionName { topic, topic_id: None, partition }
    }

    fn offsets(&self) -> LastOffsetSource {
        LastOffsetSource::Name
    }
}

/// The layout of a template: plain segments, and uploads that may overlap.
impl UploadLayout for Template {
    fn is_in(&self, directory: &StoragePlace, _: &[PlaceEntry]) -> bool {
        self.fields_of(directory).is_some()
    }

    fn object(&self, name: &str) -> Option<ObjectName> {
        Self::object(self, name)
    }

    fn partition(&self, directory: &StoragePlace) -> PartitionName {
        let own = self.fields_of(directory).unwrap_or_default();
        let known = PartitionName::of(directory);
        let known = if known.topic.is_some() { known } else { Pinterest.partition(directory) };
        PartitionName {
            topic: own.topic.or(known.topic),
            topic_id: own.topic_id.or(known.topic_id),
            partition: own.partition.or(known.partition),
        }
    }

    fn offsets(&self) -> LastOffsetSource {
        LastOffsetSource::Batches
    }
}

/// The layouts that a reader looks for: the known ones, or one template alone.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    template: Option<Arc<Template>>,
    /// The text that a URI carries: letters, digits, `-` and `_`.
    text: Arc<str>,
}

impl Layouts {
    /// The layout of a template.
    ///
    /// # Errors
    /// `UploadLayout` if it is invalid.
    pub fn of_template(template: &str) -> TieredResult<Self> {
        let text = URL_SAFE_NO_PAD.encode(template).into();
        Ok(Self { template: Some(Arc::new(Template::parse(template)?)), text })
    }

    /// The layouts by the text that a URI carries; the known ones without a text.
    ///
    /// # Errors
    /// `UploadLayout` if it is invalid.
    pub fn of_text(text: &str) -> TieredResult<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let template = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        template.map_or_else(|| Err(TieredError::Layout("the layout of a URI is damaged".to_owned())), |text| Self::of_template(&text))
    }

    /// The text that a URI carries.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The template, if there is one.
    pub fn template(&self) -> Option<&str> {
        self.template.as_ref().map(|template| template.text())
    }

    /// True if objects may have a manifest next to them.
    pub(super) fn has_manifests(&self) -> bool {
        self.all().any(|layout| layout.offsets() == LastOffsetSource::Manifest)
    }

    /// Parse the name of an object of an upload; `None` for any other name. Its directory is not looked at.
    pub(super) fn object(&self, name: &str) -> Option<ObjectName> {
        self.all().filter(|layout| layout.offsets() != LastOffsetSource::Name).find_map(|layout| layout.object(name))
    }

    /// Parse the name of an object in a directory with objects of uploads.
    pub(super) fn object_in(&self, directory: &StoragePlace, name: &str) -> Option<ObjectName> {
        self.object(name).filter(|_| self.template.as_ref().is_none_or(|template| template.is_in(directory, &[])))
    }

    /// Parse the name of a segment that is uploaded once.
    pub(super) fn segment(&self, name: &str) -> Option<ObjectName> {
        self.uploaded_once().find_map(|layout| layout.object(name))
    }

    /// The layouts of segments that are uploaded once.
    pub(super) fn uploaded_once(&self) -> impl Iterator<Item = &dyn UploadLayout> {
        self.all().filter(|layout| layout.offsets() == LastOffsetSource::Name)
    }

    /// The layout of an upload; `None` if it is not one. `has` is true for the suffixes of its objects.
    pub(super) fn of_upload(&self, directory: &StoragePlace, has: &dyn Fn(&str) -> bool) -> Option<&dyn UploadLayout> {
        self.all().find(|layout| layout.offsets() != LastOffsetSource::Name && layout.is_upload(directory, has))
    }

    /// Topic, topic id and partition in the names of a directory of uploads.
    pub(super) fn partition(&self, directory: &StoragePlace) -> PartitionName {
        self.all().next().map(|layout| layout.partition(directory)).unwrap_or_default()
    }

    fn all(&self) -> impl Iterator<Item = &dyn UploadLayout> {
        let template = self.template.as_deref().map(|template| -> &dyn UploadLayout { template });
        let known: &[&dyn UploadLayout] = if template.is_some() { &[] } else { &KNOWN };
        template.into_iter().chain(known.iter().copied())
    }
}
