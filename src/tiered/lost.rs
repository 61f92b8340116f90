//! The offsets of a damaged chunk: those that the valid batches around it leave (TS-45).

use std::io::{self, Read};
use std::sync::Arc;

use super::chunk_table::Chunk;
use super::chunks::{ChunkedFile, DescribeLoss};
use super::error::{ChunkError, TieredResult};
use super::objects::SegmentObjects;
use super::part::{Progress, shown};
use super::valid_batches::each_valid;
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::sidecar::offset_index;
use crate::wire::as_u64;

/// Most damaged chunks that are skipped in a row for the offsets of one; with more, the reported offsets are a wider range.
const MOST_DAMAGED: usize = 64;

impl DescribeLoss for SegmentObjects {
    fn lost_chunk(
        &self,
        file: &Arc<ChunkedFile>,
        chunk: &Chunk,
        reason: &str,
        last: u64,
        interrupt: &Interrupt,
    ) -> TieredResult<ChunkError> {
        let (index, first_offset, last_offset) = self.hints(interrupt);
        let begin = first_lost(file, chunk, &index, interrupt)?.or(first_offset);
        let end = last_lost(file, chunk, interrupt)?.or(last_offset);
        let end = begin.zip(end).map_or(end, |(begin, end)| Some(begin.max(end)));
        let bytes = chunk.bytes();
        let place =
            format!("bytes {} to {} of the segment, offsets {} to {}", bytes.start, bytes.end.saturating_sub(1), shown(begin), shown(end));
        let number = chunk.number;
        let chunks =
            if last == number { format!("chunk {number} ({place}) is") } else { format!("chunks {number} to {last} ({place}) are") };
        let text = format!("{}: {chunks} lost: {reason}", file.name);
        Ok(ChunkError { text, chunk: Some(number), bytes, first_offset: begin, last_offset: end })
    }
}

/// Returns the offset after the last valid batch that ends before a chunk, and before damaged chunks directly before it.
fn first_lost(file: &Arc<ChunkedFile>, chunk: &Chunk, index: &[u8], interrupt: &Interrupt) -> TieredResult<Option<i64>> {
    let mut end = chunk.position;
    for _ in 0..MOST_DAMAGED {
        let begin = indexed_position(index, end);
        let mut last = None;
        each_undamaged(file, begin, end, |source| {
            each_valid(source, false, interrupt, |batch| {
                last = Some(batch.last_offset);
                true
            })
            .map(|()| true)
        })?;
        if last.is_some() || begin == 0 {
            return Ok(last.map(|last| last.saturating_add(1)));
        }
        end = begin;
    }
    Ok(None)
}

/// Returns the offset before the first valid batch that begins after a chunk, and after damaged chunks directly after it.
fn last_lost(file: &Arc<ChunkedFile>, chunk: &Chunk, interrupt: &Interrupt) -> TieredResult<Option<i64>> {
    let mut first = None;
    each_undamaged(file, chunk.bytes().end, file.size(), |source| {
        let walked = each_valid(source, true, interrupt, |batch| {
            first = Some(batch.base_offset);
            false
        });
        walked.map(|()| first.is_none())
    })?;
    Ok(first.map(|first: i64| first.saturating_sub(1)))
}

/// Shows the bytes between two positions in pieces without damaged chunks, until `look` returns false.
fn each_undamaged(
    file: &Arc<ChunkedFile>,
    mut start: u64,
    end: u64,
    mut look: impl FnMut(Source) -> crate::error::Result<bool>,
) -> TieredResult<()> {
    for _ in 0..MOST_DAMAGED {
        let progress = Progress::default();
        progress.set(start);
        let reader = Undamaged { file: Arc::clone(file), end, at: progress.clone() };
        if !look(Source::reader(Box::new(reader), start))? || progress.get() >= end {
            return Ok(());
        }
        start = file.end_of_chunk(progress.get());
    }
    Ok(())
}

/// The bytes between two positions of a segment, up to a damaged chunk.
struct Undamaged {
    file: Arc<ChunkedFile>,
    end: u64,
    at: Progress,
}

impl Read for Undamaged {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let at = self.at.get();
        let wanted = as_u64(to.len()).min(self.end.saturating_sub(at));
        if wanted == 0 {
            return Ok(0);
        }
        // Whoever reads the segment asks for the damaged bytes themselves, and is interrupted there.
        let bytes = self.file.valid_bytes(at, wanted, &Interrupt::default())?;
        let len = bytes.len().min(to.len());
        if let (Some(to), Some(from)) = (to.get_mut(..len), bytes.get(..len)) {
            to.copy_from_slice(from);
        }
        self.at.set(at.saturating_add(as_u64(len)));
        Ok(len)
    }
}

/// Returns the start of a batch before a position, by the entries of an `.index`; 0 if it has no such entry or is damaged.
fn indexed_position(index: &[u8], position: u64) -> u64 {
    let parsed = offset_index::parse(index, 0);
    if !parsed.is_valid() {
        return 0;
    }
    let positions = parsed.entries.iter().filter_map(|entry| u64::try_from(entry.position).ok());
    let before: Vec<u64> = positions.filter(|entry| *entry < position).collect();
    before.len().checked_sub(2).and_then(|at| before.get(at)).copied().unwrap_or(0)
}
