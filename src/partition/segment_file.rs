use std::path::{Path, PathBuf};

use super::names::SegmentName;
use super::storage::Storage;
use crate::decode::OffsetRange;
use crate::error::Result;
use crate::validate::Finding;

/// A file of log entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentFile {
    /// The path as it was reached; links are not resolved. Of a store it is a URI, perhaps with options.
    pub path: PathBuf,
    /// From the name of its directory; `None` if that is not a partition's name.
    pub topic: Option<String>,
    /// As `topic`.
    pub partition: Option<i32>,
    /// From its own name; `None` if that is not a segment's name. See `actual_offsets`.
    pub base_offset: Option<i64>,
    /// Bytes, from the listing of a store.
    pub known_size: Option<u64>,
    /// The offsets that its batches may hold, from its name and that of the next segment in the directory (SEG-1). `None` if the names do
    /// not say: uploads of tiered storage may overlap after a change of leaders, and Kafka 0.7 has positions instead of offsets.
    pub offsets: Option<OffsetRange>,
    /// The first and last offset of its batches, if they contradict its name. `base_offset` is the first one then.
    pub actual_offsets: Option<(i64, i64)>,
    /// The offsets that its name allows, if they contradict it.
    pub named: Option<OffsetRange>,
    /// A finding that each read of the file reports.
    pub finding: Option<Finding>,
    /// The offset in the name of the next segment of the directory, a position for Kafka 0.7; `None` for the last segment, for a file that
    /// was named itself, and for uploads. A segment with a next one is complete (SEG-23).
    pub next_offset: Option<i64>,
    /// True if it was found in a directory, false if it was named itself.
    pub is_listed: bool,
    /// The log start offset of its partition, if segments have records below it, which were deleted.
    pub log_start: Option<i64>,
    /// The bytes from the first (inclusive) to the second position (exclusive), if it is a part of a file.
    pub part: Option<(u64, u64)>,
}

impl SegmentFile {
    /// The path of its directory.
    pub fn directory(&self) -> PathBuf {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or_else(|| Path::new(".")).to_owned()
    }

    /// The path of its partition: its directory, or itself if it was named and the name of its directory is not a partition's.
    pub fn place(&self) -> PathBuf {
        if self.partition.is_none() && !self.is_listed { self.path.clone() } else { self.directory() }
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The first offset of its name. `base_offset` differs if a segment of the partition contradicts its name.
    pub fn named_offset(&self) -> Option<i64> {
        if self.offsets.is_none() && self.actual_offsets.is_none() {
            self.base_offset
        } else {
            SegmentName::parse(&self.name()).map(|name| name.base_offset)
        }
    }

    /// Its bytes: those of the listing of a store, or of the file as it is now.
    ///
    /// # Errors
    /// `NotFound`, and others of the storage.
    pub fn size(&self, storage: &dyn Storage) -> Result<u64> {
        self.known_size.map_or_else(|| Ok(storage.entry(&self.path)?.size.unwrap_or(0)), Ok)
    }

    /// True for a segment of Kafka 0.7, whose offsets are positions.
    pub fn is_of_0_7(&self) -> bool {
        self.path.as_os_str().as_encoded_bytes().ends_with(b".kafka")
    }

    /// The first offset, or 0.
    pub fn base(&self) -> i64 {
        self.base_offset.unwrap_or(0)
    }
}
