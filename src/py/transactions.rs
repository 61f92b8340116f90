use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::interrupt::Signals;
use super::options;
use super::source::{self, FileSource};
use crate::columns::OnError;
use crate::decode::transactions::{Place, Scan};
use crate::decode::{ChecksumJudge, Checksums, OffsetRange, transactions as core};
use crate::framing::Source;
use crate::limits::Limits;
use crate::log::Committed;
use crate::model::{ControlType, Formats};

/// What a constructor call takes.
type Parts = (Vec<(i64, i64, i64)>, Option<i64>, Vec<(i64, i64, i64)>);

/// The transactions of a partition: which offsets were aborted, of which nobody can tell, and where committed data ends.
///
/// Made by `scan_transactions`, used by `decode(isolation="read_committed", transactions=...)`. It can be pickled.
///
/// Args:
///     aborted: list of (producerId, firstOffset, lastOffset), last offset inclusive.
///     last_stable_offset: first offset of the oldest open transaction, or None when none is open.
///     doubtful: as `aborted`, of transactions whose marker may be lost: up to the last offset in front of the damage. A committed read gives
///         none of it, and tells it (TRX-5).
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.Transactions([(7, 100, 120)]).aborted
///     [(7, 100, 120)]
#[pyclass(frozen, eq, from_py_object, module = "logsegment")]
#[derive(Clone, PartialEq)]
pub struct Transactions(pub core::Transactions);

#[pymethods]
impl Transactions {
    #[new]
    #[pyo3(signature = (aborted, last_stable_offset=None, doubtful=Vec::new()), text_signature = "(aborted, last_stable_offset=None, doubtful=())")]
    fn new(aborted: Vec<(i64, i64, i64)>, last_stable_offset: Option<i64>, doubtful: Vec<(i64, i64, i64)>) -> Self {
        Self(core::Transactions::from_parts(aborted, doubtful, last_stable_offset))
    }

    #[getter]
    fn aborted(&self) -> Vec<(i64, i64, i64)> {
        self.0.aborted()
    }

    #[getter]
    fn last_stable_offset(&self) -> Option<i64> {
        self.0.last_stable_offset()
    }

    #[getter]
    fn doubtful(&self) -> Vec<(i64, i64, i64)> {
        self.0.doubtful()
    }

    fn __repr__(&self) -> String {
        let stable = self.0.last_stable_offset().map_or_else(|| "None".to_owned(), |offset| offset.to_string());
        let doubtful = self.0.doubtful().len();
        let doubtful = if doubtful == 0 { String::new() } else { format!(", {doubtful} in doubt") };
        format!("Transactions({} aborted{doubtful}, last_stable_offset={stable})", self.0.aborted().len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, Parts) {
        let own = slf.get();
        (slf.get_type().into_any(), (own.aborted(), own.last_stable_offset(), own.doubtful()))
    }
}

/// Find the aborted and open transactions of a partition, from headers and markers alone (nothing is decompressed).
///
/// A marker counts when the checksum of its batch matches. What is open where something is damaged is in doubt up to there: its marker may
/// have been in it.
///
/// Args:
///     sources: the segments of one partition in offset order, each a buffer or a FileSource.
///     experimental: batches of magic 3 begin and end transactions too; as in `decode`.
///     on_error: what the decode that follows does at damage. With "skip" every entry is read, and believed when its checksum matches.
///
/// Returns:
///     `Transactions`. Damage is passed over; the decode that follows reports it.
///
/// Raises:
///     UnsupportedError: for a batch of magic 3 without `experimental` (MAP-3): its transactions would be missing. Not where damage is skipped:
///         the decode passes over it, too.
///     ValueError: when the sources are not in offset order: a marker would be taken for that of another transaction.
///     OSError: when a file cannot be read.
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.scan_transactions([ls.FileSource("00000000000000000000.log")]).last_stable_offset is None
///     True
#[pyfunction]
#[pyo3(signature = (sources, *, experimental=false, on_error="raise"))]
pub fn scan_transactions(py: Python<'_>, sources: Vec<Bound<'_, PyAny>>, experimental: bool, on_error: &str) -> PyResult<Transactions> {
    let skips = options::on_error(on_error)? == OnError::Skip;
    let judge = ChecksumJudge { formats: Formats::later(experimental), limits: Limits::default(), checksums: Checksums::of_scan(skips) };
    learned(py, &sources, judge, skips).map(Transactions)
}

/// The transactions of sources that can be read again, which are in offset order.
pub fn learned(py: Python<'_>, sources: &[Bound<'_, PyAny>], judge: ChecksumJudge, skips: bool) -> PyResult<core::Transactions> {
    let scan = scanned(py, sources, judge, skips)?;
    for place in scan.begun_before(None) {
        if !is_proven(py, sources, place, judge)? {
            return Ok(scanned(py, sources, ChecksumJudge { checksums: Checksums::All, ..judge }, skips)?.finish());
        }
    }
    Ok(scan.finish())
}

fn scanned(py: Python<'_>, sources: &[Bound<'_, PyAny>], judge: ChecksumJudge, skips: bool) -> PyResult<Scan> {
    let mut scan = Scan::default();
    let mut before = None;
    for (index, object) in sources.iter().enumerate() {
        // One at a time: a partition may have more segments than a process may have open files.
        scan.enter(index, None);
        visit_source(py, object, &mut scan, judge, skips)?;
        let Some(first) = scan.take_first_offset() else { continue };
        if let Some((earlier, start)) = before.replace((index, first)).filter(|(_, start)| first < *start) {
            return Err(PyValueError::new_err(format!(
                "sources must stand in the order of their offsets: sources[{earlier}] begins at offset {start}, sources[{index}] at {first}"
            )));
        }
    }
    Ok(scan)
}

/// Whether the checksum of a batch matches with which a transaction began.
fn is_proven(py: Python<'_>, sources: &[Bound<'_, PyAny>], place: Place, judge: ChecksumJudge) -> PyResult<bool> {
    let Some(object) = sources.get(place.segment) else { return Ok(true) };
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let source = opened_at(object, place.position, &signals)?;
    let committed = Committed { wanted: OffsetRange::default(), judge, is_recovering: false, interrupt: &interrupt };
    py.detach(|| committed.is_proven(source)).map_err(|error| signals.raised(py, &error))
}

fn opened_at(object: &Bound<'_, PyAny>, position: u64, signals: &std::sync::Arc<Signals>) -> PyResult<Source> {
    if let Ok(file) = object.cast::<FileSource>() {
        let rest = Bound::new(object.py(), file.get().from(position))?;
        return source::open(rest.as_any(), signals).map(|opened| opened.source);
    }
    let mut source = source::open(object, signals)?.source;
    source.discard_to(position);
    Ok(source)
}

/// Read the markers that end transactions in one segment. A marker whose batch fails its checksum is none.
///
/// Args:
///     source: a buffer or a FileSource.
///     experimental: batches of magic 3 too.
///
/// Returns:
///     For each, in order, the producer id, the offset, and whether it commits.
///
/// Raises:
///     UnsupportedError: for a batch of magic 3 without `experimental` (MAP-3).
///     OSError: when the file cannot be read.
#[pyfunction]
#[pyo3(signature = (source, *, experimental=false))]
pub fn scan_markers(py: Python<'_>, source: &Bound<'_, PyAny>, experimental: bool) -> PyResult<Vec<(i64, i64, bool)>> {
    let mut scan = Scan::keeping_ends();
    let judge = ChecksumJudge { formats: Formats::later(experimental), limits: Limits::default(), checksums: Checksums::All };
    visit_source(py, source, &mut scan, judge, false)?;
    Ok(scan.into_ends().into_iter().map(|(id, offset, kind)| (id, offset, kind == ControlType::Commit)).collect())
}

/// Reads one source that can be read again.
///
/// What the judge does not believe is passed over, as the decode that follows passes over it; batches of magic 3 where they are not read are
/// only when that one `skips` them. Fails with ValueError when the source can be read only once: the decode would find it empty.
fn visit_source(py: Python<'_>, object: &Bound<'_, PyAny>, scan: &mut Scan, judge: ChecksumJudge, skips: bool) -> PyResult<()> {
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let opened = source::open(object, &signals)?;
    if !opened.is_repeatable {
        return Err(PyValueError::new_err(
            "read_committed needs sources that can be read twice (buffers or FileSources), or transactions= from scan_transactions",
        ));
    }
    let committed = Committed { wanted: OffsetRange::default(), judge, is_recovering: skips, interrupt: &interrupt };
    let scanned = py.detach(|| committed.visit_source(opened.source, scan));
    scanned.map_err(|error| signals.raised(py, &error))
}
