//! The bytes of one segment that hold offsets or times, and where it can be cut. Indexes lead there if they are right, headers if not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::storage::{AtDamage, LogCache, Storage, in_file, sidecar};
use super::wanted::WantedRange;
use super::{SegmentFile, growing};
use crate::decode::{Checksums, OffsetRange};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Ending;
use crate::limits::Limits;
use crate::log::{BatchLookup, BatchTrust, Batches, Lookup, SegmentSplit, no_data_error, sidecar_check};
use crate::model::{BatchHeader, Formats, RecordFormat};
use crate::sidecar::{OffsetEntry, ParsedSidecar, SidecarFinding, SidecarProblem, TimeEntry, offset_index, time_index};
use crate::validate::Finding;
use crate::wire::as_u64;

/// Bytes of an `.index` that lead to the last batch.
const INDEX_TAIL: u64 = 4 << 10;

/// Look-ups in one segment. Entries of Kafka 0.7 have no offsets and no times: all of its bytes may be wanted.
#[derive(Debug)]
pub struct SegmentLookup {
    /// The segment.
    pub file: SegmentFile,
    indexes: Arc<SegmentIndexes>,
    /// Bytes of which every header was read, because no index led past them.
    bytes_walked: AtomicU64,
    /// The finding of an `.index` that is valid by itself: its entries led a look-up to no batch.
    misleading: Mutex<Option<Finding>>,
    /// The last offset that was looked up, for a search that asks for it more than once.
    remembered: Option<Mutex<Option<(i64, BatchLookup)>>>,
    /// Where the headers end after which no batch of a wanted time was found.
    end_of_times: Mutex<Option<u64>>,
}

/// The index files of a segment, each read when it is first needed, and what its storage knows of the log.
#[derive(Default)]
struct SegmentIndexes {
    offsets: OnceLock<ParsedSidecar<OffsetEntry>>,
    times: OnceLock<ParsedSidecar<TimeEntry>>,
    log: LogCache,
}

impl std::fmt::Debug for SegmentIndexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Indexes").finish_non_exhaustive()
    }
}

impl SegmentLookup {
    /// The look-ups of a segment.
    pub fn new(file: SegmentFile) -> Self {
        let (misleading, end_of_times) = (Mutex::default(), Mutex::default());
        Self { file, indexes: Arc::default(), bytes_walked: AtomicU64::new(0), misleading, remembered: None, end_of_times }
    }

    /// The same for one short search, in which a file does not change: the last offset is looked up once.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { remembered: Some(Mutex::default()), ..self }
    }

    /// The look-ups of the same file with other offsets that it may hold.
    #[must_use]
    pub fn of(&self, file: SegmentFile) -> Self {
        let (bytes_walked, misleading) = (AtomicU64::new(self.bytes_walked()), Mutex::new(self.misleading()));
        Self { indexes: Arc::clone(&self.indexes), bytes_walked, misleading, ..Self::new(file) }
    }

    /// Bytes of the file now.
    ///
    /// # Errors
    /// `NotFound`, and others of the storage.
    pub fn size(&self, storage: &dyn Storage) -> Result<u64> {
        self.file.size(storage)
    }

    /// Bytes of which every header was read, because no index led past them.
    pub fn bytes_walked(&self) -> u64 {
        self.bytes_walked.load(Ordering::Relaxed)
    }

    /// Where the headers end after which no batch of a wanted time was found. Damage may hide one in the bytes after them.
    pub fn end_of_times(&self) -> Option<u64> {
        *self.end_of_times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the `.index` that a look-up has read; `None` if there was no look-up.
    pub fn index_bytes(&self) -> Option<u64> {
        self.indexes.offsets.get().map(|parsed| as_u64(parsed.entries.len()).saturating_mul(8))
    }

    /// The entries of the `.index`, and its findings.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn offset_index(&self, storage: &dyn Storage) -> Result<&ParsedSidecar<OffsetEntry>> {
        let parse = |bytes: &[u8]| offset_index::parse(bytes, self.file.base());
        read_index(&self.indexes.offsets, &self.file, "index", storage, parse)
    }

    /// The entries of the `.timeindex`, and its findings.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn time_index(&self, storage: &dyn Storage) -> Result<&ParsedSidecar<TimeEntry>> {
        let parse = |bytes: &[u8]| time_index::parse(bytes, self.file.base());
        read_index(&self.indexes.times, &self.file, "timeindex", storage, parse)
    }

    /// The findings of the `.index` alone (missing, cut, out of order), and of look-ups that it led nowhere.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn index_findings(&self, storage: &dyn Storage) -> Result<Vec<Finding>> {
        if self.file.is_of_0_7() {
            return Ok(Vec::new());
        }
        let mut found = self.in_sidecar(&self.offset_index(storage)?.findings, "index", storage);
        found.extend(self.misleading());
        Ok(found)
    }

    /// Findings of a file next to the log.
    pub fn in_sidecar(&self, findings: &[SidecarFinding], suffix: &str, storage: &dyn Storage) -> Vec<Finding> {
        let path = Arc::from(storage.shown(&sidecar(&self.file.path, suffix)));
        findings.iter().map(|finding| Finding::of_sidecar(finding.clone(), &path)).collect()
    }

    /// The bytes that a read needs, as `byte_range` or `valid_range` finds them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn range_to_read(&self, wanted: &WantedRange, storage: &dyn Storage) -> Result<(u64, Option<u64>)> {
        let (start, end) = wanted.bounds();
        match () {
            () if wanted.has_positions || (start.is_none() && end.is_none()) => Ok((0, None)),
            () if wanted.skips_damage => self.valid_range(start, end, storage),
            () => self.byte_range(start, end, storage),
        }
    }

    /// Find the bytes of the batches that may hold offsets from `start` (inclusive) to `end` (exclusive): the position of the first batch,
    /// and the end of the last one; `None` for the end of the file.
    ///
    /// The range begins at 0, or ends at the end of the file, if headers cannot be read: the decode raises the error. It begins before a
    /// damaged chunk of an upload if the first of the offsets was in that chunk. Source: `LogSegment.translateOffset` in Kafka.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn byte_range(&self, start: Option<i64>, end: Option<i64>, storage: &dyn Storage) -> Result<(u64, Option<u64>)> {
        if self.file.is_of_0_7() {
            return Ok((0, None));
        }
        let mut first = 0;
        match self.ends_of_range(start, end, &mut first, storage) {
            Ok(range) => Ok(range),
            Err(error) if error.lost_bytes().is_some() => {
                let from = || no_data_error(self.valid_range(start, None, storage));
                let first = if first > 0 { first } else { from()?.map_or(0, |(first, _)| first) };
                Ok((first, None))
            }
            Err(error) if error.is_about_data() => Ok((first, None)),
            Err(error) => Err(error),
        }
    }

    fn ends_of_range(&self, start: Option<i64>, end: Option<i64>, first: &mut u64, storage: &dyn Storage) -> Result<(u64, Option<u64>)> {
        if let Some(start) = start {
            let found = self.find_offset(start, storage)?;
            *first = found.position;
            if found.header.is_none() {
                // Zeros after the last batch are damage only if offsets are missing, which the last batch shows.
                let is_followed = self.file.next_offset.is_some();
                let last = if is_followed { self.ask(storage, |lookup| lookup.last_batch())? } else { None };
                return Ok((last.map_or(*first, |last| last.position), None));
            }
        }
        let Some(end) = end else { return Ok((*first, None)) };
        let found = self.find_offset(end.saturating_sub(1), storage)?;
        let Some(header) = found.header else { return Ok((*first, None)) };
        let after = found.position.saturating_add(header.size);
        let increase = self.ask(storage, |lookup| lookup.offsets_increase_at(after, header.last_offset))?;
        Ok((*first, increase.then_some(after.max(*first))))
    }

    /// Find the bytes of offsets for a read that skips damage: no damaged header can hide a valid batch. As `byte_range`, but more bytes: from
    /// entry to entry of the index, and the whole file without an index.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn valid_range(&self, start: Option<i64>, end: Option<i64>, storage: &dyn Storage) -> Result<(u64, Option<u64>)> {
        if self.file.is_of_0_7() { Ok((0, None)) } else { self.ask(storage, |lookup| lookup.valid_range(start, end)) }
    }

    /// Find the first batch that ends at or after an offset.
    ///
    /// # Errors
    /// If headers on the way cannot be read, or the file cannot be read.
    pub fn find_offset(&self, offset: i64, storage: &dyn Storage) -> Result<BatchLookup> {
        let Some(remembered) = &self.remembered else { return self.look_up_offset(offset, storage) };
        let known = *remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, place)) = known.filter(|(known, _)| *known == offset) {
            return Ok(place);
        }
        let found = self.look_up_offset(offset, storage)?;
        *remembered.lock().unwrap_or_else(PoisonError::into_inner) = Some((offset, found));
        Ok(found)
    }

    /// The bytes that hold the batch of an offset, if there is one although no header shows it; `None` if a header does. They begin at the last
    /// valid batch before the offset to which the index leads, and end at the first batch after the offset, or at the end of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn hidden_range(&self, offset: i64, storage: &dyn Storage) -> Result<Option<(u64, Option<u64>)>> {
        if self.file.is_of_0_7() {
            return Ok(None);
        }
        // The decode raises the error of headers that cannot be read.
        let Some(found) = no_data_error(self.find_offset(offset, storage))? else { return Ok(None) };
        if found.header.is_some_and(|header| header.base_offset <= offset) {
            return Ok(None);
        }
        let (first, _) = self.valid_range(Some(offset), None, storage)?;
        Ok(Some((found.position.min(first), found.header.map(|_| found.position))))
    }

    fn look_up_offset(&self, offset: i64, storage: &dyn Storage) -> Result<BatchLookup> {
        let found = self.ask(storage, |lookup| lookup.offset(offset))?;
        if !found.by_index {
            self.bytes_walked.fetch_add(found.position, Ordering::Relaxed);
        }
        let entries = valid_entries(self.offset_index(storage)?);
        if let Some(finding) = sidecar_check::misleading_entry(entries, offset, found.position, found.by_index) {
            let finding = self.in_sidecar(&[finding], "index", storage).pop();
            *self.misleading.lock().unwrap_or_else(PoisonError::into_inner) = finding;
        }
        Ok(found)
    }

    /// Find the first batch that may hold a record of this time (ms) or later, by its header. Nothing is found in an upload with a damaged
    /// chunk if its manifest says that all of its records are earlier.
    ///
    /// # Errors
    /// `NotASegment`; if headers on the way cannot be read, or the file cannot be read.
    pub fn find_timestamp(&self, timestamp: i64, storage: &dyn Storage) -> Result<BatchLookup> {
        storage.ensure_segment(&self.file.path)?;
        match self.ask(storage, |lookup| lookup.timestamp(timestamp)) {
            Ok(found) => {
                self.bytes_walked.fetch_add(found.position, Ordering::Relaxed);
                if found.header.is_none() {
                    *self.end_of_times.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.position);
                }
                Ok(found)
            }
            Err(error) if error.lost_bytes().is_some() => {
                let latest = storage.uploaded_max_timestamp(&self.file.path).ok().flatten();
                if !latest.is_some_and(|latest| (0..timestamp).contains(&latest)) {
                    return Err(error);
                }
                Ok(BatchLookup { header: None, position: self.size(storage)?, by_index: false })
            }
            Err(error) => Err(error),
        }
    }

    /// The position of the first batch that may hold a record of this time (ms) or later; `None` if headers show that none does, and 0 if
    /// headers cannot be read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn position_for_timestamp(&self, timestamp: i64, storage: &dyn Storage) -> Result<Option<u64>> {
        if self.file.is_of_0_7() {
            return Ok(Some(0));
        }
        match self.find_timestamp(timestamp, storage) {
            Ok(found) => Ok(found.header.map(|_| found.position)),
            Err(error) if error.is_about_data() => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// The header of the last whole batch, to which the index leads; `None` if there is none.
    ///
    /// # Errors
    /// If headers cannot be read, or the file cannot be read.
    pub fn last_batch(&self, storage: &dyn Storage) -> Result<Option<BatchHeader>> {
        self.ask(storage, |lookup| lookup.last_batch())
    }

    /// The offset and the position after the last whole batch, to which the index leads; the first of both if there is none.
    ///
    /// # Errors
    /// If headers cannot be read, or the file cannot be read.
    pub fn end(&self, storage: &dyn Storage) -> Result<(Option<i64>, u64)> {
        let last = self.ask(storage, |lookup| lookup.last_batch())?;
        Ok(last
            .map_or((self.file.base_offset, 0), |last| (Some(last.last_offset.saturating_add(1)), last.position.saturating_add(last.size))))
    }

    /// The offset after the last whole batch, the first offset if there is none; `None` if headers cannot be read, and for Kafka 0.7.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_offset(&self, storage: &dyn Storage) -> Result<Option<i64>> {
        if self.file.is_of_0_7() {
            return Ok(None);
        }
        Ok(no_data_error(self.end(storage))?.and_then(|(end, _)| end))
    }

    /// The offset after the last batch if it is before an offset; `None` if it is not, or headers cannot be read. `past_damage`: a damaged
    /// header may claim the bytes of valid batches up to the end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn end_before(&self, offset: i64, past_damage: bool, storage: &dyn Storage) -> Result<Option<i64>> {
        let Some(end) = self.next_offset(storage)?.filter(|end| offset > *end) else { return Ok(None) };
        let is_beyond = past_damage && offset <= growing::end_of_valid(&self.file, Formats::Every, storage)?;
        Ok(Some(end).filter(|_| !is_beyond))
    }

    /// The positions where the entry around a position begins and ends; `None` if an entry begins there, or none is there. Offsets of Kafka 0.7
    /// are such positions. Nothing is found after damage, which the read reports.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn entry_around(&self, position: u64, storage: &dyn Storage) -> Result<Option<(u64, u64)>> {
        let formats = if self.file.is_of_0_7() { Formats::Only(RecordFormat::V07) } else { Formats::default() };
        let trust = BatchTrust { formats, checksums: Checksums::None, skips_damage: false, ..BatchTrust::valid() };
        let source = storage.source(&self.file.path, 0, None, AtDamage::Fail)?;
        let mut batches = Batches::new(source, trust, &storage.interrupt());
        while let Some(batch) = no_data_error(batches.next_batch())?.flatten() {
            let (begin, end) = (batch.header.position, batch.header.position.saturating_add(batch.header.size));
            if position < end {
                return Ok((begin < position).then_some((begin, end)));
            }
        }
        Ok(None)
    }

    /// Positions of batches where the file can be cut into pieces of about `step` bytes, between `start` and `end`; `valid`: only before batches
    /// whose checksum matches, for reads that skip damage.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn cuts(&self, step: u64, start: u64, end: Option<u64>, valid: bool, storage: &dyn Storage) -> Result<Vec<u64>> {
        if self.file.is_of_0_7() {
            return Ok(Vec::new());
        }
        let end = end.map_or_else(|| self.size(storage), Ok)?;
        // Cuts do not need damaged bytes of a store, and the reader of the pieces reports them.
        self.ask_past_damage(storage, |lookup| {
            let cuts = lookup.splits(start, end, step)?;
            if valid { lookup.valid_splits(cuts) } else { Ok(cuts) }
        })
    }

    /// Where the file can be cut into pieces of at most `step` offsets, from `start` to before `end`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn offset_cuts(&self, step: i64, start: i64, end: Option<i64>, storage: &dyn Storage) -> Result<Vec<SegmentSplit>> {
        if self.file.is_of_0_7() {
            return Ok(Vec::new());
        }
        self.ask_past_damage(storage, |lookup| lookup.offset_splits(start, end.unwrap_or(i64::MAX), step))
    }

    /// The offset after the last batch between two positions, see `Lookup::offset_within`.
    ///
    /// # Errors
    /// If headers cannot be read, or the file cannot be read.
    pub fn offset_within(&self, start: u64, end: u64, takes_first: bool, storage: &dyn Storage) -> Result<Option<i64>> {
        self.ask(storage, |lookup| lookup.offset_within(start, end, takes_first))
    }

    /// Where the segment begins, by its first batch, past damage before it; `None` if it has no batch. See `Lookup::first_offset`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn first_offset(&self, allowed: &OffsetRange, storage: &dyn Storage) -> Result<Option<i64>> {
        self.ask_with(storage, AtDamage::GoOn, &[], |lookup| lookup.first_offset(allowed))
    }

    /// The finding (SEG-1) of a segment that holds offsets from `first` to those of its last batch, which its name does not allow. Its last
    /// offset is `None` if the end is damaged. `None` if `first` and the last batch are inside. Of the `.index` only the end is read.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn misnamed(&self, first: i64, allowed: &OffsetRange, storage: &dyn Storage) -> Result<Option<Finding>> {
        let tail = storage.tail(&sidecar(&self.file.path, "index"), INDEX_TAIL)?;
        let entries = offset_index::entries(&tail, allowed.start);
        let last =
            self.ask_with(storage, AtDamage::GoOn, &entries, |lookup| match no_data_error(lookup.last_batch_before_zeros())?.flatten() {
                Some(last) => no_data_error(lookup.valid_at(last.position)).map(Option::flatten),
                None => Ok(None),
            })?;
        let (last_offset, end) = last.map_or((None, 0), |last| (Some(last.last_offset), last.position.saturating_add(last.size)));
        if allowed.contains(first) && last.is_none_or(|last| allowed.ensure_holds(&last).is_ok()) {
            return Ok(None);
        }
        let kind = ErrorKind::OutsideSegment { first, last: last_offset.unwrap_or(first), start: allowed.start, end: allowed.end };
        let found = Finding::of_error(&Error::from(kind).in_batch(first).in_field("baseOffset"), 0, end);
        Ok(Some(Finding { last_offset, ..found }.in_file(&Arc::from(storage.shown(&self.file.path)))))
    }

    fn misleading(&self) -> Option<Finding> {
        self.misleading.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks something up with the entries of the `.index`.
    fn ask<T>(&self, storage: &dyn Storage, look_up: impl FnOnce(&Lookup<'_>) -> Result<T>) -> Result<T> {
        self.ask_with(storage, AtDamage::Fail, valid_entries(self.offset_index(storage)?), look_up)
    }

    fn ask_past_damage<T>(&self, storage: &dyn Storage, look_up: impl FnOnce(&Lookup<'_>) -> Result<T>) -> Result<T> {
        self.ask_with(storage, AtDamage::GoOn, valid_entries(self.offset_index(storage)?), look_up)
    }

    fn ask_with<T>(
        &self,
        storage: &dyn Storage,
        at_damage: AtDamage,
        offsets: &[OffsetEntry],
        look_up: impl FnOnce(&Lookup<'_>) -> Result<T>,
    ) -> Result<T> {
        let (log, len) = storage.open_again(&self.file.path, at_damage, &self.indexes.log)?;
        // What follows the log is asked for after it was opened.
        let next = self.file.next_offset.filter(|next| storage.has_next(&self.file.path, *next));
        let ending = next.map_or(Ending::Open, |next| Ending::Segment { first: Some(self.file.base()), next });
        let lookup = Lookup { log: &*log, len, limits: Limits::default(), offsets, ending };
        look_up(&lookup).map_err(|error| in_file(error, &self.file.path, storage))
    }
}

fn read_index<'a, T>(
    known: &'a OnceLock<ParsedSidecar<T>>,
    file: &SegmentFile,
    suffix: &str,
    storage: &dyn Storage,
    parse: impl FnOnce(&[u8]) -> ParsedSidecar<T>,
) -> Result<&'a ParsedSidecar<T>> {
    if let Some(parsed) = known.get() {
        return Ok(parsed);
    }
    let bytes = storage.read(&sidecar(&file.path, suffix))?;
    Ok(known.get_or_init(|| bytes.map_or_else(missing, |bytes| parse(&bytes))))
}

fn valid_entries<T>(parsed: &ParsedSidecar<T>) -> &[T] {
    if parsed.is_valid() { &parsed.entries } else { &[] }
}

fn missing<T>() -> ParsedSidecar<T> {
    ParsedSidecar { entries: Vec::new(), findings: vec![SidecarFinding { problem: SidecarProblem::Missing, position: 0, length: 0 }] }
}
