//! All files of one partition's directory held against its segments, as findings.

use std::collections::HashSet;
use std::sync::Arc;

use super::committed::SegmentSource;
use super::sidecar_check::{AbortCheck, EpochCheck, IndexCheck};
use super::{BatchHeaders, ReadAt, kraft_snapshot, sidecar_rebuild};
use crate::decode::transactions::is_marker;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::model::{BatchHeader, RecordFormat};
use crate::sidecar::{
    EpochEntry, OffsetEntry, ParsedSidecar, Producers, SidecarFinding, SidecarProblem, TimeEntry, checkpoint, offset_index,
    producer_snapshot, time_index, txn_index,
};
use crate::validate::Finding;

/// The directory of a partition, or any other in which Kafka keeps files.
pub trait Directory {
    /// Names of its files, in order.
    ///
    /// # Errors
    /// When it cannot be listed.
    fn names(&self) -> Result<Vec<String>>;
    /// The bytes of a file; `None` when there is none of that name.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>>;
    /// A file that is read at any position, and its bytes.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self, name: &str) -> Result<(Box<dyn ReadAt>, u64)>;
    /// True for the directory of the metadata log of KRaft.
    fn is_metadata_log(&self) -> bool;
    /// The path of a file, as findings name it.
    fn path_of(&self, name: &str) -> String;
}

/// Which files of a directory are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Directory,
    /// Those of the given segments: whoever looks at many segments one by one reads the others once, not with each.
    Segments,
}

/// The names of the files next to a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidecarNames {
    /// The name of the log up to its suffix.
    stem: String,
    /// What a broker adds to the names of all files of a segment while it cleans: `.swap`, or nothing.
    mark: &'static str,
}

impl SidecarNames {
    /// The names of the files next to the log of this name.
    pub fn of_log(name: &str) -> Self {
        let marked = MARKS.into_iter().find_map(|mark| name.strip_suffix(mark).filter(|log| log.ends_with(".log")).map(|log| (log, mark)));
        let (log, mark) = marked.unwrap_or((name, ""));
        Self { stem: log.rsplit_once('.').map_or(log, |(stem, _)| stem).to_owned(), mark }
    }

    /// The name of the file with this suffix, such as `index`.
    pub fn of(&self, suffix: &str) -> String {
        format!("{}.{suffix}{}", self.stem, self.mark)
    }
}

/// Checks the files next to the segments of one partition, which are in offset order.
///
/// # Errors
/// `Io`, and when the work is to stop. Validation reports damage of the logs; the bytes after damage are not compared with
/// the files.
pub fn check<S: SegmentSource>(
    segments: &[(SidecarNames, S)],
    directory: &dyn Directory,
    scope: Scope,
    interrupt: &Interrupt,
) -> Result<Vec<Finding>> {
    let names = directory.names()?;
    let mut findings = Vec::new();
    let checkpoint = directory.read(EPOCHS)?;
    let lacks_epochs = checkpoint.as_ref().is_some_and(Vec::is_empty);
    let epochs = checkpoint.map_or_else(Vec::new, |bytes| epochs(directory, &bytes, &mut findings));
    let mut check = PartitionCheck {
        directory,
        names: &names,
        has_time_indexes: names.iter().any(|name| name.ends_with(".timeindex")),
        epochs: EpochCheck::new(&epochs, lacks_epochs),
        producers: segments.first().map(|(_, segment)| Producers::from_snapshot(&segment.snapshot().unwrap_or_default())),
        begun: HashSet::new(),
        findings,
    };
    for (names, segment) in segments {
        check.segment(names, segment, interrupt).map_err(|error| segment.named(error))?;
    }
    check.finish((scope == Scope::Segments).then_some(segments))
}

struct PartitionCheck<'a> {
    directory: &'a dyn Directory,
    names: &'a [String],
    has_time_indexes: bool,
    epochs: EpochCheck<'a>,
    /// `None` after damage: a marker may be lost there.
    producers: Option<Producers>,
    /// Producers with a batch in the transaction that is open at this point. A cleaner forgets an aborted transaction without batches.
    begun: HashSet<i64>,
    findings: Vec<Finding>,
}

/// What a segment's own files hold.
struct SidecarIndexes {
    offsets: Option<ParsedSidecar<OffsetEntry>>,
    times: Option<ParsedSidecar<TimeEntry>>,
}

impl PartitionCheck<'_> {
    fn segment<S: SegmentSource>(&mut self, names: &SidecarNames, segment: &S, interrupt: &Interrupt) -> Result<()> {
        let indexes = self.indexes(names, segment.base_offset())?;
        let (offsets, times) = (valid_entries(indexes.offsets.as_ref()), valid_entries(indexes.times.as_ref()));
        let mut check = IndexCheck::new(offsets, times);
        let mut aborts = AbortCheck::default();
        let (log, len) = segment.open()?;
        let headers = BatchHeaders::new(&*log, Limits::default(), 0, len);
        let mut headers = if segment.has_headers_only() { headers.one_by_one() } else { headers };
        let mut newest = RecordFormat::V0;
        let is_whole = loop {
            interrupt.ensure_wanted()?;
            match headers.next_header() {
                Ok(None) => break true,
                Err(error) if error.is_about_data() => break false,
                Err(error) => return Err(error),
                Ok(Some(header)) => {
                    newest = newest.max(header.format);
                    check.visit(&header);
                    self.epochs.visit(&header);
                    self.visit_producer(&header, &headers, &mut aborts)?;
                }
            }
        };
        if is_whole {
            let (in_offset_index, in_time_index) = check.finish(headers.position());
            self.report(&names.of("index"), in_offset_index);
            self.report(&names.of("timeindex"), in_time_index);
        } else {
            self.producers = None;
        }
        self.report_missing(names, &indexes, newest, headers.position());
        self.transactions(names, &aborts)
    }

    fn visit_producer(&mut self, header: &BatchHeader, headers: &BatchHeaders<&dyn ReadAt>, aborts: &mut AbortCheck) -> Result<()> {
        let Some(producers) = self.producers.as_mut().filter(|_| header.producer.id >= 0) else { return Ok(()) };
        let marker = if is_marker(header) { headers.marker(header)? } else { None };
        let aborted = producers.visit(header, marker);
        if !header.is_control() && header.is_transactional() {
            self.begun.insert(header.producer.id);
        }
        let has_batches = marker.is_some() && self.begun.remove(&header.producer.id);
        aborts.visit(header, marker, aborted.filter(|_| has_batches));
        Ok(())
    }

    fn indexes(&mut self, names: &SidecarNames, base_offset: i64) -> Result<SidecarIndexes> {
        let (name, time_name) = (names.of("index"), names.of("timeindex"));
        let offsets = self.directory.read(&name)?.map(|bytes| offset_index::parse(&bytes, base_offset));
        let times = self.directory.read(&time_name)?.map(|bytes| time_index::parse(&bytes, base_offset));
        self.report(&name, offsets.as_ref().map(|parsed| parsed.findings.clone()).unwrap_or_default());
        self.report(&time_name, times.as_ref().map(|parsed| parsed.findings.clone()).unwrap_or_default());
        Ok(SidecarIndexes { offsets, times })
    }

    /// Kafka has time indexes since 0.10.1; a log of magic 0 alone may be older.
    fn report_missing(&mut self, names: &SidecarNames, indexes: &SidecarIndexes, newest: RecordFormat, end: u64) {
        let missing = || vec![SidecarFinding { problem: SidecarProblem::Missing, position: 0, length: 0 }];
        if end == 0 {
            return;
        }
        if indexes.offsets.is_none() {
            self.report(&names.of("index"), missing());
        }
        if indexes.times.is_none() && (self.has_time_indexes || newest >= RecordFormat::V2) {
            self.report(&names.of("timeindex"), missing());
        }
    }

    fn transactions(&mut self, names: &SidecarNames, aborts: &AbortCheck) -> Result<()> {
        let name = names.of("txnindex");
        let parsed = self.directory.read(&name)?.map_or_else(|| txn_index::parse(&[]), |bytes| txn_index::parse(&bytes));
        let is_valid = parsed.is_valid();
        self.report(&name, parsed.findings);
        if is_valid && self.producers.is_some() {
            self.report(&name, aborts.finish(&parsed.entries));
        }
        Ok(())
    }

    /// The findings, and those of files that belong to no segment, or to these alone.
    fn finish<S>(mut self, only: Option<&[(SidecarNames, S)]>) -> Result<Vec<Finding>> {
        let counts_as_listed = |stem: &str| only.is_none_or(|segments| segments.iter().any(|(own, _)| own.stem == stem));
        let epochs = std::mem::replace(&mut self.epochs, EpochCheck::new(&[], false)).finish();
        self.report(EPOCHS, epochs);
        for name in self.names {
            let Some(stem) = name.strip_suffix(".snapshot").filter(|stem| stem.len() == 20 && counts_as_listed(stem)) else { continue };
            let (Ok(end_offset), Some(bytes)) = (stem.parse(), self.directory.read(name)?) else { continue };
            self.report(name, producer_snapshot::parse(&bytes, end_offset).findings);
        }
        if only.is_none() {
            self.snapshots_of_metadata()?;
        }
        if only.is_none()
            && let Some(bytes) = self.directory.read("partition.metadata")?
        {
            self.report("partition.metadata", checkpoint::parse_topic_id(&bytes).findings);
        }
        Ok(self.findings)
    }

    /// Checks the ends of the snapshots of a metadata log.
    fn snapshots_of_metadata(&mut self) -> Result<()> {
        for name in self.names.iter().filter(|name| kraft_snapshot::end_offset(name).is_some()) {
            let (log, len) = self.directory.open(name)?;
            self.report(name, kraft_snapshot::check_ends(&*log, len)?);
        }
        let first = self.names.iter().find(|name| name.len() == 24 && name.ends_with(".log"));
        let offset = first.and_then(|name| name.get(..20)).and_then(|digits| digits.parse().ok());
        let gap = offset.and_then(|offset| kraft_snapshot::check_start(offset, self.names));
        if let (Some(name), Some(gap)) = (first, gap.filter(|_| self.directory.is_metadata_log())) {
            self.report(name, vec![gap]);
        }
        Ok(())
    }

    fn report(&mut self, name: &str, findings: Vec<SidecarFinding>) {
        report(self.directory, name, findings, &mut self.findings);
    }
}

/// Checks the checkpoint files and the `meta.properties` of a directory that holds partitions' directories.
///
/// # Errors
/// When a file cannot be read.
pub fn check_checkpoints(directory: &dyn Directory) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for name in OFFSETS {
        files.extend(directory.read(name)?.map(|bytes| (name, bytes)));
    }
    for (name, bytes) in &files {
        if !(bytes.is_empty() && is_unwritten(name, &files)) {
            report(directory, name, checkpoint::parse_offsets(bytes).findings, &mut findings);
        }
    }
    if let Some(bytes) = directory.read(META)? {
        report(directory, META, checkpoint::check_meta_properties(&bytes), &mut findings);
    }
    Ok(findings)
}

/// True for an empty file that a healthy broker has not written yet. It makes the files when it starts, writes the recovery points and the
/// log start offsets after half a minute, and the offsets of the cleaner when it has compacted a log.
fn is_unwritten<B: AsRef<[u8]>>(name: &str, files: &[(&str, B)]) -> bool {
    let len_of = |wanted: &str| files.iter().find(|(name, _)| *name == wanted).map(|(_, bytes)| bytes.as_ref().len());
    let is_new = len_of(RECOVERY_POINTS) == Some(0) && len_of(LOG_STARTS) == Some(0);
    is_new || (name == CLEANED && len_of(RECOVERY_POINTS).is_some())
}

/// The snapshot of the state before a segment, when it is sound.
pub fn snapshot_before(directory: &dyn Directory, base_offset: i64) -> Option<Vec<crate::sidecar::ProducerEntry>> {
    let bytes = directory.read(&sidecar_rebuild::name(base_offset, "snapshot")).ok()??;
    let parsed = producer_snapshot::parse(&bytes, base_offset);
    parsed.is_valid().then_some(parsed.entries)
}

fn epochs(directory: &dyn Directory, bytes: &[u8], findings: &mut Vec<Finding>) -> Vec<EpochEntry> {
    let parsed = checkpoint::parse_epochs(bytes);
    let entries = if parsed.is_valid() { parsed.entries } else { Vec::new() };
    report(directory, EPOCHS, parsed.findings, findings);
    entries
}

fn report(directory: &dyn Directory, name: &str, found: Vec<SidecarFinding>, findings: &mut Vec<Finding>) {
    if found.is_empty() {
        return;
    }
    let path: Arc<str> = Arc::from(directory.path_of(name));
    findings.extend(found.into_iter().map(|finding| Finding::of_sidecar(finding, &path)));
}

fn valid_entries<T>(parsed: Option<&ParsedSidecar<T>>) -> &[T] {
    parsed.filter(|parsed| parsed.is_valid()).map(|parsed| parsed.entries.as_slice()).unwrap_or_default()
}

/// What a broker adds to the names of files while it cleans, splits and deletes segments.
const MARKS: [&str; 3] = [".swap", ".cleaned", ".deleted"];
const EPOCHS: &str = "leader-epoch-checkpoint";
const META: &str = "meta.properties";
const CLEANED: &str = "cleaner-offset-checkpoint";
const LOG_STARTS: &str = "log-start-offset-checkpoint";
const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
const OFFSETS: [&str; 4] = [CLEANED, LOG_STARTS, RECOVERY_POINTS, "replication-offset-checkpoint"];
