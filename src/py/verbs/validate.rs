use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;

use crate::columns::findings::{finding_fields, findings_array};
use crate::decode::Stats;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::py::arrow::table::ArrowTable;
use crate::py::fetches::Fetches;
use crate::py::finding::{self, PyFinding};
use crate::py::interrupt::Signals;
use crate::py::option_values::depth;
use crate::py::options::ReadOptions;
use crate::py::source::recorded::RecordedLogs;
use crate::py::source::uris;
use crate::py::source::{self, FileSource, OpenedSource, paths};
use crate::validate as core;
use crate::validate::lost_ranges;

/// Lowest first offset, highest last offset, entries, and the records that their headers count.
pub type HeaderTotals = (i64, i64, u64, i64);

/// The producers and open transactions at the end of a segment, for the validation of the next one.
#[pyclass(module = "logsegment._core")]
#[derive(Default)]
pub struct EarlierProducers(core::ProducerRules);

#[pymethods]
impl EarlierProducers {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

/// Return the findings of a source, counters of the read, and the totals of the headers or None; see `logsegment.validate`.
///
/// Args:
///     file: the file of the source.
///     is_followed: true if another segment follows.
///     earlier: the producers of the segments before, and afterwards those for the next one.
///     recorded: gets the headers of a file in a store, for `validate_log`.
///     next_files: the files that are validated next with the same `recorded`, in their order. The first of those in a store are opened
///         while this one is read.
#[pyfunction]
#[pyo3(signature = (source, depth_name, options, *, file=None, is_followed=false, earlier=None, recorded=None, next_files=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call from Python")]
pub fn validate_findings(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    depth_name: &str,
    options: ReadOptions,
    file: Option<PyRef<'_, FileSource>>,
    is_followed: bool,
    mut earlier: Option<PyRefMut<'_, EarlierProducers>>,
    recorded: Option<PyRef<'_, RecordedLogs>>,
    next_files: Vec<Bound<'_, FileSource>>,
) -> PyResult<(Vec<PyFinding>, Py<PyAny>, Option<HeaderTotals>)> {
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let (depth, mut decode) = (depth(depth_name)?, options.to_decode()?);
    let source = &source::to_file_source(source)?;
    let mut opened = opened(source, recorded.as_deref(), &next_files, &signals)?;
    let path = source.cast::<FileSource>().ok().map(|file| file.get()).filter(|file| file.start() == 0).map(|file| file.path.clone());
    let resolved = options.reading.resolve(&mut decode, &mut opened);
    if let Some(file) = &file {
        decode.segment = file.segment();
        opened.source = opened.source.before(file.ending());
    }
    let mut validator = core::Validator::new(opened.source, decode, depth, options.is_tail_strict());
    validator = validator.followed(is_followed).with_interrupt(interrupt.clone());
    if let Some(earlier) = &mut earlier {
        validator = validator.after_producers(std::mem::take(&mut earlier.0));
    }
    let findings = match resolved {
        // Nothing of it can be read: that is all there is to say.
        Err(error) if error.is_about_data() => Ok(vec![core::Finding::of_error(&error, 0, 0)]),
        Err(error) => Err(error),
        Ok(()) => py.detach(|| run(&mut validator, &interrupt, path.as_deref())),
    };
    let findings = findings.map_err(|error| signals.raised(py, &error))?;
    let findings = lost_ranges::merged(&findings, signals.notes());
    if let Some(earlier) = &mut earlier {
        earlier.0 = validator.take_producers();
        if let Some(path) = file.as_ref().map(|file| &file.path).or(path.as_ref()) {
            earlier.0.leave(&Arc::from(uris::redacted_uri(path)));
        }
    }
    Ok((findings, finding::counters(py, &validator.stats(), signals.fetches())?, headers_of(&validator)))
}

/// Opens a source; with `recorded` a file so that its headers are kept, and begins to open the next files.
fn opened(
    source: &Bound<'_, PyAny>,
    recorded: Option<&RecordedLogs>,
    next_files: &[Bound<'_, FileSource>],
    signals: &Arc<Signals>,
) -> PyResult<OpenedSource> {
    let (Some(recorded), Ok(file)) = (recorded, source.cast::<FileSource>()) else { return source::open(source, signals) };
    let (py, file) = (source.py(), file.get());
    recorded.resume(signals);
    let next: Vec<FileSource> = next_files.iter().map(|next| next.get().clone()).collect();
    py.detach(|| signals.upcoming().begin_files(&next));
    let opened = recorded.open(file, signals).map_err(|error| paths::raised(py, &error, &file.path, signals));
    recorded.suspend(signals);
    opened
}

/// Findings as an Arrow table, one row each.
#[pyfunction]
pub fn findings_table(findings: Vec<PyRef<'_, PyFinding>>) -> ArrowTable {
    let schema = Arc::new(arrow_schema::Schema::new(finding_fields()));
    let batches = vec![RecordBatch::from(findings_array(findings.iter().map(|finding| finding.row())))];
    ArrowTable { schema, batches, findings: Vec::new(), stats: Stats::default(), fetches: Fetches::default() }
}

/// Everything that a validator finds; see `findings_of`.
///
/// # Errors
/// `Io`, and when the work is to stop.
pub fn run(validator: &mut core::Validator, interrupt: &Interrupt, path: Option<&Path>) -> Result<Vec<core::Finding>> {
    while validator.advance()? {
        interrupt.ensure_wanted()?;
    }
    Ok(findings_of(validator, path))
}

/// Returns the totals of the headers; `None` if a header does not have them.
pub fn headers_of(validator: &core::Validator) -> Option<HeaderTotals> {
    validator.totals().map(|all| (all.first_offset, all.last_offset, all.batches, all.records))
}

/// Returns the findings of a validator; of a file without an entry that looks like another kind of file, only that finding.
///
/// Arguments: `path`, the file that was read from its first byte on.
pub fn findings_of(validator: &mut core::Validator, path: Option<&Path>) -> Vec<core::Finding> {
    let foreign = path.filter(|_| validator.is_empty()).and_then(|path| paths::ensure_segment(path).err());
    foreign.map_or_else(|| validator.take_findings(), |error| vec![core::Finding::of_error(&error, 0, 0)])
}
