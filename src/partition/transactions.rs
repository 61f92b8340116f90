//! The transactions of a partition, from the markers in its segments.

use super::SegmentFile;
use super::arrange::order_by_offsets;
use super::storage::{AtDamage, Storage, in_file};
use crate::decode::{ChecksumVerifier, OffsetRange, Transactions};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Source;
use crate::log::{Committed, EntrySource, ReadAt, committed, sidecar_rebuild};
use crate::sidecar::{ProducerEntry, producer_snapshot};

/// How the transactions of a read are found.
#[derive(Clone, Copy, Debug)]
pub struct CommittedOptions {
    /// The first offset that the read does not want.
    pub end: Option<i64>,
    /// What is trusted.
    pub verifier: ChecksumVerifier,
    /// The read skips damage.
    pub skips_damage: bool,
    /// The read skips batches of magic 3 where they are not read.
    pub skips_unreadable: bool,
}

/// A segment of a partition whose markers are looked at.
pub struct MarkedSegment<'a> {
    file: &'a SegmentFile,
    storage: &'a dyn Storage,
    at_damage: AtDamage,
}

impl<'a> MarkedSegment<'a> {
    /// The segments of a partition in the order of their offsets.
    ///
    /// # Errors
    /// `Usage` for another order.
    pub fn all(files: &'a [SegmentFile], skips_damage: bool, storage: &'a dyn Storage) -> Result<Vec<Self>> {
        if !files.is_sorted_by_key(SegmentFile::base) {
            let problem = "the base offsets must not decrease".to_owned();
            return Err(ErrorKind::Usage { argument: "segments", problem }.into());
        }
        let at_damage = if skips_damage { AtDamage::GoOn } else { AtDamage::Fail };
        Ok(files.iter().map(|file| Self { file, storage, at_damage }).collect())
    }
}

impl EntrySource for MarkedSegment<'_> {
    fn source(&self, start: u64) -> Result<Source> {
        self.storage.source(&self.file.path, start, None, AtDamage::GoOn)
    }

    fn named(&self, error: Error) -> Error {
        in_file(error, &self.file.path, self.storage)
    }
}

impl committed::SegmentSource for MarkedSegment<'_> {
    fn base_offset(&self) -> i64 {
        self.file.base()
    }

    fn open(&self) -> Result<(Box<dyn ReadAt>, u64)> {
        self.storage.open(&self.file.path, self.at_damage)
    }

    fn snapshot(&self) -> Option<Vec<ProducerEntry>> {
        let path = self.file.directory().join(sidecar_rebuild::name(self.file.base(), "snapshot"));
        let parsed = producer_snapshot::parse(&self.storage.read(&path).ok()??, self.file.base());
        parsed.is_valid().then_some(parsed.entries)
    }
}

/// Return the transactions that a committed read must know, from the markers of a partition. `files` are all of its segments.
///
/// # Errors
/// If a file cannot be read, and as `Committed::transactions`.
pub fn committed_transactions(files: &[SegmentFile], options: CommittedOptions, storage: &dyn Storage) -> Result<Transactions> {
    let files = order_by_offsets(files, true, storage)?;
    let segments = MarkedSegment::all(&files, options.skips_damage, storage)?;
    let (wanted, interrupt) = (OffsetRange { end: options.end, ..OffsetRange::default() }, storage.interrupt());
    let CommittedOptions { verifier, skips_unreadable, .. } = options;
    Committed { wanted, verifier, skips_unreadable, interrupt: &interrupt }.transactions(&segments)
}
