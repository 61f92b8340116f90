//! The end of a segment that a broker appends to.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;

use crate::decode::transactions::Scan;
use crate::error::Result;
use crate::limits::Limits;
use crate::log::{GrowingLog, LastBatch, Lookup, ReadAt};
use crate::model::Formats;
use crate::py::interrupt::Signals;
use crate::py::source::paths;
use crate::sidecar::offset_index;

/// A batch to be known again: position, stored checksum, last offset.
type Last = (u64, u32, i64);
/// Bytes, the last exclusive.
type Bytes = (u64, u64);

/// What a walk along a growing segment met.
///
/// Attributes:
///     last: the last whole batch; None when there is none behind the place where the walk began.
///     has_more: there are batches behind `until`.
///     transactions: those that are open there, as producer id and first offset.
///     unfinished: where an entry begins that does not count yet; None when there is none.
///     zeros: the zeros at the end of a preallocated segment, for the next walk along it, which does not read them again.
#[pyclass(frozen, get_all, module = "logsegment._core")]
pub struct Followed {
    last: Option<Last>,
    has_more: bool,
    transactions: Vec<(i64, i64)>,
    unfinished: Option<u64>,
    zeros: Bytes,
}

/// Walk along the batch headers of a growing segment to its end.
///
/// Args:
///     path: the segment.
///     base_offset: its first offset.
///     since: the batch from which on the headers are read, from an earlier call; None for the end as its `.index` tells it.
///     zeros: bytes that an earlier call found to be zeros up to the end of the same segment.
///     transactions: those that are open where the walk begins; None when nobody asks. Without `since` the walk then begins with the segment,
///         and a damaged marker is an error, as is the damaged first batch of a transaction that stays open.
///     until: batches from this offset on are not looked at.
///     is_checked: the very last batch counts only when its checksum matches.
///     experimental: batches of magic 3 are batches too; else they are an error, as for a read that does not take them.
///
/// Returns:
///     None when another batch, or none, stands where `since` was.
#[pyfunction]
#[pyo3(signature = (path, base_offset, *, since=None, zeros=(0, 0), transactions=None, until=None, is_checked=false, experimental=false),
    text_signature = "(path, base_offset, *, since=None, zeros=(0, 0), transactions=None, until=None, is_checked=False, experimental=False)")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python call")]
pub fn follow_log(
    py: Python<'_>,
    path: PathBuf,
    base_offset: i64,
    since: Option<Last>,
    zeros: Bytes,
    transactions: Option<Vec<(i64, i64)>>,
    until: Option<i64>,
    is_checked: bool,
    experimental: bool,
) -> PyResult<Option<Followed>> {
    let (signals, interrupt) = Signals::new();
    let (log, len) = paths::open(&path, &signals).map_err(|error| paths::raised(py, &error, &path, &signals))?;
    let formats = Formats::later(experimental);
    let growing = GrowingLog {
        log: &*log,
        len,
        limits: Limits::default(),
        formats,
        until,
        is_checked,
        zeros: zeros.0..zeros.1,
        interrupt: &interrupt,
    };
    let since = since.map(|(position, crc, last_offset)| LastBatch { position, crc, last_offset });
    let mut scan = Scan::default();
    for (producer_id, first_offset) in transactions.iter().flatten() {
        scan.begin(*producer_id, *first_offset);
    }
    let walked = py.detach(|| {
        let start = match since {
            Some(last) if !growing.holds(&last)? => return Ok(None),
            Some(last) => last.position,
            None if transactions.is_some() => 0,
            None => near_end(&*log, len, (&path, base_offset), &signals)?,
        };
        growing.walk(start, transactions.is_some().then_some(&mut scan)).map(Some)
    });
    let walked = walked.map_err(|error| signals.raised(py, &paths::in_file(error, &path)))?;
    Ok(walked.map(|walked| Followed {
        last: walked.last.map(|last| (last.position, last.crc, last.last_offset)),
        unfinished: walked.unfinished,
        has_more: walked.has_more,
        transactions: scan.open(),
        zeros: (walked.zeros.start, walked.zeros.end),
    }))
}

/// An index that cannot be read is a hint that is missing.
fn near_end(log: &dyn ReadAt, len: u64, (path, base_offset): (&Path, i64), signals: &Signals) -> Result<u64> {
    let bytes = paths::read(&path.with_extension("index"), signals).ok().flatten().unwrap_or_default();
    let parsed = offset_index::parse(&bytes, base_offset);
    let offsets = if parsed.is_valid() { parsed.entries.as_slice() } else { &[] };
    Lookup { log, len, limits: Limits::default(), offsets }.near_end()
}
