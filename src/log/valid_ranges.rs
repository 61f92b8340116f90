//! What of a log must be read for wanted offsets, and where it can be cut, when reading goes on past damage: no header is believed whose
//! entry is not intact, since a damaged one may claim any offsets and any length.

use super::Lookup;
use super::index_search::{from_first, from_last, position};
use crate::decode::{ChecksumVerifier, Checksums};
use crate::error::Result;
use crate::framing::{Piece, Runs, Source};
use crate::limits::Limits;
use crate::model::Formats;

/// Bytes in which an intact entry is searched for at a time: the first one is near, as a rule.
const SEARCHED: usize = 64 << 10;

/// Where the first intact entry of a source begins; `None` when it has none.
///
/// # Errors
/// `Io`, `Interrupted`.
pub fn first_valid_entry(source: Source, limits: &Limits) -> Result<Option<u64>> {
    let verifier = ChecksumVerifier { formats: Formats::Experimental, limits: *limits, checksums: Checksums::All };
    let mut runs = Runs::new(source, *limits, SEARCHED).of(verifier.formats).with_recovery(Box::new(verifier));
    while let Some(piece) = runs.next_piece()? {
        if let Piece::Run(run) = piece {
            return Ok(Some(run.position));
        }
    }
    Ok(None)
}

impl Lookup<'_> {
    /// The bytes that hold all intact batches with offsets from `start` to before `end`, and the last intact batch before them if there is
    /// one: from an intact batch to which an entry of the index leads, or the beginning of the log, to another one; `None` for the end.
    ///
    /// # Errors
    /// `Io`.
    pub fn intact_range(&self, start: Option<i64>, end: Option<i64>) -> Result<(u64, Option<u64>)> {
        let first = start.map_or(Ok(0), |start| self.before(start))?;
        let last = end.map_or(Ok(None), |end| self.behind(end))?;
        Ok((first, last.map(|last| last.max(first))))
    }

    /// Leaves out positions where no intact batch begins.
    ///
    /// # Errors
    /// `Io`.
    pub fn intact_cuts(&self, cuts: Vec<u64>) -> Result<Vec<u64>> {
        let mut kept = Vec::with_capacity(cuts.len());
        for cut in cuts {
            if self.valid_at(cut)?.is_some() {
                kept.push(cut);
            }
        }
        Ok(kept)
    }

    /// Where an intact batch begins that ends before `offset`.
    fn before(&self, offset: i64) -> Result<u64> {
        let below = self.offsets.partition_point(|entry| entry.offset < offset);
        let found = from_last(self.offsets.get(..below).unwrap_or_default(), |hint| {
            let header = position(hint).map_or(Ok(None), |position| self.valid_at(position))?;
            Ok(header.filter(|header| header.last_offset < offset).map(|header| header.position))
        });
        Ok(found?.unwrap_or(0))
    }

    /// The end of an intact batch that reaches `offset` or lies behind it.
    fn behind(&self, offset: i64) -> Result<Option<u64>> {
        let below = self.offsets.partition_point(|entry| entry.offset < offset);
        from_first(self.offsets.get(below..).unwrap_or_default(), |hint| {
            let header = position(hint).map_or(Ok(None), |position| self.valid_at(position))?;
            Ok(header.filter(|header| header.last_offset >= offset).map(|header| header.position.saturating_add(header.size)))
        })
    }
}
