//! The plan of a batch query: its options and filters go in, tasks of about the right size come out.
//!
//! The one reader of a partition finds the wanted bytes. If a query wants all offsets of small segments, none of them is opened.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use super::error::{QueryResult, SparkError};
use super::filters::WantedRows;
use super::grouping::{SizedPiece, TaskSizes};
use super::query::BatchQuery;
use super::ranges::{LogRange, RangeFinder};
use super::topics::{Search, TopicMatcher, TopicPartition};
use crate::columns::batches::BatchRows;
use crate::columns::{BatchSource, BinaryKind, OnError, Projection, StreamOptions};
use crate::decode::{ChecksumVerifier, Checksums, DecodeOptions, Transactions, Unreadable};
use crate::error::{Error, ErrorKind};
use crate::io::position_07;
use crate::model::{Formats, RecordFormat};
use crate::partition::{
    AtDamage, CommittedOptions, PartitionReader, PieceBytes, SegmentFile, SegmentLookup, SegmentRange, Storage, WantedRange,
    committed_transactions, patterns, segments_of_directory,
};
use crate::places::uris;
use crate::validate::{Finding, Severity};

/// Files that a warning names; it counts the others.
const NAMED: usize = 3;
/// The rule of findings about work that a broker did not finish.
const WORK: &str = "SEG-17";
/// The rule of directory entries that cannot be read.
const SPECIAL: &str = "SEG-15";

/// Plans a query.
pub struct QueryPlanner<'a> {
    /// The query.
    pub query: &'a BatchQuery,
    /// The rows that its filters leave.
    pub wanted: &'a WantedRows,
    /// Where its files are.
    pub storage: &'a dyn Storage,
    /// Matches the names of topics.
    pub matcher: &'a dyn TopicMatcher,
    /// Cores that run tasks.
    pub cores: u64,
}

/// A plan.
#[derive(Debug, Default)]
pub struct PartitionTasks {
    /// The pieces of each task, in the order of their offsets.
    pub tasks: Vec<Vec<TaskPiece>>,
    /// Warnings, one a line.
    pub warnings: Vec<String>,
}

/// Bytes of a segment that a task reads.
#[derive(Clone, Debug)]
pub struct TaskPiece {
    /// The segment.
    pub file: SegmentFile,
    /// The topic-partition as its rows have it.
    pub name: TopicPartition,
    /// The bytes, and what is wanted of them.
    pub bytes: PieceBytes,
    /// A torn tail is an error.
    pub is_tail_strict: bool,
    /// What a committed read must know.
    pub transactions: Option<Transactions>,
    /// Another piece has the offsets of the segment before the first one of this piece.
    pub resumes: bool,
    /// The finding of the file that this piece reports.
    pub finding: Option<Finding>,
}

/// A reader of a log, and the topic-partition as its rows have it.
struct RangeReader {
    name: TopicPartition,
    reader: PartitionReader,
}

impl QueryPlanner<'_> {
    /// Fail if a path of the query does not exist.
    ///
    /// # Errors
    /// Those of the files.
    pub fn ensure_paths(&self) -> QueryResult<()> {
        self.query.paths.iter().try_for_each(|path| patterns::matching(path, self.storage).map(|_| ()))?;
        Ok(())
    }

    /// Return the tasks. Rows that are not wanted may be left out.
    ///
    /// # Errors
    /// `Value` if the options do not fit what is there; those of the files.
    pub fn plan(&self) -> QueryResult<PartitionTasks> {
        let query = self.query;
        let mut paths = Vec::new();
        for path in &query.paths {
            paths.extend(patterns::matching(path, self.storage)?.iter().map(|path| uris::absolute(path)));
        }
        let reports = query.skips_damage();
        let (selection, unnamed, partition) = (&query.selection, &query.unnamed, &query.partition);
        let found = Search { paths: &paths, selection, unnamed, partition, reports }.run(self.matcher, self.storage)?;
        let mut warnings: Vec<String> =
            found.log_starts.iter().map(|finding| format!("{}: [{}] {}", place(finding), finding.rule(), text(finding))).collect();
        self.ensure_none_skipped(&found.left_out)?;
        warnings.extend(gap_warnings(&found.left_out));
        let mut finder = RangeFinder { query, storage: self.storage, warnings: Vec::new() };
        let mut ranges = finder.ranges(found.logs)?;
        warnings.append(&mut finder.warnings);
        ranges.retain(|range| self.wanted.has(&range.name));
        let mut readers = Vec::new();
        for range in &ranges {
            readers.extend(self.readers(range, &finder)?);
        }
        let (tasks, by_offset) = self.tasks(&readers)?;
        let by_time = ranges.iter().flat_map(|range| range.segments.iter().take(range.looked_up).map(Arc::clone));
        warnings.extend(self.index_warning(by_time.map(|segment| (segment, None)).chain(by_offset))?);
        Ok(PartitionTasks { tasks, warnings })
    }

    /// Fail for a directory entry named as a segment that cannot be read, unless the query goes on without it.
    fn ensure_none_skipped(&self, left_out: &[Finding]) -> QueryResult<()> {
        let skipped = left_out.iter().find(|finding| finding.rule() == SPECIAL && is_gap(finding));
        match skipped.filter(|_| self.query.fails_on_data_loss) {
            Some(finding) => {
                let text = format!("{}: {}; set failOnDataLoss to false to read the remaining records", place(finding), text(finding));
                Err(SparkError::System(text))
            }
            None => Ok(()),
        }
    }

    /// The readers of a range; of files without a topic-partition one for each directory, or for a file that is not a segment.
    fn readers(&self, range: &LogRange, finder: &RangeFinder<'_>) -> QueryResult<Vec<RangeReader>> {
        let name = range.name.clone();
        let own_start = range.start.filter(|_| !range.starts_at_time);
        let start_offset = own_start.into_iter().chain(self.wanted.start).max();
        let end_offset = range.end.into_iter().chain(self.wanted.end).min();
        let mut wanted = WantedRange { start_offset, end_offset, ..finder.wanted() };
        if range.starts_at_time {
            // A time is a place in the log, and later records may have any offset.
            wanted = wanted.sharing(range.start, None);
        }
        if let Some(until) = range.until {
            wanted = finder.search(range, wanted)?.within((None, Some(until)), self.storage)?;
        }
        let group = |segment: &SegmentLookup| {
            if segment.file.base_offset.is_none() { segment.file.path.clone() } else { segment.file.directory() }
        };
        let mut readers = Vec::new();
        for segments in range.segments.chunk_by(|one, other| group(one) == group(other)) {
            for segment in segments.iter().filter(|segment| segment.file.base_offset.is_none()) {
                self.ensure_entries(segment)?;
            }
            readers
                .push(RangeReader { name: name.clone(), reader: PartitionReader::new(segments.to_vec(), wanted, self.wanted.timestamp) });
        }
        Ok(readers)
    }

    /// Refuse a file without an entry, or with damage at its beginning; an empty file, or one of zeros, is fine.
    fn ensure_entries(&self, segment: &SegmentLookup) -> QueryResult<()> {
        let file = &segment.file;
        let Some(error) = self.first_entry_error(file)? else { return Ok(()) };
        let shown = uris::redacted_uri(&file.path);
        if error.kind().class() == "TruncatedError" {
            return Err(SparkError::value(format!("{shown}: not a log segment: it has no complete entry")));
        }
        if self.query.skips_damage() {
            return Ok(());
        }
        let prefix =
            if matches!(error.kind(), ErrorKind::NotASegment { .. }) { "" } else { "not a log segment, or damaged at its start: " };
        let text = error.to_string();
        let text = text.strip_prefix(&format!("{shown}: ")).unwrap_or(&text).to_owned();
        Err(SparkError::value(format!("{shown}: {prefix}{text}")))
    }

    /// The error of the first entry of a file; `None` for an empty file, one of zeros, and one that is gone.
    fn first_entry_error(&self, file: &SegmentFile) -> QueryResult<Option<Error>> {
        if let Err(error) = self.storage.ensure_segment(&file.path) {
            return Ok(Some(error));
        }
        let source = match self.storage.source(&file.path, 0, None, AtDamage::Fail) {
            Err(error) if error.is_not_found() => return Ok(None),
            source => source?,
        };
        let position = position_07(&file.path);
        // The read itself refuses magic 3 and unknown plugins.
        let decode = DecodeOptions {
            formats: if position.is_some() { Formats::Only(RecordFormat::V07) } else { Formats::Every },
            base_position: position.unwrap_or(0),
            check_crc: false,
            limits: self.query.limits,
            upload: source.upload(),
            ..DecodeOptions::default()
        };
        let options = StreamOptions {
            decode,
            projection: Projection { columns: Vec::new(), binary: BinaryKind::default(), has_null_headers: false },
            topic: None,
            partition: None,
            on_error: OnError::Raise,
            is_tail_strict: true,
            batch_size: 1,
            batch_bytes: usize::MAX,
            keys: None,
            threads: 1,
            interrupt: self.storage.interrupt(),
        };
        match BatchRows::new(source, options).next_batch() {
            Err(error) if error.is_about_data() && error.position().byte.is_none_or(|byte| byte == 0) => Ok(Some(error)),
            Err(error) if error.is_about_data() => Ok(None),
            found => found.map(|_| None).map_err(SparkError::from),
        }
    }

    /// The pieces of all tasks, and those that were looked up by their offsets.
    #[expect(clippy::type_complexity, reason = "what index_warning takes")]
    fn tasks(&self, readers: &[RangeReader]) -> QueryResult<(Vec<Vec<TaskPiece>>, Vec<(Arc<SegmentLookup>, Option<SegmentRange>)>)> {
        let mut pieces = Vec::new();
        for (log, RangeReader { reader, .. }) in readers.iter().enumerate() {
            for (_, piece) in reader.pieces(self.storage)? {
                pieces.push(SizedPiece { size: piece.size(self.storage)?, piece, log });
            }
        }
        let sizes = TaskSizes { query: self.query, cores: self.cores };
        let counts = sizes.counts(&pieces);
        let count_of = |piece: &SizedPiece| counts.get(&piece.piece.segment.file.path).copied().unwrap_or(1);
        let mut cuts: Vec<Vec<SizedPiece>> = vec![Vec::new(); readers.len()];
        for piece in &pieces {
            if let Some(own) = cuts.get_mut(piece.log) {
                own.extend(sizes.cut(piece, count_of(piece), self.storage)?);
            }
        }
        let mut known: BTreeMap<usize, Transactions> = BTreeMap::new();
        let mut tasks = Vec::new();
        for group in sizes.grouped(cuts) {
            let task = group.into_iter().map(|piece| self.part(piece, readers, &mut known)).collect::<QueryResult<Vec<_>>>()?;
            tasks.push(task);
        }
        let looked_up = pieces.into_iter().filter(|piece| piece.piece.is_looked_up() || count_of(piece) > 1);
        Ok((tasks, looked_up.map(|piece| (Arc::clone(&piece.piece.segment), Some(piece.piece))).collect()))
    }

    fn part(&self, sized: SizedPiece, readers: &[RangeReader], known: &mut BTreeMap<usize, Transactions>) -> QueryResult<TaskPiece> {
        let SizedPiece { piece, log, .. } = sized;
        let transactions = if self.query.is_committed { Some(self.touching(&piece, log, readers, known)?) } else { None };
        let bytes = piece.bytes(self.storage)?;
        // A piece ends where a batch ends. If it does not, the file has changed, or is damaged.
        let is_tail_strict = bytes.bytes.1.is_some() && self.query.fails_on_data_loss && !self.query.skips_damage();
        let file = piece.segment.file.clone();
        let finding = file.finding.clone().filter(|_| piece.has_finding);
        let name = readers.get(log).map(|reader| reader.name.clone()).unwrap_or_default();
        Ok(TaskPiece { file, name, bytes, is_tail_strict, transactions, resumes: piece.resumes, finding })
    }

    /// The transactions of a partition that touch a piece; the markers of each partition are looked for once.
    fn touching(
        &self,
        piece: &SegmentRange,
        log: usize,
        readers: &[RangeReader],
        known: &mut BTreeMap<usize, Transactions>,
    ) -> QueryResult<Transactions> {
        let all = match known.entry(log) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => {
                let found = readers.get(log).map(|reader| self.transactions(&reader.reader)).transpose()?;
                place.insert(found.unwrap_or_default())
            }
        };
        let stable = all.last_stable_offset();
        let (aborted, undecided) = (piece.touching(all.aborted().iter(), stable), piece.touching(all.undecided().iter(), stable));
        Ok(Transactions::from_parts(aborted, undecided, stable))
    }

    fn transactions(&self, reader: &PartitionReader) -> QueryResult<Transactions> {
        let Some(first) = reader.segments.first().filter(|first| !first.file.is_of_0_7()) else { return Ok(Transactions::default()) };
        let files = segments_of_directory(&first.file, self.storage)?;
        let query = self.query;
        let formats = query.formats();
        let verifier = ChecksumVerifier { formats, limits: query.limits, checksums: Checksums::of_scan(query.skips_damage()) };
        let options = CommittedOptions {
            end: reader.wanted.end_offset.into_iter().chain(reader.wanted.share.1).min(),
            verifier,
            skips_damage: query.skips_damage(),
            skips_unreadable: query.unreadable == Unreadable::Skip,
        };
        Ok(committed_transactions(&files, options, self.storage)?)
    }

    /// A warning about segments that were looked up without valid indexes, which takes longer.
    fn index_warning(&self, looked_up: impl Iterator<Item = (Arc<SegmentLookup>, Option<SegmentRange>)>) -> QueryResult<Option<String>> {
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        let mut order = Vec::new();
        for (segment, piece) in looked_up {
            if let Some(piece) = piece.filter(|piece| piece.wanted.skips_damage) {
                // The bytes of such a read are found without the index.
                let (start, end) = piece.wanted.bounds();
                if segment.byte_range(start, end, self.storage).is_err() {
                    continue;
                }
            }
            let findings = match segment.index_findings(self.storage) {
                Err(error) if error.is_interrupted() => return Err(error.into()),
                findings => findings.unwrap_or_default(),
            };
            // A broker keeps zeros after the entries of an active segment's index.
            for finding in findings.iter().filter(|finding| finding.rule() != "SEG-5" || finding.severity != Severity::Info) {
                let path = finding.path();
                let text = format!("{path}: [{}] {}", finding.rule(), text(finding));
                if found.insert(path.clone(), text).is_none() {
                    order.push(path);
                }
            }
        }
        let texts: Vec<String> = order.iter().filter_map(|path| found.remove(path)).collect();
        Ok((!texts.is_empty()).then(|| format!("indexes are unusable, batch headers are read instead: {}", several(&texts))))
    }
}

/// Warnings about offsets that nothing readable has, and about work that a broker did not finish.
fn gap_warnings(left_out: &[Finding]) -> Vec<String> {
    let mut warnings = Vec::new();
    let gaps: Vec<String> = left_out
        .iter()
        .filter(|finding| is_gap(finding) && finding.rule() != WORK)
        .map(|finding| format!("{}: [{}] {}", place(finding), finding.rule(), text(finding)))
        .collect();
    if !gaps.is_empty() {
        warnings.push(format!("segments are skipped: {}", several(&gaps)));
    }
    let work: Vec<&Finding> = left_out.iter().filter(|finding| finding.rule() == WORK).collect();
    let is_taken = |finding: &Finding| finding.severity == Severity::Info && text(finding).starts_with("read in place of other segments:");
    let directory = |finding: &Finding| uris::parent(Path::new(&finding.path()));
    let directories: Vec<_> = work
        .iter()
        .filter(|finding| finding.severity == Severity::Warning || is_taken(finding))
        .map(|finding| directory(finding))
        .collect();
    let texts: Vec<String> = work
        .iter()
        .filter(|finding| directories.contains(&directory(finding)))
        .map(|finding| format!("{}: {}", place(finding), text(finding)))
        .collect();
    if !texts.is_empty() {
        warnings.push(format!("[{WORK}] a broker was interrupted: {}", several(&texts)));
    }
    warnings
}

/// True for a finding of a file that is not read, and that alone has offsets.
fn is_gap(finding: &Finding) -> bool {
    finding.severity == Severity::Warning && finding.base_offset.is_some()
}

/// The path of the file of a finding.
fn place(finding: &Finding) -> String {
    let path = finding.path();
    path.rsplit_once('@').map_or(String::new(), |(file, _)| file.to_owned())
}

fn text(finding: &Finding) -> String {
    finding.kind.to_string()
}

fn several(texts: &[String]) -> String {
    let more = if texts.len() > NAMED { format!("; and {} more", texts.len() - NAMED) } else { String::new() };
    format!("{}{more}", texts.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; "))
}
