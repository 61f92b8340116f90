//! A partition that grows, looked at again and again: only batches that are new are walked.

use std::collections::HashMap;
use std::path::PathBuf;

use super::growing::{EndOptions, GrowingEnd, has_batch, segment_end};
use super::storage::Storage;
use super::transactions::MarkedSegment;
use super::{PartitionReader, SegmentFile};
use crate::decode::{ChecksumVerifier, Checksums, OffsetRange};
use crate::error::Result;
use crate::log::{Committed, LastBatch, LogEnd, StableOffset};
use crate::model::Formats;

/// Finds the end of a partition again and again.
#[derive(Clone, Debug)]
pub struct GrowingPartition {
    options: EndOptions,
    /// The end of each segment at the last look.
    ends: HashMap<PathBuf, LogEnd>,
    stable: StableOffset,
}

impl GrowingPartition {
    /// The ends by these options: the last batch before damage, or the last valid batch past it.
    pub fn new(options: EndOptions) -> Self {
        Self { options, ends: HashMap::new(), stable: StableOffset::default() }
    }

    /// What the batches may be.
    pub fn formats(&self) -> Formats {
        self.options.formats
    }

    /// The end of a segment. `is_checked`: the very last batch counts only if its checksum matches.
    ///
    /// # Errors
    /// If a header is damaged, unless damage is skipped; if the file cannot be read.
    pub fn end(&mut self, file: &SegmentFile, is_checked: bool, storage: &dyn Storage) -> Result<GrowingEnd> {
        let options = EndOptions { is_checked, ..self.options };
        let found = segment_end(file, options, self.ends.get(&file.path), storage)?;
        self.go_on_from(file, &found);
        Ok(found)
    }

    /// The end of a segment past damage, whatever the options are. A strict look that follows does not begin past the damage.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn last_valid(&self, file: &SegmentFile, storage: &dyn Storage) -> Result<GrowingEnd> {
        segment_end(file, EndOptions { skips_damage: true, is_checked: true, ..self.options }, None, storage)
    }

    /// Begin the next look at a segment at a known end, whatever is damaged before it.
    pub fn go_on_from(&mut self, file: &SegmentFile, found: &GrowingEnd) {
        self.ends.insert(file.path.clone(), found.end.clone());
    }

    /// True if a batch of a segment is still at its position.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn has(&self, file: &SegmentFile, last: &LastBatch, storage: &dyn Storage) -> Result<bool> {
        has_batch(file, last, self.options, storage)
    }

    /// Forget the ends of all other segments.
    pub fn forget_others(&mut self, files: &[SegmentFile]) {
        self.ends.retain(|path, _| files.iter().any(|file| file.path == *path));
    }

    /// The first offset of the oldest transaction that is open at `until`, or `until` (TXN-6). Markers from this offset on do not count: they may
    /// still be cut off. `files`: those of the partition, in the order of their offsets.
    ///
    /// # Errors
    /// If a header is damaged, or a marker; if a file cannot be read.
    pub fn stable_offset(&mut self, files: &[SegmentFile], until: i64, storage: &dyn Storage) -> Result<i64> {
        let EndOptions { formats, limits, .. } = self.options;
        let verifier = ChecksumVerifier { formats, limits, checksums: Checksums::OfMarkers };
        let segments = MarkedSegment::all(files, false, storage)?;
        let interrupt = storage.interrupt();
        let committed = Committed { wanted: OffsetRange::default(), verifier, skips_unreadable: false, interrupt: &interrupt };
        self.stable.find(&committed, &segments, until)
    }
}

/// The reader of one segment.
pub(super) fn reader_of(file: &SegmentFile, wanted: super::WantedRange) -> PartitionReader {
    PartitionReader::new(vec![std::sync::Arc::new(super::SegmentLookup::new(file.clone()))], wanted, None)
}
