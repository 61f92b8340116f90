use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;

use crate::decode::{DecodeOptions, Stats};
use crate::error::{ErrorKind, Result};
use crate::interrupt::Interrupt;
use crate::log::kraft_snapshot;
use crate::log::partition::{Directory, Scope, check, check_checkpoints};
use crate::py::finding::{self, PyFinding};
use crate::py::interrupt::Signals;
use crate::py::option_values::depth;
use crate::py::options::ReadOptions;
use crate::py::source::FileSource;
use crate::py::source::paths::{self, SegmentAtPath, SidecarFolder};
use crate::py::source::recorded::RecordedLogs;
use crate::py::source::sidecars;
use crate::py::source::upcoming::MOST_AHEAD;
use crate::py::source::uris;
use crate::py::verbs::validate::{HeaderTotals, findings_of, headers_of};
use crate::validate as core;
use crate::validate::lost_ranges;

/// A file by its path, its first offset if its name has one (then it is a segment with sidecar files), the offsets that its batches may
/// hold: first (inclusive) and end (exclusive), and the first offset of the next segment.
type Named = (PathBuf, Option<i64>, Option<(i64, Option<i64>)>, Option<i64>);
/// The findings, counters of the read, and the totals of the headers of each segment.
type Validation = (Vec<PyFinding>, Py<PyAny>, Vec<Option<HeaderTotals>>);

/// Return the findings of segments and their sidecar files, with the file in the path of each, counters of the read, and the totals of the
/// headers of each segment or None; see `logsegment.Log.validate`.
///
/// Args:
///     files: in the order of their offsets, the segments of one directory one after the other.
///     directories: other directories with checkpoint files to check.
///     depth_name: depth of the validation of the logs; None for the sidecar files only.
///     options: see `validate_findings`.
///     reports_shared: check the files of those directories that belong to other segments, or to none, too.
///     previous: the end of the previous segment, from the start of a batch; it is not reported.
///     is_followed: true if another segment follows the last one, with the markers of its open transactions.
///     recorded: the headers that `validate_findings` kept of these files; they are taken.
#[pyfunction]
#[pyo3(signature = (files, directories, depth_name, options, *, reports_shared=true, previous=None, is_followed=false, recorded=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call from Python")]
pub fn validate_log(
    py: Python<'_>,
    files: Vec<Named>,
    directories: Vec<PathBuf>,
    depth_name: Option<&str>,
    options: ReadOptions,
    reports_shared: bool,
    previous: Option<PyRef<'_, FileSource>>,
    is_followed: bool,
    recorded: Option<PyRef<'_, RecordedLogs>>,
) -> PyResult<Validation> {
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let (mut findings, mut stats, mut totals) = (Vec::new(), Stats::default(), Vec::with_capacity(files.len()));
    let mut names_proposed = false;
    // A store gives each log once: its headers are held against the files next to it afterwards.
    let own_recorded = RecordedLogs::default();
    let recorded = recorded.as_deref().unwrap_or(&own_recorded);
    if let Some(name) = depth_name {
        let (depth, decode) = (depth(name)?, options.to_decode()?);
        let mut before = previous.map(|source| left_by(py, &source, &options)).transpose()?.unwrap_or_default();
        for (index, (path, base, segment, next_offset)) in files.iter().enumerate() {
            // In a partition's directory the batches of a segment follow those of the one before.
            let next = files.get(index + 1).filter(|(path_of_next, ..)| path_of_next.parent() == path.parent());
            let goes_on = base.is_some() && next.is_some_and(|(_, base, ..)| base.is_some());
            let is_followed = next.is_some() || (is_followed && index + 1 == files.len());
            let file = FileSource::segment_of(path.clone(), *segment).followed_by(*next_offset);
            let ahead: Vec<_> =
                files.iter().skip(index + 1).take(MOST_AHEAD).map(|(path, ..)| FileSource::segment_of(path.clone(), None)).collect();
            py.detach(|| signals.upcoming().begin_files(&ahead));
            let mut opened = recorded.open(&file, &signals).map_err(|error| paths::raised(py, &error, path, &signals))?;
            let mut own_decode = decode.clone();
            let name: Arc<str> = Arc::from(uris::redacted_uri(path));
            let left = std::mem::take(&mut before).in_file_named(&name);
            let own = match options.reading.resolve(&mut own_decode, &mut opened) {
                // Nothing of it can be read: that is all there is to say.
                Err(error) if error.is_about_data() => Ok(Validated {
                    findings: vec![core::Finding::of_error(&error, 0, 0)],
                    stats: Stats::default(),
                    before: left,
                    totals: None,
                }),
                Err(error) => Err(error),
                Ok(()) => py.detach(|| {
                    let validator =
                        core::Validator::new(opened.source, own_decode, depth, options.is_tail_strict()).after(left).in_segment(*base);
                    validate(validator.followed(is_followed).with_interrupt(interrupt.clone()), goes_on, &interrupt, Some(path))
                }),
            };
            let own = own.map_err(|error| signals.raised(py, &error.in_file(&name)))?;
            before = own.before;
            totals.push(own.totals);
            stats.add(&own.stats);
            // Reported once for all segments.
            let fresh =
                own.findings.into_iter().filter(|finding| !finding.is_of_proposed() || !std::mem::replace(&mut names_proposed, true));
            findings.extend(fresh.map(|finding| finding.in_file(&name)));
        }
    }
    let scope = if reports_shared { Scope::Directory } else { Scope::Segments };
    let in_sidecars = py.detach(|| sidecar_findings(files, &directories, scope, recorded, &signals, &interrupt));
    findings.extend(in_sidecars.map_err(|error| signals.raised(py, &error))?);
    let findings = lost_ranges::merged(&findings, signals.notes());
    Ok((findings, finding::counters(py, &stats, signals.fetches())?, totals))
}

/// Returns the end of a segment for the check of the next one, by the headers; nothing if they cannot be read.
fn left_by(py: Python<'_>, source: &FileSource, options: &ReadOptions) -> PyResult<core::EarlierBatches> {
    let (signals, interrupt) = Signals::new();
    signals.skip_damage(true);
    let Ok(mut opened) = source.open(&signals) else { return Ok(core::EarlierBatches::default()) };
    let mut decode = options.to_decode()?;
    if options.reading.resolve(&mut decode, &mut opened).is_err() {
        return Ok(core::EarlierBatches::default());
    }
    let validator = core::Validator::new(opened.source, decode, core::Depth::Headers, false).with_interrupt(interrupt.clone());
    let left = py.detach(|| validate(validator, true, &interrupt, None));
    match left {
        Ok(validated) => Ok(validated.before),
        // The file's own task reports its errors.
        Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) => Ok(core::EarlierBatches::default()),
        Err(error) => Err(signals.raised(py, &error)),
    }
}

/// A segment that was validated, with its end for the check of the next segment.
struct Validated {
    findings: Vec<core::Finding>,
    stats: Stats,
    before: core::EarlierBatches,
    totals: Option<HeaderTotals>,
}

/// Validates a segment.
fn validate(mut validator: core::Validator, goes_on: bool, interrupt: &Interrupt, path: Option<&Path>) -> Result<Validated> {
    while validator.advance()? {
        interrupt.ensure_wanted()?;
    }
    let before = if goes_on { validator.take_before() } else { core::EarlierBatches::default() };
    let findings = findings_of(&mut validator, path);
    Ok(Validated { findings, stats: validator.stats(), before, totals: headers_of(&validator) })
}

/// The files next to the segments, directory by directory.
fn sidecar_findings(
    files: Vec<Named>,
    directories: &[PathBuf],
    scope: Scope,
    recorded: &RecordedLogs,
    signals: &Arc<Signals>,
    interrupt: &Interrupt,
) -> Result<Vec<core::Finding>> {
    let segment = |named: (PathBuf, i64)| {
        let headers = recorded.take(&named.0);
        let (names, segment) = SegmentAtPath::named(named, signals);
        (names, segment.with_headers(headers))
    };
    let folder = |path| SidecarFolder { path, signals: Arc::clone(signals) };
    let mut findings = Vec::new();
    for directory in directories {
        findings.extend(check_checkpoints(&folder(directory.clone()))?);
    }
    let mut segments = files.into_iter().filter_map(|(path, base, ..)| Some((path, base?))).peekable();
    while let Some(first) = segments.next() {
        let directory = first.0.parent().map(Path::to_owned).unwrap_or_default();
        if scope == Scope::Directory {
            findings.extend(snapshot_findings(&folder(directory.clone()), signals, interrupt)?);
        }
        let mut partition = vec![segment(first)];
        while let Some(next) = segments.next_if(|(path, _)| path.parent() == Some(&*directory)) {
            partition.push(segment(next));
        }
        let names: Vec<_> = partition.iter().map(|(names, _)| names.clone()).collect();
        findings.extend(check(&partition, &*sidecars::directory(directory, &names, signals), scope, interrupt)?);
    }
    Ok(findings)
}

/// The findings in the batches of snapshots of a metadata log, which are read as those of a segment that does not grow.
fn snapshot_findings(folder: &SidecarFolder, signals: &Arc<Signals>, interrupt: &Interrupt) -> Result<Vec<core::Finding>> {
    let mut findings = Vec::new();
    if !folder.is_metadata_log() {
        return Ok(findings);
    }
    for name in folder.names()?.into_iter().filter(|name| kraft_snapshot::end_offset(name).is_some()) {
        let path = folder.path.join(&name);
        let opened = FileSource::segment_of(path.clone(), None).open(signals).map_err(|error| paths::in_file(error.into(), &path))?;
        let validator = core::Validator::new(opened.source, DecodeOptions::default(), core::Depth::Full, false);
        let own = validate(validator.with_interrupt(interrupt.clone()), false, interrupt, None)?.findings;
        let name: Arc<str> = Arc::from(uris::redacted_uri(&path));
        // Zeros and a torn end are errors here: the footer record is missing.
        let errors = own.into_iter().filter(|finding| finding.severity == core::Severity::Error);
        findings.extend(errors.map(|finding| finding.in_file(&name)));
    }
    Ok(findings)
}
