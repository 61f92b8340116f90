//! The directory of segments: its files as segments, and their order.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::names::{SegmentName, partition_of, uploaded_partition_of};
use super::{DirectoryEntry, SegmentFile, Storage};

/// The directory of segments, and the partition that its name has.
pub(super) struct SegmentFolder {
    pub(super) path: PathBuf,
    is_stored: bool,
    of_broker: Option<(String, i32)>,
    of_uploads: Option<(String, i32)>,
}

impl SegmentFolder {
    /// A directory by its path.
    pub(super) fn of(directory: &Path, storage: &dyn Storage) -> Self {
        let above = storage.absolute(directory);
        let text = above.to_string_lossy();
        let owned = |(topic, partition): (&str, i32)| (topic.to_owned(), partition);
        let of_broker = text.rsplit('/').next().and_then(partition_of).map(owned);
        let (is_stored, of_uploads) = (storage.is_stored(directory), uploaded_partition_of(&text).map(owned));
        Self { path: directory.to_owned(), is_stored, of_broker, of_uploads }
    }

    /// The directory of a file.
    pub(super) fn of_file(path: &Path, storage: &dyn Storage) -> Self {
        Self::of(path.parent().unwrap_or_else(|| Path::new("")), storage)
    }

    /// A file of a listing as a segment. The size of a file of this machine may change, and is asked for when it is needed.
    pub(super) fn segment(&self, entry: &DirectoryEntry) -> SegmentFile {
        let name = entry.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let parsed = SegmentName::parse(&name);
        let of_uploads = self.of_uploads.as_ref().filter(|_| parsed.is_some_and(|parsed| parsed.id.is_some()));
        let (topic, partition) = of_uploads.or(self.of_broker.as_ref()).cloned().unzip();
        let (base_offset, known_size) = (parsed.map(|parsed| parsed.base_offset), entry.size.filter(|_| self.is_stored));
        SegmentFile { path: entry.path.clone(), topic, partition, base_offset, known_size, ..SegmentFile::default() }
    }
}

/// True for a name that a segment has, but not for the file of a swap.
pub(super) fn is_segment(name: &str) -> bool {
    SegmentName::parse(name).is_some_and(|name| !name.is_swap)
}

/// Sorts segments: partitions of a topic by number.
pub(super) fn in_reading_order(files: &mut [SegmentFile], storage: &dyn Storage) {
    let mut known: HashMap<PathBuf, (String, String)> = HashMap::new();
    files.sort_by_cached_key(|file| {
        let directory = file.directory();
        let (above, name) = known.entry(directory).or_insert_with_key(|directory| {
            let objects = storage.untiered(directory);
            let text = objects.to_string_lossy();
            let (above, name) = text.rsplit_once('/').unwrap_or(("", &text));
            (above.to_owned(), name.to_owned())
        });
        let topic = file.topic.clone().unwrap_or_else(|| name.clone());
        // The names of a layout need not sort by offset.
        (above.clone(), topic, file.partition.unwrap_or(-1), file.directory(), file.base(), file.path.as_os_str().to_owned())
    });
}
