//! Entries of a source without some records, or with other values; and an account of every byte.

use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::decode::OffsetRange;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Run;
use crate::interrupt::Interrupt;
use crate::model::timestamp::TimeRange;
use crate::py::bytes_writer;
use crate::py::errors;
use crate::py::finding::{self, PyFinding};
use crate::py::interrupt::Signals;
use crate::py::option_values::option;
use crate::py::options::ReadOptions;
use crate::py::output::PyOutput;
use crate::py::source;
use crate::py::verbs::key_set::PyKeySet;
use crate::py::verbs::partition_end::PartitionEnd;
use crate::py::verbs::place_set::PlaceSet;
use crate::rewrite::{
    Digest, Filter, HeaderMatch, Mask, OffsetSet, Plan, RangeAction, RecordSelection, RewriteAccount, RewriteOptions, Rewriter, RunOutput,
};
use crate::validate::Finding as CoreFinding;
use crate::wire::{Sink, as_u64};

/// Action, position and bytes in the input and in the output, first and last offset, entries, records read, dropped, made tombstones, masked.
type RangeRow = (&'static str, u64, u64, u64, u64, Option<i64>, Option<i64>, u64, u64, u64, u64, u64);
/// SHA-256 and bytes.
type DigestRow = (String, u64);
/// The bytes in memory, the ranges, whether all are listed, entries that stay without records, digests of input and output, findings, records
/// below the log start offset.
pub type RewriteParts<'py> = (Option<Bound<'py, PyBytes>>, Vec<RangeRow>, bool, u64, DigestRow, DigestRow, Vec<PyFinding>, u64);

/// Rewrite one file of a partition; see `logsegment.rewrite`. `how` is a `logsegment._rewrite.RewriteOptions`; without `out` and with
/// `is_dry` nothing is written.
#[pyfunction]
#[pyo3(signature = (source, options, how, end, out=None, is_dry=false))]
pub fn rewrite<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    options: ReadOptions,
    how: &Bound<'py, PyAny>,
    end: &PartitionEnd,
    out: Option<&Bound<'py, PyAny>>,
    is_dry: bool,
) -> PyResult<RewriteParts<'py>> {
    let work = RewriteJob { py, options: &options, how, end, is_dry };
    work.run(source, plan_of(how)?, out).map(|(row, _)| row)
}

/// Arguments of all rewrites of one file.
pub struct RewriteJob<'a, 'py> {
    pub py: Python<'py>,
    pub options: &'a ReadOptions,
    pub how: &'a Bound<'py, PyAny>,
    pub end: &'a PartitionEnd,
    pub is_dry: bool,
}

impl<'py> RewriteJob<'_, 'py> {
    /// Rewrites a source; gives the filter back.
    pub fn run<F: Filter>(
        &self,
        source: &Bound<'py, PyAny>,
        filter: F,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(RewriteParts<'py>, F)> {
        let (py, how) = (self.py, self.how);
        let (signals, interrupt) = Signals::new();
        let mut arguments = arguments_of(self.options, how)?;
        let mut opened = source::open_alone(source, &signals)?;
        let resolved = self.options.reading.resolve(&mut arguments.decode, &mut opened);
        resolved.map_err(|error| signals.raised(py, &error))?;
        let rewriter = Rewriter::new(opened.source, arguments, filter, self.end.retention.clone());
        let rewriter = rewriter.map_err(|error| signals.raised(py, &error))?;
        let output = if self.is_dry { None } else { Some(PyOutput::of(out, &signals)?) };
        let is_threaded: bool = option!(how, "is_threaded");
        let work = || match is_threaded {
            true => in_threads(rewriter, output, &interrupt),
            false => in_one_thread(rewriter, output, &interrupt),
        };
        let (account, filter, written) = py.detach(work).map_err(|error| signals.raised(py, &error))?;
        let is_in_memory = out.is_none() && !self.is_dry;
        let data = is_in_memory.then(|| bytes_writer::copied(py, written.memory.bytes())).transpose()?;
        let (input, output, findings) = (written.input, written.output, finding::to_py(&written.findings));
        let digests = (digest_row(input), digest_row(output));
        let row = (data, rows(&account), !account.is_cut, account.emptied, digests.0, digests.1, findings, account.below_start);
        Ok((row, filter))
    }
}

fn digest_row(digest: Digest) -> DigestRow {
    let bytes = digest.bytes();
    (digest.finish(), bytes)
}

/// Results of a rewrite without the account.
struct RewrittenEntries {
    input: Digest,
    output: Digest,
    memory: Sink,
    findings: Vec<CoreFinding>,
}

fn arguments_of(options: &ReadOptions, how: &Bound<'_, PyAny>) -> PyResult<RewriteOptions> {
    let compression: Option<String> = option!(how, "compression");
    let codec = |name: &str| options.reading.plugins.named(name).map_err(|error| errors::to_py(how.py(), &error));
    let (mask_with, mask_key): (String, Option<Vec<u8>>) = (option!(how, "mask_with"), option!(how, "mask_key"));
    let mask = match (mask_with.as_str(), mask_key) {
        ("null", _) => Mask::Null,
        ("hash", Some(key)) => Mask::hash(&key).unwrap_or(Mask::Empty),
        _ => Mask::Empty,
    };
    Ok(RewriteOptions {
        decode: options.to_decode()?,
        mask,
        compression: compression.as_deref().map(codec).transpose()?,
        allows_loss: option!(how, "allow_loss"),
        allows_lower_end: option!(how, "allow_lower_end"),
        log_start: option!(how, "log_start"),
    })
}

fn plan_of(how: &Bound<'_, PyAny>) -> PyResult<Plan> {
    let selection = |name: &str| -> PyResult<Option<RecordSelection>> {
        let given = how.getattr(name)?;
        if given.is_none() { Ok(None) } else { selection_of(&given).map(Some) }
    };
    Ok(Plan { keep: selection("keep")?, drop: selection("drop")?, tombstone: selection("tombstone")?, mask: selection("mask")?, place: 0 })
}

/// A header's key and its values, or None for any value.
type HeaderRow = (Vec<u8>, Option<Vec<Option<Vec<u8>>>>);

fn selection_of(given: &Bound<'_, PyAny>) -> PyResult<RecordSelection> {
    let keys: Option<Bound<'_, PyKeySet>> = option!(given, "keys");
    let headers: Option<Vec<HeaderRow>> = option!(given, "headers");
    let offsets: Option<Vec<(i64, Option<i64>)>> = option!(given, "offsets");
    let places: Option<Bound<'_, PlaceSet>> = option!(given, "places");
    let times: Option<Vec<(i64, Option<i64>)>> = option!(given, "times");
    Ok(RecordSelection {
        keys: keys.map(|keys| Arc::clone(&keys.get().0)),
        headers: headers.map(|rows| rows.into_iter().map(|(key, values)| HeaderMatch { key, values }).collect()),
        offsets: offsets.map(|rows| Arc::new(OffsetSet::new(rows.into_iter().map(|(start, end)| OffsetRange { start, end }).collect()))),
        places: places.map(|places| Arc::clone(&places.get().0)),
        times: times.map(|rows| rows.into_iter().map(|(start, end)| TimeRange { start, end }).collect()),
    })
}

/// Writes what runs became.
struct RewriteWriter {
    memory: Sink,
    output: Option<PyOutput>,
}

impl RewriteWriter {
    fn new(output: Option<PyOutput>) -> Self {
        Self { memory: Sink::default(), output }
    }

    fn write(&mut self, bytes: &RunOutput) -> Result<()> {
        match &mut self.output {
            Some(PyOutput::Memory) => bytes.parts().for_each(|part| self.memory.put(part)),
            Some(PyOutput::File(file)) => return bytes.parts().try_for_each(|part| file.write(part)),
            Some(object) => {
                bytes.parts().for_each(|part| self.memory.put(part));
                object.write(&mut self.memory)?;
            }
            None => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Sink> {
        if let Some(output) = self.output {
            output.finish(&mut Sink::default())?;
        }
        Ok(self.memory)
    }
}

fn in_one_thread<F: Filter>(
    mut rewriter: Rewriter<F>,
    output: Option<PyOutput>,
    interrupt: &Interrupt,
) -> Result<(RewriteAccount, F, RewrittenEntries)> {
    let (mut writer, mut input, mut changed, mut out) =
        (RewriteWriter::new(output), Digest::default(), None::<Digest>, RunOutput::default());
    while let Some(run) = rewriter.advance(&mut out)? {
        interrupt.ensure_wanted()?;
        if changed.is_some() || !out.is_run(run.len) {
            let digest = changed.get_or_insert_with(|| input.clone());
            out.parts().for_each(|part| digest.put(part));
        }
        input.put(run.entries_from(0));
        writer.write(&out)?;
    }
    let output = changed.unwrap_or_else(|| input.clone());
    ended(rewriter, RewrittenEntries { input, output, memory: writer.finish()?, findings: Vec::new() })
}

/// Pieces that wait for each thread, 1 MiB each.
const WAITING: usize = 4;

/// A message to the thread that hashes the input.
enum ToHash {
    Run(Run),
    /// Up to here the output has the bytes of the input, so that it has its hash.
    Fork,
}

/// One more thread hashes the input, another one the output, and a third one writes it: each hash takes longer than the rewrite itself.
fn in_threads<F: Filter>(
    mut rewriter: Rewriter<F>,
    output: Option<PyOutput>,
    interrupt: &Interrupt,
) -> Result<(RewriteAccount, F, RewrittenEntries)> {
    let (send_input, inputs) = sync_channel::<ToHash>(WAITING);
    let (send_output, outputs) = sync_channel::<(RunOutput, bool)>(WAITING);
    let (send_hashed, hashed) = sync_channel::<RunOutput>(WAITING);
    let (send_fork, fork) = channel::<Digest>();
    let (give_back, storage) = channel::<RunOutput>();
    let written = std::thread::scope(|scope| {
        let of_input = scope.spawn(move || {
            let mut digest = Digest::default();
            for message in inputs {
                match message {
                    ToHash::Run(run) => digest.put(run.entries_from(0)),
                    // Nobody waits for it after an error.
                    ToHash::Fork => drop(send_fork.send(digest.clone())),
                }
            }
            digest
        });
        let of_output = scope.spawn(move || {
            let mut changed = None::<Digest>;
            for (bytes, is_changed) in outputs {
                if is_changed {
                    let digest = changed.get_or_insert_with(|| fork.recv().unwrap_or_default());
                    bytes.parts().for_each(|part| digest.put(part));
                }
                if send_hashed.send(bytes).is_err() {
                    break;
                }
            }
            changed.unwrap_or_else(|| fork.recv().unwrap_or_default())
        });
        let worker = scope.spawn(move || {
            let mut writer = RewriteWriter::new(output);
            for mut bytes in hashed {
                writer.write(&bytes)?;
                bytes.clear();
                // Nobody waits for storage after the end.
                let _ = give_back.send(bytes);
            }
            writer.finish()
        });
        let mut is_changed = false;
        let mut read = || -> Result<()> {
            loop {
                let mut out = storage.try_recv().unwrap_or_default();
                let Some(run) = rewriter.advance(&mut out)? else { return Ok(()) };
                interrupt.ensure_wanted()?;
                let forks = !is_changed && !out.is_run(run.len);
                is_changed |= forks;
                let is_sent = (!forks || send_input.send(ToHash::Fork).is_ok()) && send_input.send(ToHash::Run(run)).is_ok();
                if !is_sent || send_output.send((out, is_changed)).is_err() {
                    // The worker failed, and says why.
                    return Ok(());
                }
            }
        };
        let read = read();
        if !is_changed {
            let _ = send_input.send(ToHash::Fork);
        }
        drop((send_input, send_output));
        let panicked = |_| Error::from(ErrorKind::Internal { what: "a thread of a rewrite panicked".to_owned() });
        let memory = worker.join().map_err(panicked).and_then(|written| written);
        let (input, output) = (of_input.join().map_err(panicked), of_output.join().map_err(panicked));
        read.and_then(|()| Ok(RewrittenEntries { input: input?, output: output?, memory: memory?, findings: Vec::new() }))
    });
    ended(rewriter, written?)
}

/// Adds what comes after the last entry of the input.
fn ended<F: Filter>(rewriter: Rewriter<F>, mut written: RewrittenEntries) -> Result<(RewriteAccount, F, RewrittenEntries)> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let (torn, mut zeros) = rewriter.tail();
    written.input.put(torn);
    while zeros > 0 {
        let piece = ZEROS.get(..usize::try_from(zeros).unwrap_or(usize::MAX).min(ZEROS.len())).unwrap_or_default();
        written.input.put(piece);
        zeros -= as_u64(piece.len());
    }
    written.findings.extend(rewriter.tail_state().and_then(CoreFinding::of_tail));
    let (account, filter) = rewriter.finish();
    Ok((account, filter, written))
}

fn rows(account: &RewriteAccount) -> Vec<RangeRow> {
    let row = |range: &crate::rewrite::Range| {
        let len = |bytes: &std::ops::Range<u64>| bytes.end.saturating_sub(bytes.start);
        let (first, last) = (range.offsets.map(|(first, _)| first), range.offsets.map(|(_, last)| last));
        let action = match range.action {
            RangeAction::Copied => "copied",
            RangeAction::Rewritten => "rewritten",
            RangeAction::Dropped => "dropped",
        };
        let records = range.records;
        let counts = (records.read, records.dropped, records.tombstoned, records.masked);
        let (input, output) = ((range.bytes.start, len(&range.bytes)), (range.output.start, len(&range.output)));
        (action, input.0, input.1, output.0, output.1, first, last, range.entries, counts.0, counts.1, counts.2, counts.3)
    };
    account.ranges.iter().map(row).collect()
}
