use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::interrupt::Signals;
use super::source;
use crate::decode::{ChecksumJudge, OffsetRange, transactions as core};
use crate::limits::Limits;
use crate::log::Committed;
use crate::model::{ControlType, Formats};

/// What a constructor call takes.
type Parts = (Vec<(i64, i64, i64)>, Option<i64>);

/// The transactions of a partition: which offsets were aborted, and where committed data ends.
///
/// Made by `scan_transactions`, used by `decode(isolation="read_committed", transactions=...)`. It can be pickled.
///
/// Args:
///     aborted: list of (producerId, firstOffset, lastOffset), last offset inclusive.
///     last_stable_offset: first offset of the oldest open transaction, or None when none is open.
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
    #[pyo3(signature = (aborted, last_stable_offset=None))]
    fn new(aborted: Vec<(i64, i64, i64)>, last_stable_offset: Option<i64>) -> Self {
        Self(core::Transactions::from_parts(aborted, last_stable_offset))
    }

    #[getter]
    fn aborted(&self) -> Vec<(i64, i64, i64)> {
        self.0.aborted()
    }

    #[getter]
    fn last_stable_offset(&self) -> Option<i64> {
        self.0.last_stable_offset()
    }

    fn __repr__(&self) -> String {
        let stable = self.0.last_stable_offset().map_or_else(|| "None".to_owned(), |offset| offset.to_string());
        format!("Transactions({} aborted, last_stable_offset={stable})", self.0.aborted().len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, Parts) {
        let own = slf.get();
        (slf.get_type().into_any(), (own.aborted(), own.last_stable_offset()))
    }
}

/// Find the aborted and open transactions of a partition, from headers and markers alone (nothing is decompressed).
///
/// Args:
///     sources: the segments of one partition in offset order, each a buffer or a FileSource.
///     experimental: batches of magic 3 begin and end transactions too; as in `decode`.
///
/// Returns:
///     `Transactions`. Damage is passed over; the decode that follows reports it.
///
/// Raises:
///     UnsupportedError: for a batch of magic 3 without `experimental` (MAP-3): its transactions would be missing.
///     ValueError: when the sources are not in offset order: a marker would be taken for that of another transaction.
///     OSError: when a file cannot be read.
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.scan_transactions([ls.FileSource("00000000000000000000.log")]).last_stable_offset is None
///     True
#[pyfunction]
#[pyo3(signature = (sources, *, experimental=false))]
pub fn scan_transactions(py: Python<'_>, sources: Vec<Bound<'_, PyAny>>, experimental: bool) -> PyResult<Transactions> {
    let mut scan = core::Scan::default();
    let mut before = None;
    for (index, object) in sources.iter().enumerate() {
        // One at a time: a partition may have more segments than a process may have open files.
        let judge = ChecksumJudge { formats: Formats::later(experimental), limits: Limits::default(), check_crc: false };
        visit_source(py, object, &mut scan, judge, false)?;
        let Some(first) = scan.take_first_offset() else { continue };
        if let Some((earlier, start)) = before.replace((index, first)).filter(|(_, start)| first < *start) {
            return Err(PyValueError::new_err(format!(
                "sources must stand in the order of their offsets: sources[{earlier}] begins at offset {start}, sources[{index}] at {first}"
            )));
        }
    }
    Ok(Transactions(scan.finish()))
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
    let mut scan = core::Scan::keeping_ends();
    let judge = ChecksumJudge { formats: Formats::later(experimental), limits: Limits::default(), check_crc: true };
    visit_source(py, source, &mut scan, judge, false)?;
    Ok(scan.into_ends().into_iter().map(|(id, offset, kind)| (id, offset, kind == ControlType::Commit)).collect())
}

/// Reads one source that can be read again.
///
/// What the judge does not believe is passed over, as the decode that follows passes over it; batches of magic 3 where they are not read are
/// only when that one `skips` them. Fails with ValueError when the source can be read only once: the decode would find it empty.
pub fn visit_source(py: Python<'_>, object: &Bound<'_, PyAny>, scan: &mut core::Scan, judge: ChecksumJudge, skips: bool) -> PyResult<()> {
    let (signals, interrupt) = Signals::new();
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
