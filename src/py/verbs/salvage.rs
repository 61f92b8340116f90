use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Error, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::py::bytes_writer;
use crate::py::finding::PyFinding;
use crate::py::interrupt::Signals;
use crate::py::option_values::option;
use crate::py::options::ReadOptions;
use crate::py::output::PyOutput;
use crate::py::source::Snapshot;
use crate::salvage::{AllowedOffsets, LostRange, OrderedLog, Passes, SalvageAccount, SalvageOptions, Salvaged, Salvager, changed};
use crate::validate::lost_ranges;
use crate::wire::{Sink, as_u64};

/// Position, bytes, first offset, last offset, entries.
type KeptRow = (u64, u64, i64, i64, u64);
/// Position, bytes, rule, offset before, offset after.
type LostRow = (u64, u64, &'static str, Option<i64>, Option<i64>);
/// Bytes kept, bytes lost, bytes lost without zeros and copies, entries kept, bytes aside, records of damaged batches, entries aside, entries
/// that were sorted in, entries that were not opened, and those among them that need quirks.
type SalvageTotals = (u64, u64, u64, u64, u64, u64, u64, u64, u64, u64);
/// Findings, and those of kept entries whose records cannot be read.
type FoundRows = (Vec<PyFinding>, Vec<PyFinding>);
/// The log and what is aside, when both stay in memory; the ranges; whether all are listed; findings; totals.
type SalvageParts<'py> =
    (Option<Bound<'py, PyBytes>>, Option<Bound<'py, PyBytes>>, Vec<KeptRow>, Vec<LostRow>, bool, FoundRows, SalvageTotals);

/// Where the bytes go, and those that are not written yet.
struct SalvageOutput {
    output: Option<PyOutput>,
    pending: Sink,
    bytes: u64,
}

/// Salvage what is valid; see `logsegment.salvage`. `options` are those of entries, and `is_sorted`, `is_aside_kept`, `wants_records`,
/// `first_offset`, `end_offset`.
#[pyfunction]
#[pyo3(signature = (source, options, fit, out=None, aside=None))]
pub fn salvage<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    options: ReadOptions,
    fit: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    aside: Option<&Bound<'py, PyAny>>,
) -> PyResult<SalvageParts<'py>> {
    let (is_sorted, is_aside_kept): (bool, bool) = (option!(fit, "is_sorted"), option!(fit, "is_aside_kept"));
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let mut decode = options.to_decode()?;
    let snapshot = Snapshot::of(source, &signals)?;
    let mut opened = snapshot.open(&signals)?;
    if is_sorted && !opened.is_repeatable {
        let problem = "order \"offset\" reads the source more than once, which a file object does not allow; pass a FileSource or a buffer";
        return Err(PyValueError::new_err(problem));
    }
    options.reading.resolve(&mut decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
    let bounds = AllowedOffsets { start: option!(fit, "first_offset"), end: option!(fit, "end_offset"), ..AllowedOffsets::default() };
    let options = SalvageOptions {
        fit: decode.upload.filter(|_| is_sorted).map_or(bounds, |upload| bounds.within(upload)),
        decode,
        lists_places: is_sorted,
        wants_records: option!(fit, "wants_records"),
        opens_entries: true,
    };
    let mut log = SalvageOutput::new(Some(PyOutput::of(out, &signals)?));
    let mut aside_outlet = SalvageOutput::new(if is_aside_kept || aside.is_some() { Some(PyOutput::of(aside, &signals)?) } else { None });
    let work = SalvageJob { py, signals: &signals, interrupt, snapshot, options };
    let (found, (unfit, moved)) = if is_sorted {
        work.by_offset(opened.source, &mut log, &mut aside_outlet)?
    } else {
        (work.pass(opened.source, work.options.clone(), &mut log, &mut aside_outlet)?, (0, 0))
    };
    let aside_bytes = aside_outlet.bytes;
    let data = to_py(py, &signals, log, out.is_none())?;
    let aside = to_py(py, &signals, aside_outlet, is_aside_kept && aside.is_none())?;
    let notes = signals.notes();
    let (kept, lost) = ranges(&found.account, &notes);
    let undecodable = found.undecodable.iter().map(PyFinding::from).collect();
    let findings = lost_ranges::merged(&found.findings.into_vec(), notes);
    let SalvageAccount { kept_bytes, lost_bytes, harmful_bytes, entries, is_cut, .. } = found.account;
    let unopened = (found.undecompressed, found.needing_quirks);
    let totals = (kept_bytes, lost_bytes, harmful_bytes, entries, aside_bytes, found.rescued, unfit, moved, unopened.0, unopened.1);
    Ok((data, aside, kept, lost, !is_cut, (findings, undecodable), totals))
}

/// Returns the ranges of an account as rows; the rule of a lost range is that of its note.
fn ranges(account: &SalvageAccount, notes: &[PyFinding]) -> (Vec<KeptRow>, Vec<LostRow>) {
    let len = |bytes: &Range<u64>| bytes.end.saturating_sub(bytes.start);
    let kept = account.kept.iter().map(|kept| (kept.bytes.start, len(&kept.bytes), kept.first_offset, kept.last_offset, kept.entries));
    let rule = |lost: &LostRange| if lost_ranges::is_among(&lost.bytes, notes) { lost_ranges::RULE } else { lost.rule };
    let lost = account.lost.iter().map(|lost| (lost.bytes.start, len(&lost.bytes), rule(lost), lost.after_offset, lost.before_offset));
    (kept.collect(), lost.collect())
}

/// One salvage, whose source is read once or several times.
struct SalvageJob<'a, 'py> {
    py: Python<'py>,
    signals: &'a Arc<Signals>,
    interrupt: Interrupt,
    snapshot: Snapshot<'py>,
    options: SalvageOptions,
}

impl SalvageJob<'_, '_> {
    /// Reads a source once.
    fn pass(&self, source: Source, options: SalvageOptions, log: &mut SalvageOutput, aside: &mut SalvageOutput) -> PyResult<Salvaged> {
        let interrupt = &self.interrupt;
        self.py.detach(|| run(source, options, log, aside, interrupt)).map_err(|error| self.raised(&error))
    }

    /// Writes the valid entries in the order of the offsets, and counts those without a place and those that were moved. The first pass plans,
    /// the next passes write.
    fn by_offset(&self, source: Source, log: &mut SalvageOutput, aside: &mut SalvageOutput) -> PyResult<(Salvaged, (u64, u64))> {
        let mut found = self.pass(source, self.options.clone(), &mut SalvageOutput::new(None), aside)?;
        if !found.is_disordered {
            let options = SalvageOptions { lists_places: false, wants_records: false, opens_entries: false, ..self.options.clone() };
            let again = self.pass(self.again()?, options, log, &mut SalvageOutput::new(None))?;
            return if again.account == found.account { Ok((found, (0, 0))) } else { Err(self.raised(&changed())) };
        }
        if found.has_too_many {
            let problem = "the entries are out of order, and too many to sort (4,194,304); use order \"input\", or split the source";
            return Err(PyValueError::new_err(problem));
        }
        let ordered = OrderedLog::new(&mut found, &self.options);
        let counts = (ordered.unfit(), ordered.moved());
        let passes = Passes { sources: [self.again()?, self.again()?, self.again()?], interrupt: self.interrupt.clone() };
        let written = self.py.detach(|| ordered.write(passes, &mut |bytes| log.put(bytes), &mut |bytes| aside.put(bytes)));
        written.map_err(|error| self.raised(&error)).map(|()| (found, counts))
    }

    fn again(&self) -> PyResult<Source> {
        self.snapshot.open(self.signals).map(|opened| opened.source)
    }

    fn raised(&self, error: &Error) -> PyErr {
        self.signals.raised(self.py, error)
    }
}

/// Runs to the end.
fn run(
    source: Source,
    options: SalvageOptions,
    log: &mut SalvageOutput,
    aside: &mut SalvageOutput,
    interrupt: &Interrupt,
) -> Result<Salvaged> {
    let mut salvager = Salvager::new(source, options)?.with_interrupt(interrupt.clone());
    while salvager.advance(&mut log.pending, &mut aside.pending)? {
        interrupt.ensure_wanted()?;
        log.pass_on()?;
        aside.pass_on()?;
    }
    log.pass_on()?;
    aside.pass_on()?;
    Ok(salvager.finish())
}

/// Ends an outlet, and returns the bytes of memory.
fn to_py<'py>(py: Python<'py>, signals: &Arc<Signals>, outlet: SalvageOutput, is_in_memory: bool) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let SalvageOutput { output, mut pending, .. } = outlet;
    if let Some(output) = output {
        py.detach(|| output.finish(&mut pending)).map_err(|error| signals.raised(py, &error))?;
    }
    is_in_memory.then(|| bytes_writer::copied(py, pending.bytes())).transpose()
}

impl SalvageOutput {
    fn new(output: Option<PyOutput>) -> Self {
        Self { output, pending: Sink::default(), bytes: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(output) = &mut self.output {
            self.bytes = self.bytes.saturating_add(as_u64(bytes.len()));
            self.pending.put(bytes);
            if self.pending.len() >= output.enough() {
                output.write(&mut self.pending)?;
            }
        }
        Ok(())
    }

    /// Passes on what somebody put into `pending` since nothing of it was.
    fn pass_on(&mut self) -> Result<()> {
        match &mut self.output {
            None => self.pending.clear(),
            Some(PyOutput::Memory) => self.bytes = as_u64(self.pending.len()),
            Some(output) => {
                self.bytes = self.bytes.saturating_add(as_u64(self.pending.len()));
                output.write(&mut self.pending)?;
            }
        }
        Ok(())
    }
}
