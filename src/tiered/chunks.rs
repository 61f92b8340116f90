//! The bytes of a segment as they were before the upload: range reads that fetch only the chunks that they need (TS-42).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::cache::Cache;
use super::chunk_table::{Chunk, ChunkTable};
use super::cipher::{ChunkOpener, other_size};
use super::error::{ChunkError, TieredError, TieredResult, counted};
use super::part::FetchedBytes;
use crate::error::grouped;
use crate::interrupt::Interrupt;
use crate::stores::PlacedFile;
use crate::validate::{Finding, Severity};
use crate::wire::as_u64;

/// Most stored bytes that are fetched with one request. One chunk is always fetched whole.
pub(super) const MOST_FETCHED: u64 = 8 << 20;
/// Most chunks of one request.
pub(super) const MOST_CHUNKS: usize = 1024;
/// No entry begins with this byte: its length would be negative.
const FILLER: u8 = 0xff;
/// Bytes of decrypted and decompressed chunks that are kept. A chunk has 4 MiB as a rule, and one alone may have more.
const MOST_CACHED: u64 = 64 << 20;

/// A segment, its version, and the number of a chunk.
type ChunkKey = (Arc<str>, u64);
static CHUNKS: Cache<ChunkKey, Bytes> = Cache::new(MOST_CACHED, |bytes| as_u64(bytes.len()) + CHUNK_COST);
/// Bytes that a kept chunk takes beside its own.
const CHUNK_COST: u64 = 256;

/// Forget all chunks that this process keeps.
pub fn forget_chunks() {
    CHUNKS.clear();
}

/// The number of chunks that this process keeps.
pub fn cached_chunks() -> usize {
    CHUNKS.len()
}

/// The chunks of one segment. Any thread may read them.
pub(super) struct ChunkedFile {
    /// The object, as people may see its name.
    pub(super) name: String,
    pub(super) stored: PlacedFile,
    pub(super) table: ChunkTable,
    /// `None` if the object holds the bytes as they are.
    opener: Option<ChunkOpener>,
    losses: Box<dyn DescribeLoss>,
    version: String,
    /// Names the segment in the cache.
    key: Arc<str>,
    /// Chunks from this number on are cut off, however many the manifest claims.
    whole: u64,
    /// Up to here the bytes are those of the object, whatever chunks they are in.
    pub(super) stored_end: u64,
    damaged: Mutex<BTreeMap<u64, Damaged>>,
}

/// Finds the offsets that are lost with a damaged chunk.
pub(super) trait DescribeLoss: Send + Sync {
    /// Returns the error of a damaged chunk, or of several: `chunk` is the first, with the bytes of all, and `last` the number of the last.
    ///
    /// # Errors
    /// Those of the store.
    fn lost_chunk(
        &self,
        file: &Arc<ChunkedFile>,
        chunk: &Chunk,
        reason: &str,
        last: u64,
        interrupt: &Interrupt,
    ) -> TieredResult<ChunkError>;
}

/// What is wrong with a chunk, first as the object shows it, and then with the offsets that are lost.
#[derive(Clone)]
enum Damaged {
    Reason(String),
    Error(Box<ChunkError>),
}

impl fmt::Debug for ChunkedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkedFile({:?})", self.name)
    }
}

impl ChunkedFile {
    /// # Errors
    /// `Manifest` if the object is longer than its manifest says.
    pub(super) fn new(
        name: String,
        stored: PlacedFile,
        table: ChunkTable,
        opener: Option<ChunkOpener>,
        losses: Box<dyn DescribeLoss>,
    ) -> TieredResult<Self> {
        let size = stored.size();
        if size > table.object_size() {
            let (found, claimed) = (counted(size, "byte"), grouped(table.object_size()));
            let text = format!("{name} has {found}, but its manifest has {claimed}: they do not belong together");
            return Err(TieredError::manifest("TS-18", text));
        }
        let version = format!("{} {}", size, stored.version().1);
        let key = format!("{name} {version} {:x}", table.layout()).into();
        let whole = table.whole_in(size);
        let is_plain = opener.is_none() && (table.is_identity() || size == table.file_size);
        let stored_end = if is_plain { size } else { 0 };
        Ok(Self { name, stored, table, opener, losses, version, key, whole, stored_end, damaged: Mutex::default() })
    }

    pub(super) fn size(&self) -> u64 {
        self.table.file_size
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn ensure_same(&self, interrupt: &Interrupt) -> TieredResult<()> {
        Ok(self.stored.ensure_same(interrupt)?)
    }

    /// Returns the bytes of a range, which is in the segment; fewer before a damaged chunk, unless damage is skipped.
    ///
    /// # Errors
    /// `Chunk` if the first of them is in a damaged chunk; those of the store.
    pub(super) fn read(self: &Arc<Self>, wanted: Range<u64>, skips_damage: bool, interrupt: &Interrupt) -> TieredResult<FetchedBytes> {
        let (mut part, mut pieces, mut at) = (FetchedBytes::default(), Vec::new(), wanted.start);
        if at < self.stored_end {
            let stop = wanted.end.min(self.stored_end);
            let bytes = self.stored.read(at..stop, interrupt)?;
            part.count(&bytes);
            pieces.push(bytes);
            at = stop;
        }
        'runs: for run in self.runs(at..wanted.end) {
            interrupt.ensure_wanted()?;
            for (chunk, found) in run.iter().zip(self.fetched(&run, &mut part, interrupt)?) {
                let bytes = at.max(chunk.position)..wanted.end.min(chunk.bytes().end);
                let within = |position: u64| usize::try_from(position - chunk.position).unwrap_or(usize::MAX);
                if let Some(data) = found {
                    pieces.push(data.slice(within(bytes.start)..within(bytes.end)));
                    continue;
                }
                if !skips_damage && !pieces.is_empty() {
                    // A reader that asks for more than it needs gets the bytes before the damage.
                    break 'runs;
                }
                let error = self.lost(chunk, interrupt)?;
                if !skips_damage {
                    return Err(TieredError::Chunk(error));
                }
                part.findings.push(self.finding(&error));
                // Only as many bytes as were asked for: the size of a missing chunk is a claim.
                let len = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
                pieces.push(vec![FILLER; len].into());
            }
        }
        part.bytes = joined(pieces);
        Ok(part)
    }

    /// Returns bytes from `position` on, at most to the end of its chunk; no bytes if that is damaged.
    pub(super) fn valid_bytes(&self, position: u64, len: u64, interrupt: &Interrupt) -> TieredResult<Bytes> {
        let end = position.saturating_add(len).min(self.size());
        if position < self.stored_end {
            return Ok(self.stored.read(position..end.min(self.stored_end), interrupt)?);
        }
        let Some(chunk) = self.chunk_at(position) else { return Ok(Bytes::new()) };
        let found = self.fetched(&[chunk], &mut FetchedBytes::default(), interrupt)?.pop().flatten();
        let within = |position: u64| usize::try_from(position - chunk.position).unwrap_or(usize::MAX);
        Ok(found.map_or_else(Bytes::new, |data| data.slice(within(position)..within(end.min(chunk.bytes().end)))))
    }

    /// Returns the end of the chunk at a position of the segment; the end of the segment after the end of a cut object.
    pub(super) fn end_of_chunk(&self, position: u64) -> u64 {
        self.chunk_at(position).filter(|chunk| !self.is_cut_off(chunk)).map_or(self.size(), |chunk| chunk.bytes().end)
    }

    /// The chunk at a position. All bytes after the end of a cut object are a single chunk.
    pub(super) fn chunk_at(&self, position: u64) -> Option<Chunk> {
        self.chunks(position..position.saturating_add(1)).next()
    }

    /// The chunks of a range, without the bytes that are read as they are. All bytes after the end of a cut object are a single chunk.
    fn chunks(&self, bytes: Range<u64>) -> impl Iterator<Item = Chunk> {
        let numbers = self.table.holding(bytes);
        let end = numbers.end.min(self.whole.max(numbers.start).saturating_add(1));
        (numbers.start..end).filter_map(|number| {
            let chunk = self.table.get(number)?;
            if number < self.whole {
                return Some(chunk);
            }
            let position = chunk.position.max(self.stored_end);
            Some(Chunk { position, size: self.size().saturating_sub(position), ..chunk })
        })
    }

    /// Runs of neighbouring chunks that are fetched with one request each.
    fn runs(&self, bytes: Range<u64>) -> Vec<Vec<Chunk>> {
        let mut runs: Vec<Vec<Chunk>> = Vec::new();
        for chunk in self.chunks(bytes) {
            let begin = runs.last().and_then(|run| run.first()).map(|first| first.stored_position);
            match runs.last_mut() {
                Some(run) if run.len() < MOST_CHUNKS && begin.is_some_and(|begin| chunk.stored().end - begin <= MOST_FETCHED) => {
                    run.push(chunk);
                }
                _ => runs.push(vec![chunk]),
            }
        }
        runs
    }

    /// Returns the bytes of neighbouring chunks, `None` for a damaged one. Fetches those that are missing in the cache with one request.
    fn fetched(&self, run: &[Chunk], part: &mut FetchedBytes, interrupt: &Interrupt) -> TieredResult<Vec<Option<Bytes>>> {
        let mut found: Vec<Option<Bytes>> = run.iter().map(|chunk| self.cached(chunk)).collect();
        let is_missing: Vec<bool> = run.iter().zip(&found).map(|(chunk, found)| found.is_none() && !self.is_lost(chunk)).collect();
        let mut missing = run.iter().zip(&is_missing).filter(|(_, is_missing)| **is_missing).map(|(chunk, _)| chunk);
        let Some(first) = missing.next() else { return Ok(found) };
        let last = missing.next_back().unwrap_or(first);
        let stored = self.stored.read(first.stored_position..last.stored().end, interrupt)?;
        part.count(&stored);
        for ((chunk, found), _) in run.iter().zip(&mut found).zip(&is_missing).filter(|(_, is_missing)| **is_missing) {
            let at = |position: u64| usize::try_from(position - first.stored_position).unwrap_or(usize::MAX).min(stored.len());
            let opened = self.opened(chunk, &stored.slice(at(chunk.stored_position)..at(chunk.stored().end)));
            *found = self.kept(chunk, opened);
        }
        Ok(found)
    }

    /// Decrypts and decompresses a chunk.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn opened(&self, chunk: &Chunk, stored: &Bytes) -> std::result::Result<Bytes, String> {
        if as_u64(stored.len()) < chunk.stored_size {
            return Err(format!("the object ends at its byte {}, before the end of the chunk", self.stored.size()));
        }
        match &self.opener {
            Some(opener) => opener.opened(stored, chunk.size),
            None if as_u64(stored.len()) != chunk.size => Err(other_size(as_u64(stored.len()), chunk.size)),
            None => Ok(stored.clone()),
        }
    }

    /// Keeps an opened chunk, or what is wrong with it.
    pub(super) fn kept(&self, chunk: &Chunk, opened: std::result::Result<Bytes, String>) -> Option<Bytes> {
        match opened {
            Ok(data) => Some(CHUNKS.put((Arc::clone(&self.key), chunk.number), data)),
            Err(reason) => {
                self.damaged().entry(chunk.number).or_insert(Damaged::Reason(reason));
                None
            }
        }
    }

    pub(super) fn cached(&self, chunk: &Chunk) -> Option<Bytes> {
        // The chunk after the end of a cut object has the bytes of the rest of the segment.
        CHUNKS.get(&(Arc::clone(&self.key), chunk.number)).filter(|data| as_u64(data.len()) == chunk.size)
    }

    pub(super) fn is_lost(&self, chunk: &Chunk) -> bool {
        self.is_cut_off(chunk) || self.damaged().contains_key(&chunk.number)
    }

    /// True if the object ends before the end of a chunk.
    fn is_cut_off(&self, chunk: &Chunk) -> bool {
        chunk.stored().end > self.stored.size()
    }

    /// The error of a damaged chunk, with its offsets.
    fn lost(self: &Arc<Self>, chunk: &Chunk, interrupt: &Interrupt) -> TieredResult<Box<ChunkError>> {
        // All chunks after the end of a cut object are one error, and the first of them is its number.
        let is_cut_off = self.is_cut_off(chunk);
        let number = if is_cut_off { self.whole } else { chunk.number };
        let (chunk, last, reason) = match self.damaged().get(&number) {
            Some(Damaged::Error(error)) => return Ok(error.clone()),
            _ if is_cut_off => {
                let (size, wanted) = (self.stored.size(), self.table.object_size());
                let reason = format!("the object ends at its byte {size}, before its end at {wanted}");
                let first = self.table.get(self.whole).map_or(self.size(), |first| first.position).max(self.stored_end);
                (self.chunk_at(first).unwrap_or(*chunk), self.table.len().saturating_sub(1), reason)
            }
            Some(Damaged::Reason(reason)) => (*chunk, chunk.number, reason.clone()),
            None => (*chunk, chunk.number, "it is damaged".to_owned()),
        };
        let error = Box::new(self.losses.lost_chunk(self, &chunk, &reason, last, interrupt)?);
        self.damaged().insert(number, Damaged::Error(error.clone()));
        Ok(error)
    }

    fn finding(&self, error: &ChunkError) -> Finding {
        let text = error.text.strip_prefix(&format!("{}: ", self.name)).unwrap_or(&error.text);
        let len = error.bytes.end.saturating_sub(error.bytes.start);
        let finding = Finding::of_files("TS-45", Severity::Error, text, error.bytes.start, len).in_file(&self.name.as_str().into());
        Finding { base_offset: error.first_offset, last_offset: error.last_offset, ..finding }
    }

    fn damaged(&self) -> MutexGuard<'_, BTreeMap<u64, Damaged>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() < 2 {
        return pieces.pop().unwrap_or_default();
    }
    let mut all = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| all.extend_from_slice(piece));
    all.freeze()
}
