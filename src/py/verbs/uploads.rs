//! Uploads of tiered storage for the Python package: which segments they are, and what is wrong with them.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::interrupt::Interrupt;
use crate::py::errors;
use crate::py::finding::Finding;
use crate::py::interrupt::Signals;
use crate::py::source::store::upload_at;
use crate::py::verbs::stores::EntryRow;
use crate::stores::PlaceEntry;
use crate::tiered::{self, Upload, Uri};

/// Path, topic, its id, partition, base offset, segment id, end offset, bytes, state, reason, last offset that is read.
type UploadRow =
    ((String, Option<String>, Option<String>, Option<i32>, i64, String), (Option<i64>, Option<u64>, &'static str, String, Option<i64>));

/// Return all uploads below a directory, as the fields of `logsegment.tiered.Upload`.
///
/// Raises:
///     OSError: if a directory cannot be listed or read.
#[pyfunction]
pub fn uploads(py: Python<'_>, uri: &str) -> PyResult<Vec<UploadRow>> {
    let row = |upload: Upload| {
        let name = upload.partition;
        let named = (upload.path, name.topic, name.topic_id, name.partition, upload.base_offset, upload.segment_id);
        (named, (upload.end_offset, upload.size, upload.state.name(), upload.reason, upload.last_read))
    };
    Ok(asked(py, uri, tiered::uploads)?.into_iter().map(row).collect())
}

/// Return the indexes of uploads that cannot be read: the path that each would have next to a log, and a finding.
///
/// Raises:
///     OSError: if an object cannot be read.
#[pyfunction]
pub fn lost_indexes(py: Python<'_>, uris: Vec<String>) -> PyResult<Vec<(String, Finding)>> {
    let logs: tiered::Result<Vec<Uri>> = uris.iter().map(|uri| upload_at(Path::new(uri))).collect();
    let logs = logs.map_err(|error| errors::tiered_error(py, &error))?;
    let lost = answered(py, |interrupt| tiered::lost_indexes(&logs, interrupt))?;
    Ok(lost.iter().map(|(path, finding)| (path.clone(), Finding::from(finding))).collect())
}

/// Return the largest timestamp (ms) of the records of an upload, from its manifest; None if the manifest does not have it.
///
/// Raises:
///     OSError: if the store does not answer.
#[pyfunction]
pub fn uploaded_max_timestamp(py: Python<'_>, uri: &str) -> PyResult<Option<i64>> {
    asked(py, uri, tiered::max_timestamp)
}

/// Return the text of the data key of an upload, for a URI that must not have private keys; None if it is not encrypted.
///
/// Raises:
///     SegmentKeyError: if its key is missing or wrong.
///     OSError: if the store does not answer.
#[pyfunction]
pub fn uploaded_data_key(py: Python<'_>, uri: &str) -> PyResult<Option<String>> {
    asked(py, uri, tiered::data_key_of)
}

/// Forget the chunks of uploads that this process keeps, and return their number.
#[pyfunction]
pub fn forget_chunks() -> usize {
    let kept = tiered::cached_chunks();
    tiered::forget_chunks();
    kept
}

/// Asks about an upload, without the interpreter.
pub fn asked<T: Send>(py: Python<'_>, uri: &str, ask: impl FnOnce(&Uri, &Interrupt) -> tiered::Result<T> + Send) -> PyResult<T> {
    let uri = upload_at(Path::new(uri)).map_err(|error| errors::tiered_error(py, &error))?;
    answered(py, |interrupt| ask(&uri, interrupt))
}

/// Asks without the interpreter.
pub fn answered<T: Send>(py: Python<'_>, ask: impl FnOnce(&Interrupt) -> tiered::Result<T> + Send) -> PyResult<T> {
    let (signals, interrupt): (Arc<Signals>, Interrupt) = Signals::new();
    py.detach(|| ask(&interrupt)).map_err(|error| match signals.take() {
        Some(raised) if error.is_interrupted() => raised,
        _ => errors::tiered_error(py, &error),
    })
}

/// The row of an entry.
pub fn row(entry: PlaceEntry) -> EntryRow {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "a time of a file in seconds has not all of its nanoseconds")]
    let modified = entry.modified_ns.map(|ns| ns as f64 / 1e9);
    (entry.name, entry.is_directory, entry.size, modified, entry.tag)
}
