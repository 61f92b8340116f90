//! The end of a segment that a broker appends to.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;

use super::beside;
use super::interrupt::Signals;
use crate::decode::transactions::Scan;
use crate::error::Result;
use crate::limits::Limits;
use crate::log::{LastBatch, Lookup, ReadAt, Tail};
use crate::model::Formats;
use crate::sidecar::offset_index;

/// A batch to be known again: position, stored checksum, last offset.
type Last = (u64, u32, i64);
/// The last batch, whether there are batches behind `until`, the open transactions as producer id and first offset, and where an entry
/// begins that does not count yet.
type Followed = (Option<Last>, bool, Vec<(i64, i64)>, Option<u64>);

/// Walk along the batch headers of a growing segment to its end.
///
/// Args:
///     path: the segment.
///     base_offset: its first offset.
///     since: the batch from which on the headers are read, from an earlier call; None for the end as its `.index` tells it.
///     transactions: those that are open where the walk begins; None when nobody asks. Without `since` the walk then begins with the segment.
///     until: batches from this offset on are not looked at.
///     is_checked: the very last batch counts only when its checksum matches.
///     experimental: batches of magic 3 are batches too; else they are an error, as for a read that does not take them.
///
/// Returns:
///     None when another batch, or none, stands where `since` was.
#[pyfunction]
#[pyo3(signature = (path, base_offset, *, since=None, transactions=None, until=None, is_checked=false, experimental=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python call")]
pub fn follow_log(
    py: Python<'_>,
    path: PathBuf,
    base_offset: i64,
    since: Option<Last>,
    transactions: Option<Vec<(i64, i64)>>,
    until: Option<i64>,
    is_checked: bool,
    experimental: bool,
) -> PyResult<Option<Followed>> {
    let (signals, interrupt) = Signals::new();
    let (log, len) = beside::open(&path, &signals).map_err(|error| beside::raised(py, &error, &path, &signals))?;
    let formats = Formats::later(experimental);
    let tail = Tail { log: &*log, len, limits: Limits::default(), formats, until, is_checked, interrupt: &interrupt };
    let since = since.map(|(position, crc, last_offset)| LastBatch { position, crc, last_offset });
    let mut scan = Scan::default();
    for (producer_id, first_offset) in transactions.iter().flatten() {
        scan.begin(*producer_id, *first_offset);
    }
    let walked = py.detach(|| {
        let start = match since {
            Some(last) if !tail.stands(&last)? => return Ok(None),
            Some(last) => last.position,
            None if transactions.is_some() => 0,
            None => near_end(&*log, len, (&path, base_offset), &signals)?,
        };
        tail.walk(start, &mut scan).map(Some)
    });
    let walked = walked.map_err(|error| signals.raised(py, &beside::in_file(error, &path)))?;
    Ok(walked.map(|walked| {
        let last = walked.last.map(|last| (last.position, last.crc, last.last_offset));
        (last, walked.has_more, scan.open(), walked.unfinished)
    }))
}

/// An index that cannot be read is a hint that is missing.
fn near_end(log: &dyn ReadAt, len: u64, (path, base_offset): (&Path, i64), signals: &Signals) -> Result<u64> {
    let bytes = beside::read(&path.with_extension("index"), signals).ok().flatten().unwrap_or_default();
    let parsed = offset_index::parse(&bytes, base_offset);
    let offsets = if parsed.is_sound() { parsed.entries.as_slice() } else { &[] };
    Lookup { log, len, limits: Limits::default(), offsets, times: &[] }.near_end()
}
