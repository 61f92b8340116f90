//! Segments of paths: a path goes in, segment files with their topic, partition and base offset come out, in reading order.
//!
//! A path is a file of any name, a partition directory, or a tree of them. Directories below that Kafka marked as deleted, stray or future
//! copies are skipped; as the path itself they are read. Source: `LogManager.loadLogs` and `LocalLog` in Kafka.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{SegmentFolder, in_reading_order, is_segment};
use super::interrupted::with_swaps;
use super::links::without_links;
use super::names::{SegmentName, WATERMARK, is_skipped, is_upload, listed, object_suffix};
use super::neighbours::with_offsets;
use super::patterns::{ENOENT, expanded};
use super::replicas::ReplicaChoice;
use super::tree::Tree;
use super::{DirectoryEntry, Listing, SegmentFile, Storage};
use crate::error::{Error, ErrorKind, Result};
use crate::validate::{Finding, Severity};

/// "File exists", the same number on every system.
const EEXIST: i32 = 17;
/// Names that a message has.
const NAMED: usize = 5;

/// The segments of paths, and the findings of files that are not read.
#[derive(Clone, Debug, Default)]
pub struct DiscoveredSegments {
    /// The segments, partition by partition, in the order of their offsets.
    pub files: Vec<SegmentFile>,
    /// Findings: of uploads that are not read, or not to their end; of interrupted work; of entries named as a segment that are not regular
    /// files; and of links that cannot be followed.
    pub findings: Vec<Finding>,
}

/// Topics and the number of a partition; `None` stands for all.
#[derive(Clone, Debug, Default)]
pub struct PartitionSelection {
    /// The topics.
    pub topics: Option<Vec<String>>,
    /// The number.
    pub partition: Option<i32>,
}

/// What is searched in several paths.
pub struct SegmentSearch<'a> {
    /// A path that does not exist may be a pattern (`orders-*`).
    pub has_patterns: bool,
    /// The partitions. If no directory names a topic, these name it.
    pub selection: &'a PartitionSelection,
    /// Which directory is read of a partition that is in several; `None` for all of them.
    pub replicas: Option<ReplicaChoice>,
}

/// Gets the error of each path without segments, and returns the errors that end the search.
pub type OnFailure<'a> = &'a mut dyn FnMut(Error) -> Result<()>;

impl SegmentSearch<'_> {
    /// Find the segments of paths. Those of a directory that several paths lead to are found once.
    ///
    /// # Errors
    /// As `find` and `PartitionSelection::of`, and `Replicas` if a partition is in several directories and none of them is chosen.
    pub fn run(self, paths: &[PathBuf], storage: &dyn Storage, failed: OnFailure<'_>) -> Result<DiscoveredSegments> {
        let mut groups = Vec::new();
        let mut findings = Vec::new();
        for path in paths {
            if let Err(error) = self.look_at(path, storage, &mut groups, &mut findings) {
                failed(error)?;
            }
        }
        let files = with_offsets(united(groups, storage)?, storage);
        let Self { selection, replicas, .. } = self;
        // A name that the arguments give to directories is not that of a replica.
        let has_names = files.iter().any(|file| file.topic.is_some());
        let mut chosen: Vec<_> = selection.of(&files)?.into_iter().map(|(_, file)| file).collect();
        if let Some(mut replicas) = replicas {
            let kept = replicas.of(if has_names { &chosen } else { &files }, storage)?;
            chosen = if has_names { only(chosen, kept) } else { chosen };
        }
        // Without a topic and a partition, the findings of directories without any segment stay.
        let others = if selection.is_all() { Some(files.as_slice()) } else { None };
        let counts = FindingsOf::new(&chosen, others, storage);
        findings = once(findings).into_iter().filter(|finding| counts.has(&finding.path())).collect();
        Ok(DiscoveredSegments { files: chosen, findings })
    }

    fn look_at(&self, path: &Path, storage: &dyn Storage, groups: &mut Vec<Vec<SegmentFile>>, findings: &mut Vec<Finding>) -> Result<()> {
        let paths = if self.has_patterns { expanded(path, storage)? } else { vec![path.to_owned()] };
        for path in paths {
            let found = find(&path, storage)?;
            groups.push(found.files);
            findings.extend(found.findings);
        }
        Ok(())
    }
}

/// The segments of several paths, each once, in the order of the partitions.
fn united(groups: Vec<Vec<SegmentFile>>, storage: &dyn Storage) -> Result<Vec<SegmentFile>> {
    let kept = without_links(&groups, storage)?;
    let several = groups.len() > 1;
    let files: Vec<_> = groups.into_iter().zip(kept).flat_map(|(files, kept)| only(files, kept)).collect();
    if !several {
        return Ok(files);
    }
    let mut united = Vec::with_capacity(files.len());
    for (_, group) in by_partition(&files, storage) {
        let group: Vec<_> = group.into_iter().filter_map(|at| files.get(at).cloned()).collect();
        ensure_single_uploads(&group, storage)?;
        united.extend(group);
    }
    Ok(united)
}

/// The files of which a mask is true.
fn only(files: Vec<SegmentFile>, kept: Vec<bool>) -> Vec<SegmentFile> {
    files.into_iter().zip(kept).filter_map(|(file, is_kept)| is_kept.then_some(file)).collect()
}

/// Find the segments of one path.
///
/// # Errors
/// `NotFound` if there is no such path, `Files` if no segment is in the directory and below, if no name fits the layout of the path, or if
/// two uploads begin with the same offset.
pub fn find(path: &Path, storage: &dyn Storage) -> Result<DiscoveredSegments> {
    let keys_of = Some(path).filter(|path| storage.is_uploaded(path));
    let layout = storage.layout_of(path);
    let base = storage.entry(&storage.untiered(path))?;
    if !base.is_directory {
        let uploaded = upload_at(&base.path, keys_of, storage)?;
        if let Some(layout) = layout.filter(|_| uploaded.is_none()) {
            return Err(no_object(path, &layout, Some(&base.path), storage));
        }
        let file = uploaded.unwrap_or_else(|| SegmentFolder::of_file(&base.path, storage).segment(&base));
        return Ok(DiscoveredSegments { files: vec![file], findings: Vec::new() });
    }
    let mut found = DiscoveredSegments::default();
    // Without `.` and repeated slashes a directory has one text.
    let directory = if storage.is_stored(&base.path) { base.path } else { base.path.components().collect() };
    let mut tree = Tree::of(&directory, is_skipped, storage)?;
    let mut example = None;
    while let Some((directory, listing)) = tree.next_directory()? {
        found.findings.extend(skipped_entries(&listing, storage));
        if layout.is_some() {
            uploads_of(&directory, &listing.files, keys_of, storage, &mut found)?;
            example = example.or_else(|| example_of(&listing));
        } else {
            segments_of(&directory, &listing, keys_of, storage, &mut found)?;
        }
    }
    let DiscoveredSegments { mut files, findings } = found;
    if files.is_empty() {
        let no_object = |layout: String| no_object(path, &layout, example.as_deref(), storage);
        return Err(layout.map_or_else(|| no_segments(path, &findings, storage), no_object));
    }
    in_reading_order(&mut files, storage);
    files.iter_mut().for_each(|file| file.is_listed = true);
    ensure_single_uploads(&files, storage)?;
    Ok(DiscoveredSegments { files: with_offsets(files, storage), findings })
}

/// Group segments by partition, each group in the order of the offsets. A file of two paths is in it once, as the one that was found in a
/// directory.
///
/// Returns the path of each partition, to be shown, and where its segments are among the files; in the order of the first segment of each.
pub fn by_partition(files: &[SegmentFile], storage: &dyn Storage) -> Vec<(String, Vec<usize>)> {
    let mut known: HashMap<&Path, usize> = HashMap::new();
    let mut unique: Vec<(usize, &SegmentFile)> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        match known.get(file.path.as_path()).and_then(|number| unique.get_mut(*number)) {
            Some(first) if file.is_listed && !first.1.is_listed => *first = (at, file),
            Some(_) => {}
            None => {
                known.insert(&file.path, unique.len());
                unique.push((at, file));
            }
        }
    }
    let mut names: HashMap<PathBuf, String> = HashMap::new();
    let mut group_at: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(String, Vec<(i64, usize)>)> = Vec::new();
    for (at, file) in unique {
        let name = names.entry(file.place()).or_insert_with_key(|place| storage.shown(place)).clone();
        let number = *group_at.entry(name.clone()).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((_, group)) => group.push((file.base(), at)),
            None => groups.push((name, vec![(file.base(), at)])),
        }
    }
    let ordered = |mut group: Vec<(i64, usize)>| {
        group.sort_by_key(|(base, _)| *base);
        group.into_iter().map(|(_, at)| at).collect()
    };
    groups.into_iter().map(|(name, group)| (name, ordered(group))).collect()
}

impl PartitionSelection {
    fn is_all(&self) -> bool {
        self.topics.is_none() && self.partition.is_none()
    }

    /// The segments of the topics and the partition, each with its place among the files. If no directory names a topic, the segments get
    /// these names.
    ///
    /// # Errors
    /// `Usage` if there are none.
    pub fn of(&self, files: &[SegmentFile]) -> Result<Vec<(usize, SegmentFile)>> {
        if self.is_all() {
            return Ok(files.iter().cloned().enumerate().collect());
        }
        let Some(topics) = &self.topics else { return self.of_topic(files, None) };
        let mut seen = BTreeSet::new();
        let mut chosen = Vec::new();
        for topic in topics.iter().filter(|topic| seen.insert(*topic)) {
            chosen.extend(self.of_topic(files, Some(topic))?);
        }
        Ok(chosen)
    }

    fn of_topic(&self, files: &[SegmentFile], topic: Option<&String>) -> Result<Vec<(usize, SegmentFile)>> {
        let has_topics = files.iter().any(|file| file.topic.is_some());
        let named = |file: &SegmentFile| match &file.topic {
            None if has_topics => None,
            None => {
                let is_chosen = file.partition.is_none() || self.partition.is_none() || self.partition == file.partition;
                let partition = self.partition.or(file.partition);
                is_chosen.then(|| SegmentFile { topic: topic.cloned(), partition, ..file.clone() })
            }
            Some(own) => {
                let is_chosen = topic.is_none_or(|topic| topic == own) && (self.partition.is_none() || self.partition == file.partition);
                is_chosen.then(|| file.clone())
            }
        };
        let chosen: Vec<_> = files.iter().enumerate().filter_map(|(at, file)| Some((at, named(file)?))).collect();
        if chosen.is_empty() { Err(self.no_partition(files, topic)) } else { Ok(chosen) }
    }

    fn no_partition(&self, files: &[SegmentFile], topic: Option<&String>) -> Error {
        let topics: BTreeSet<_> = files.iter().filter_map(|file| file.topic.as_ref()).collect();
        if let Some(topic) = topic.filter(|topic| !topics.contains(topic)) {
            let problem = format!("{topic}; there are {}", listed(topics.into_iter().cloned(), NAMED));
            return ErrorKind::Usage { argument: "no such topic", problem }.into();
        }
        let own = files.iter().filter(|file| topic.is_none() || file.topic.as_ref() == topic);
        let numbers: BTreeSet<_> = own.filter_map(|file| file.partition).collect();
        let number = self.partition.map_or_else(|| "None".to_owned(), |number| number.to_string());
        let problem = format!("{number}; there are {}", listed(numbers.into_iter().map(|number| number.to_string()), NAMED));
        ErrorKind::Usage { argument: "no such partition", problem }.into()
    }
}

/// Which findings of files that are not read stay: not those in directories of segments that are not chosen.
pub struct FindingsOf {
    directories: BTreeSet<String>,
    /// The directories of segments that are not chosen; `None` if only findings in directories of chosen segments stay.
    others: Option<BTreeSet<String>>,
}

impl FindingsOf {
    /// Of chosen segments, among all that were found. `None` for the findings of chosen segments alone.
    pub fn new(chosen: &[SegmentFile], found: Option<&[SegmentFile]>, storage: &dyn Storage) -> Self {
        let directories = shown_directories(chosen, storage);
        let others = found.map(|found| &shown_directories(found, storage) - &directories);
        Self { directories, others }
    }

    /// True for a finding, by its path.
    pub fn has(&self, path: &str) -> bool {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| if directory.is_empty() { "/" } else { directory });
        match &self.others {
            None => self.directories.contains(directory),
            Some(others) => !others.contains(directory),
        }
    }
}

fn shown_directories(files: &[SegmentFile], storage: &dyn Storage) -> BTreeSet<String> {
    let directories: BTreeSet<PathBuf> = files.iter().map(SegmentFile::directory).collect();
    directories.iter().map(|directory| storage.shown(directory)).collect()
}

/// Each finding once: of one path the last.
fn once(findings: Vec<Finding>) -> Vec<Finding> {
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut unique: Vec<Finding> = Vec::new();
    for finding in findings {
        match at.get(&finding.path()).and_then(|at| unique.get_mut(*at)) {
            Some(known) => *known = finding,
            None => {
                at.insert(finding.path(), unique.len());
                unique.push(finding);
            }
        }
    }
    unique
}

/// A file as a segment, whatever its name. The file is not read.
pub fn segment_at(path: &Path, storage: &dyn Storage) -> SegmentFile {
    SegmentFolder::of_file(path, storage).segment(&DirectoryEntry { path: path.to_owned(), ..DirectoryEntry::default() })
}

/// Adds the segments of one directory, and the findings of its interrupted work and of its uploads.
fn segments_of(
    directory: &Path,
    listing: &Listing,
    keys_of: Option<&Path>,
    storage: &dyn Storage,
    found: &mut DiscoveredSegments,
) -> Result<()> {
    let folder = SegmentFolder::of(directory, storage);
    let is_plain = |entry: &&DirectoryEntry| is_segment(&entry.name) && !is_upload(&entry.name);
    let plain = |listing: &Listing| listing.files.iter().filter(is_plain).map(|entry| folder.segment(entry)).collect();
    let mut files = with_swaps(&folder, listing, &plain, storage, Some(&mut found.findings))?;
    if listing.files.iter().any(|file| file.name == WATERMARK) {
        // Pinterest's uploader keeps the names of the broker, and closes a segment before the upload.
        files.iter_mut().for_each(|file| file.path = storage.uploaded(&file.path, keys_of));
    }
    found.files.append(&mut files);
    if listing.files.iter().any(|file| is_upload(&file.name)) {
        let objects: Vec<_> = listing.files.iter().filter(|file| object_suffix(&file.name).is_some()).cloned().collect();
        uploads_of(directory, &objects, keys_of, storage, found)?;
    }
    Ok(())
}

/// Adds the uploads with their objects among the files of a directory.
fn uploads_of(
    directory: &Path,
    files: &[DirectoryEntry],
    keys_of: Option<&Path>,
    storage: &dyn Storage,
    found: &mut DiscoveredSegments,
) -> Result<()> {
    let (uploads, findings) = storage.uploads(directory, keys_of, files)?;
    found.files.extend(uploads.into_iter().map(SegmentFile::from));
    found.findings.extend(findings);
    Ok(())
}

/// The upload with its log at a path; `None` for any other file.
fn upload_at(path: &Path, keys_of: Option<&Path>, storage: &dyn Storage) -> Result<Option<SegmentFile>> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    if object_suffix(&name) != Some("log") && keys_of.and_then(|uri| storage.layout_of(uri)).is_none() {
        return Ok(None);
    }
    Ok(storage.upload_at(path, keys_of)?.map(SegmentFile::from))
}

impl From<super::Uploaded> for SegmentFile {
    fn from(uploaded: super::Uploaded) -> Self {
        let super::Uploaded { path, topic, partition, base_offset, size } = uploaded;
        Self { path, topic, partition, base_offset: Some(base_offset), known_size: size, ..Self::default() }
    }
}

/// Findings of the entries that are named as a segment and cannot be read, and of the links that may lead to one.
fn skipped_entries(listing: &Listing, storage: &dyn Storage) -> Vec<Finding> {
    let base_offset = |entry: &DirectoryEntry| SegmentName::parse(&entry.name).filter(|name| !name.is_swap).map(|name| name.base_offset);
    let skipped = |entry: &DirectoryEntry, reason: String| {
        let finding = Finding::of_files("SEG-15", Severity::Warning, format!("skipped, {reason}"), 0, 0);
        Finding { base_offset: base_offset(entry), ..finding.in_file(&storage.shown(&entry.path).into()) }
    };
    let special = listing.special.iter().filter(|entry| base_offset(entry).is_some());
    let special = special.map(|entry| skipped(entry, "not a regular file".to_owned()));
    let broken = listing.broken.iter().map(|(entry, reason)| skipped(entry, format!("link cannot be followed: {reason}")));
    special.chain(broken).collect()
}

fn no_segments(path: &Path, findings: &[Finding], storage: &dyn Storage) -> Error {
    let mut problem = "no log segments (twenty digits and .log or .kafka) in this directory or below".to_owned();
    if let Some(finding) = findings.first() {
        problem.push_str(&format!("; {}: {}", finding.file.as_deref().unwrap_or_default(), finding.kind));
    }
    Error::from(ErrorKind::Files { os_code: ENOENT, problem }).in_file(&storage.shown(path).into())
}

/// The error of a path without an object of its layout. `example` is a file there.
fn no_object(path: &Path, layout: &str, example: Option<&Path>, storage: &dyn Storage) -> Error {
    let found = match example {
        Some(example) => format!("a file there is {}", storage.shown(example)),
        None => "there is no file".to_owned(),
    };
    let problem = format!("no object fits the layout '{layout}'; {found}");
    Error::from(ErrorKind::Files { os_code: ENOENT, problem }).in_file(&storage.shown(path).into())
}

/// A file of a listing, best one with the suffix of a log.
fn example_of(listing: &Listing) -> Option<PathBuf> {
    let log = listing.files.iter().find(|file| file.name.ends_with(".log"));
    log.or_else(|| listing.files.first()).map(|file| file.path.clone())
}

/// Fails if two uploads of a directory begin with the same offset: reading both would give records twice.
fn ensure_single_uploads(segments: &[SegmentFile], storage: &dyn Storage) -> Result<()> {
    for pair in segments.windows(2) {
        let [one, other] = pair else { continue };
        let is_same = one.base_offset == other.base_offset && one.directory() == other.directory();
        if is_same && is_whole_upload(one, storage) && is_whole_upload(other, storage) {
            let problem = format!("uploaded a second time as {}; pass the segments to read by name", other.name());
            let path: Arc<str> = storage.shown(&one.path).into();
            return Err(Error::from(ErrorKind::Files { os_code: EEXIST, problem }).in_file(&path));
        }
    }
    Ok(())
}

/// True for an upload that gives records: one whose choice needs a missing key does not, so that it may begin with the same offset.
fn is_whole_upload(segment: &SegmentFile, storage: &dyn Storage) -> bool {
    let name = segment.name();
    let has_id = SegmentName::parse(&name).is_some_and(|name| !name.is_swap && name.id.is_some());
    let before = storage.cut_of(&segment.path);
    (has_id || storage.layout_of(&segment.path).is_some()) && (before.is_none() || before != segment.base_offset)
}
