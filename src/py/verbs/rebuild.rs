//! The files next to a log, made anew.

use std::io;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Result;
use crate::log::{SegmentFiles, SidecarRebuild};
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::source::paths;

/// Write the sidecar files of the segments of one partition: .index, .timeindex, .txnindex if transactions were aborted, .snapshot for
/// every segment but the first and for the end of the log, and the leader-epoch-checkpoint.
///
/// Headers and markers are read, the records are not. Files of these names in `out_dir` are replaced one by one, each atomically; other
/// files are not changed.
///
/// Args:
///     log_paths: the segments of one partition in offset order, as (path, base offset).
///     out_dir: an existing directory, that of the segments or another one.
///     index_interval_bytes: Kafka's log.index.interval.bytes; None for its default of 4096.
///
/// Returns:
///     The offset after the last one, and the names of the files that were written.
///
/// Raises:
///     RecordBatchError: when entries cannot be framed; then nothing was written for that segment and those after it.
///     OSError: when a file cannot be read or written.
#[pyfunction]
#[pyo3(signature = (log_paths, out_dir, *, index_interval_bytes=None))]
pub fn rebuild_indexes(
    py: Python<'_>,
    log_paths: Vec<(PathBuf, i64)>,
    out_dir: PathBuf,
    index_interval_bytes: Option<u64>,
) -> PyResult<(i64, Vec<String>)> {
    if log_paths.windows(2).any(|pair| matches!(pair, [(_, a), (_, b)] if a >= b)) {
        return Err(PyValueError::new_err("log_paths: the base offsets must increase"));
    }
    let mut rebuild = SidecarRebuild::new(index_interval_bytes);
    let (mut written, mut next_offset) = (Vec::new(), 0);
    for (index, (path, base_offset)) in log_paths.iter().enumerate() {
        let (segment, _) = segment(py, &mut rebuild, path, *base_offset)?;
        next_offset = segment.next_offset;
        write(py, &out_dir, segment.to_files(index == 0), &mut written)?;
    }
    if !log_paths.is_empty() {
        write(py, &out_dir, rebuild.finish(), &mut written)?;
    }
    Ok((next_offset, written))
}

/// Returns where a segment ends: the offset after its last one, the bytes of whole entries, and all its bytes.
///
/// Headers are read, the records are not.
///
/// Raises:
///     RecordBatchError: when entries cannot be framed.
///     OSError: when the file cannot be read.
#[pyfunction]
pub fn segment_end(py: Python<'_>, path: PathBuf, base_offset: i64) -> PyResult<(i64, u64, u64)> {
    let (segment, len) = segment(py, &mut SidecarRebuild::new(None), &path, base_offset)?;
    Ok((segment.next_offset, segment.valid_bytes, len))
}

/// Returns the sidecar files of a segment, and its size.
fn segment(py: Python<'_>, rebuild: &mut SidecarRebuild, path: &Path, base_offset: i64) -> PyResult<(SegmentFiles, u64)> {
    let (signals, interrupt) = Signals::new();
    let (log, len) = paths::open(path, &signals).map_err(|error| paths::raised(py, &error, path, &signals))?;
    let built: Result<_> = py.detach(|| rebuild.segment(&*log, len, base_offset, &interrupt));
    built.map(|files| (files, len)).map_err(|error| signals.raised(py, &paths::in_file(error, path)))
}

fn write(py: Python<'_>, directory: &Path, files: Vec<(String, Vec<u8>)>, written: &mut Vec<String>) -> PyResult<()> {
    for (name, bytes) in files {
        let path = directory.join(&name);
        py.detach(|| replace(&path, &bytes)).map_err(|error| errors::io_error(py, &error, &path))?;
        written.push(name);
    }
    Ok(())
}

/// Writes a file under another name first, so that nobody ever sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".part");
    std::fs::write(&unfinished, bytes).and_then(|()| std::fs::rename(&unfinished, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&unfinished);
    })
}
