//! Segments of paths, their partitions, replicas and log start offsets.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::partition::{
    self as core, Checkpoints, DiscoveredSegments, FindingsOf, HIGH_WATERMARKS, PartitionSelection, Replica, SegmentSearch, patterns,
};
use crate::py::finding::{self, PyFinding};
use crate::py::option_values::{option, options};
use crate::py::source::storage::PyStorage;
use crate::py::source::uris;
use crate::py::verbs::segment_file::PySegmentFile;
use crate::validate::lost_ranges::NamedFinding;

options! {
    /// `logsegment._options.PartitionOptions`; defaults and docs are there.
    pub struct PartitionOptions {
        log_start_offset: String,
        replica: Replica = |options| replica(options)?,
    }
}

fn replica(options: &Borrowed<'_, '_, PyAny>) -> PyResult<Replica> {
    let value = options.getattr("replica")?;
    let name = value.extract::<String>().ok();
    Ok(match name.as_deref() {
        _ if value.is_none() => Replica::Unknown,
        Some("first") => Replica::First,
        Some("longest") => Replica::Longest,
        _ => Replica::Below(uris::to_internal_uri(options.py(), &{
            let path: PathBuf = option!(options, "replica");
            path
        })?),
    })
}

/// Segments, and findings of files that are not read.
///
/// Args:
///     files: segments of one or several partitions.
///     findings: of files that are not among them.
#[pyclass(frozen, module = "logsegment._core")]
pub struct FoundSegments {
    #[pyo3(get)]
    files: Vec<Py<PySegmentFile>>,
    #[pyo3(get)]
    findings: Vec<PyFinding>,
}

/// The offset of a partition in a checkpoint file, and why the file cannot be read; `None` without a file.
type Checkpoint = Option<(Option<i64>, Option<String>)>;

#[pymethods]
impl FoundSegments {
    #[new]
    #[pyo3(signature = (files, findings=None))]
    fn new(files: &Bound<'_, PyAny>, findings: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let findings =
            findings.map(|findings| collected(findings, |finding| Ok(finding.extract::<PyRef<'_, PyFinding>>()?.clone()))).transpose()?;
        Ok(Self { files: segment_files(files)?, findings: findings.unwrap_or_default() })
    }

    /// Find the segments of paths, those of a directory that several paths lead to once.
    ///
    /// Args:
    ///     paths: files of any name, partition directories, or trees of them; here or in a store.
    ///     topics: only partitions of this topic, or of these; None for all. If no directory names a topic, these name it.
    ///     partition: only partitions of this number.
    ///     has_patterns: a path that does not exist may be a pattern (`orders-*`).
    ///     failed: gets the error of each path without segments, instead of raising it.
    ///     options: which directory is read of a partition that is in several; None for all of them.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is no such path, or no segment in the directory and below.
    ///     FileExistsError: if two uploads overlap and have different records.
    ///     OSError: if a directory cannot be listed.
    ///     ValueError: if no partition has the topic and the number.
    ///     ReplicaError: if a partition is in several directories and the options choose none of them.
    #[staticmethod]
    #[pyo3(signature = (paths, topics=None, partition=None, *, has_patterns=true, failed=None, options=None),
        text_signature = "(paths, topics=None, partition=None, *, has_patterns=True, failed=None, options=None)")]
    fn search(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        topics: Option<&Bound<'_, PyAny>>,
        partition: Option<i32>,
        has_patterns: bool,
        failed: Option<&Bound<'_, PyAny>>,
        options: Option<PartitionOptions>,
    ) -> PyResult<Self> {
        let paths = placed(py, paths)?;
        let selection = PartitionSelection { topics: topics.map(names).transpose()?, partition };
        let replicas = options.map(|options| core::ReplicaChoice::new(options.replica));
        let search = SegmentSearch { has_patterns, selection: &selection, replicas };
        let (collects, mut errors) = (failed.is_some(), Vec::new());
        let found = PyStorage::asked(py, |storage| {
            let mut collect = |error| {
                let raised = if collects { storage.raised(error)? } else { return Err(error) };
                errors.push(raised);
                Ok(())
            };
            search.run(&paths, storage, &mut collect)
        });
        for error in errors {
            failed.map(|failed| failed.call1((error.into_value(py),))).transpose()?;
        }
        Self::of(py, found?)
    }

    /// Find the segments of one path, which is not a pattern, each as the path leads to it. See `search`.
    #[staticmethod]
    fn below(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let path = uris::to_internal_uri(py, &path)?;
        Self::of(py, PyStorage::asked(py, |storage| core::discovery::find(&path, storage))?)
    }

    /// Return each path, and instead of a pattern (`orders-*`) the paths that match it.
    ///
    /// Args:
    ///     paths: paths, URIs and patterns. A path that exists as it is written is not a pattern.
    ///     must_exist: raise an error for a path that does not exist.
    ///
    /// Raises:
    ///     FileNotFoundError: if nothing matches a pattern.
    ///     OSError: if a store does not answer.
    #[staticmethod]
    #[pyo3(signature = (paths, *, must_exist=false), text_signature = "(paths, *, must_exist=False)")]
    fn expanded(py: Python<'_>, paths: Vec<PathBuf>, must_exist: bool) -> PyResult<Vec<Bound<'_, PyAny>>> {
        let paths = placed(py, paths)?;
        let expand = if must_exist { patterns::matching } else { patterns::expanded };
        let found = PyStorage::asked(py, |storage| paths.iter().map(|path| expand(path, storage)).collect::<Result<Vec<_>, _>>())?;
        found.iter().flatten().map(|path| uris::text_of(py, path)).collect()
    }

    /// Return the segments of each group, those of a directory that several paths lead to only once.
    #[staticmethod]
    fn without_links(py: Python<'_>, groups: Vec<Vec<Py<PySegmentFile>>>) -> PyResult<Vec<Vec<Py<PySegmentFile>>>> {
        let found: Vec<_> = groups.iter().map(|files| cores(files)).collect();
        let kept = PyStorage::asked(py, |storage| core::without_links(&found, storage))?;
        Ok(groups.into_iter().zip(kept).map(|(files, kept)| only(files, kept)).collect())
    }

    /// Return the segments of a topic, or of several, and a partition number; None stands for all.
    ///
    /// If no directory names a topic, the segments get these names.
    ///
    /// Raises:
    ///     ValueError: if there are none.
    #[pyo3(signature = (topics, partition))]
    fn of_partition(&self, py: Python<'_>, topics: Option<&Bound<'_, PyAny>>, partition: Option<i32>) -> PyResult<Vec<PySegmentFile>> {
        let selection = PartitionSelection { topics: topics.map(names).transpose()?, partition };
        let files = cores(&self.files);
        let chosen = PyStorage::asked(py, |_| selection.of(&files))?;
        let finding = |at: usize| self.files.get(at).and_then(|file| file.get().finding.clone());
        Ok(chosen.into_iter().map(|(at, file)| PySegmentFile { file, finding: finding(at) }).collect())
    }

    /// Group the segments by partition, each group in the order of the offsets. A file of two paths is in it once.
    ///
    /// Returns:
    ///     The path of each partition as `PySegmentFile.place` has it, to be shown, and its segments; in the order of the first segment of each.
    fn by_partition(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<Py<PySegmentFile>>)>> {
        let files = cores(&self.files);
        let groups = PyStorage::asked(py, |storage| Ok(core::by_partition(&files, storage)))?;
        let own = |group: Vec<usize>| group.into_iter().filter_map(|at| self.files.get(at).map(|file| file.clone_ref(py))).collect();
        Ok(groups.into_iter().map(|(name, group)| (name, own(group))).collect())
    }

    /// Return the findings without those in directories of segments that are not chosen.
    ///
    /// Args:
    ///     found: the segments among which these were chosen. The findings of directories without any of them stay; None for the findings of
    ///         chosen segments alone.
    #[pyo3(signature = (found))]
    fn findings_among(&self, py: Python<'_>, found: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<PyFinding>> {
        let (chosen, found) = (cores(&self.files), found.map(segment_files).transpose()?.map(|found| cores(&found)));
        let counts = PyStorage::asked(py, |storage| Ok(FindingsOf::new(&chosen, found.as_deref(), storage)))?;
        Ok(self.findings.iter().filter(|finding| counts.has(finding.file())).cloned().collect())
    }

    /// Return a finding (SEG-18) for each partition in several directories, and the path that is above these directories.
    fn replicas(&self, py: Python<'_>) -> PyResult<(String, Vec<PyFinding>)> {
        let files = cores(&self.files);
        let (above, findings) = PyStorage::asked(py, |storage| Ok(core::replica_findings(&files, storage)))?;
        Ok((above, finding::to_py(&findings)))
    }

    /// Return the segments with the log start offsets of their partitions.
    ///
    /// Those of a partition's directory that was searched get its log start offset, a file that was named does not.
    ///
    /// Args:
    ///     options: whether log start offsets count.
    ///
    /// Returns:
    ///     The segments, in the same order, and warnings: a log start offset above the end of its log (SEG-20), which does not count, and a
    ///     checkpoint file that cannot be read (SEG-21).
    fn with_log_starts(&self, py: Python<'_>, options: PartitionOptions) -> PyResult<(Vec<Py<PySegmentFile>>, Vec<PyFinding>)> {
        let (starts, findings) = if options.log_start_offset == "ignore" {
            (vec![None; self.files.len()], Vec::new())
        } else {
            let files = cores(&self.files);
            PyStorage::asked(py, |storage| core::log_starts(&files, storage))?
        };
        let placed = self.files.iter().zip(starts).map(|(file, log_start)| {
            let PySegmentFile { file: own, finding } = file.get();
            let changed = || PySegmentFile { file: core::SegmentFile { log_start, ..own.clone() }, finding: finding.clone() };
            if own.log_start == log_start { Ok(file.clone_ref(py)) } else { Py::new(py, changed()) }
        });
        Ok((placed.collect::<PyResult<_>>()?, finding::to_py(&findings)))
    }

    /// Return an information (SEG-19) for each partition with records below its log start offset.
    ///
    /// The segments have their log start offsets, those of a partition one after the other.
    ///
    /// Args:
    ///     start_offset: the first offset that is read. A partition that is read from its log start offset on, or later, has no finding.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    #[pyo3(signature = (start_offset=None))]
    fn deleted_records(&self, py: Python<'_>, start_offset: Option<i64>) -> PyResult<Vec<PyFinding>> {
        let files = cores(&self.files);
        let findings = PyStorage::asked(py, |storage| core::deleted_records(&files, start_offset, storage))?;
        Ok(finding::to_py(&findings))
    }

    /// Return the number of records before an offset, without control records: by the headers, and in the batch around it.
    ///
    /// Raises:
    ///     OSError: if a file cannot be read.
    fn records_before(&self, py: Python<'_>, offset: i64) -> PyResult<u64> {
        let files = cores(&self.files);
        PyStorage::asked(py, |storage| core::records_before(&files, Some(offset), storage))
    }

    /// Return the directories at or below paths that hold the directories of the partitions.
    ///
    /// Args:
    ///     paths: directories that were named, absolute.
    fn log_directories<'py>(&self, py: Python<'py>, paths: Vec<PathBuf>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let files = cores(&self.files);
        let found = PyStorage::asked(py, |storage| Ok(core::log_directories(&files, &paths, storage)))?;
        found.iter().map(|path| uris::text_of(py, path)).collect()
    }

    /// Return the high watermark of the partition of each segment (SEG-9), and why the file with the high watermarks cannot be read.
    ///
    /// None for a segment without such a file, as in a copy of a partition. The watermark is None if the file does not have the partition.
    fn high_watermarks(&self, py: Python<'_>) -> PyResult<Vec<Checkpoint>> {
        let files = cores(&self.files);
        PyStorage::asked(py, |storage| {
            let mut checkpoints = Checkpoints::of(storage);
            let mut marks = Vec::with_capacity(files.len());
            for file in &files {
                let found = checkpoints.next_to(file, HIGH_WATERMARKS)?;
                marks.push(found.map(|found| {
                    let name = file.topic.clone().zip(file.partition);
                    let problem = found.problem.as_ref().map(|problem| format!("{}: {problem}", uris::redacted_uri(&found.path)));
                    (name.and_then(|name| found.offsets.get(&name).copied()), problem)
                }));
            }
            Ok(marks)
        })
    }
}

impl FoundSegments {
    fn of(py: Python<'_>, found: DiscoveredSegments) -> PyResult<Self> {
        let files = found.files.into_iter().map(|file| Py::new(py, PySegmentFile::from(file))).collect::<PyResult<_>>()?;
        Ok(Self { files, findings: finding::to_py(&found.findings) })
    }
}

/// The directory of each partition that is read, for readers that look again and again: it stays the same.
///
/// Args:
///     options: `replica` chooses among the directories of a partition.
#[pyclass(name = "ReplicaChoice", frozen, module = "logsegment._core")]
pub struct PyReplicaChoice(Mutex<core::ReplicaChoice>);

#[pymethods]
impl PyReplicaChoice {
    #[new]
    fn new(options: PartitionOptions) -> Self {
        Self(Mutex::new(core::ReplicaChoice::new(options.replica)))
    }

    /// Return the segments without those of replicas that are not read.
    ///
    /// Args:
    ///     files: of all paths at first, in their order, and in the order of the paths below each; later also of some of them.
    ///
    /// Raises:
    ///     ReplicaError: if a partition is in several directories and none of them is chosen, also if another directory of a known partition
    ///         has come; if the chosen path is without segments.
    ///     OSError: if a segment cannot be read to find the longest replica.
    fn of(&self, py: Python<'_>, files: Vec<Py<PySegmentFile>>) -> PyResult<Vec<Py<PySegmentFile>>> {
        let found = cores(&files);
        let kept = PyStorage::asked(py, |storage| self.0.lock().unwrap_or_else(PoisonError::into_inner).of(&found, storage))?;
        Ok(only(files, kept))
    }
}

fn placed(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<PathBuf>> {
    paths.into_iter().map(|path| uris::to_internal_uri(py, &path)).collect()
}

/// One name, or several.
fn names(names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    names.extract::<String>().map_or_else(|_| names.extract(), |name| Ok(vec![name]))
}

fn segment_files(files: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PySegmentFile>>> {
    collected(files, |file| Ok(file.cast::<PySegmentFile>()?.clone().unbind()))
}

fn collected<T>(found: &Bound<'_, PyAny>, extract: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>) -> PyResult<Vec<T>> {
    found.try_iter()?.map(|found| extract(&found?)).collect()
}

fn cores(files: &[Py<PySegmentFile>]) -> Vec<core::SegmentFile> {
    files.iter().map(|file| file.get().file.clone()).collect()
}

/// The files of which a mask is true.
fn only(files: Vec<Py<PySegmentFile>>, kept: Vec<bool>) -> Vec<Py<PySegmentFile>> {
    files.into_iter().zip(kept).filter_map(|(file, is_kept)| is_kept.then_some(file)).collect()
}
