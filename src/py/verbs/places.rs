//! Paths and URIs for the Python package: their parts, and the files and directories at them.

use std::path::PathBuf;

use bytes::Bytes;
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::Interrupt;
use crate::partition::{DirectoryEntry, Storage, Tree};
use crate::py::errors;
use crate::py::finding::PyFinding;
use crate::py::source::storage::PyStorage;
use crate::py::source::uris;
use crate::py::verbs::open_file::{OpenFile, OpenedFile, PyPlaceEntry, answered, answered_of_upload};
use crate::stores::{self, Location, StorageOptions, UriParts};
use crate::tiered::{self, Layouts, Upload, Uri};

/// Path, topic, its id, partition, base offset, segment id, end offset, bytes, state, reason, last offset that is read.
type UploadRow =
    ((String, Option<String>, Option<String>, Option<i32>, i64, String), (Option<i64>, Option<u64>, &'static str, String, Option<i64>));

/// A path of this machine, or a URI of a store or of uploads, with its options and keys. Its text shows none of them.
///
/// Args:
///     path: a path, a `file:` URI or a URI of a store.
///     storage_options: options of the store by the names of object_store; None for those of the environment. Those of a path of this machine
///         do not matter.
///
/// Attributes:
///     path (str): as it is used inside the package: a URI has its options.
///     name (str): the last part.
///     scheme, host, user, key (str): the parts of a URI, empty for a path; the key is the path in the store.
///     is_stored (bool): True for a URI of a store.
///     is_uploaded (bool): True for a URI of uploads that are read as log directories.
///     here (str or None): the path of a file of this machine, or of the objects of an upload here; None for a file in a store.
///     keys (str): the text of the key ring of uploads.
///
/// Raises:
///     TypeError: if the options are not a mapping of text to text.
///     ValueError: if a `file:` URI names another machine, or a URI of a store has a key, a password or settings.
///
/// Example:
///     >>> from logsegment._core import Place
///     >>> print(Place("s3://bucket/orders-0", {"aws_secret_access_key": "secret"}).joined("0.log"))
///     s3://bucket/orders-0/0.log
#[pyclass(name = "Place", frozen, eq, hash, module = "logsegment._core")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyPlace {
    path: PathBuf,
}

#[pymethods]
impl PyPlace {
    #[new]
    #[pyo3(signature = (path, storage_options=None))]
    #[expect(clippy::needless_pass_by_value, reason = "a path from Python is made anew")]
    fn new(py: Python<'_>, path: PathBuf, storage_options: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self { path: uris::reached(py, &path, storage_options.as_ref())? })
    }

    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        uris::text_of(py, &self.path)
    }

    #[getter]
    fn name(&self) -> String {
        uris::name_of(&self.path)
    }

    #[getter]
    fn scheme(&self) -> String {
        self.parts().scheme
    }

    #[getter]
    fn host(&self) -> String {
        self.parts().host
    }

    #[getter]
    fn user(&self) -> String {
        self.parts().user
    }

    #[getter]
    fn key(&self) -> String {
        self.parts().path
    }

    #[getter]
    fn is_stored(&self) -> bool {
        uris::is_stored(&self.path)
    }

    #[getter]
    fn is_uploaded(&self) -> bool {
        uris::is_uploaded(&self.path)
    }

    #[getter]
    fn here<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let place = uris::untiered(&self.path);
        if uris::is_stored(&place) { Ok(None) } else { uris::text_of(py, &place).map(Some) }
    }

    #[getter]
    fn keys(&self) -> String {
        self.settings().0
    }

    fn __str__(&self) -> String {
        uris::redacted_uri(&self.path)
    }

    fn __repr__(&self) -> String {
        format!("Place({:?})", self.__str__())
    }

    /// Return a path or URI as people may see it, whatever is in it. A byte of a path that is not UTF-8 is `\\xNN`.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "a path from Python is made anew")]
    fn redacted_uri(path: PathBuf) -> String {
        uris::redacted_uri(&path)
    }

    /// Return True for a URI of a store, whatever is in it; False for a path of this machine and a `file:` URI.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "a path from Python is made anew")]
    fn is_uri(path: PathBuf) -> bool {
        uris::is_stored(&path)
    }

    /// Return a file or directory in this directory.
    fn joined(&self, name: &str) -> Self {
        let path = if uris::is_stored(&self.path) { uris::joined(&self.path, name) } else { self.path.join(name) };
        Self { path }
    }

    /// Return the directory of this file.
    fn parent(&self) -> Self {
        Self { path: uris::parent(&self.path) }
    }

    /// Return a path or URI that means the same in every directory.
    fn absolute(&self) -> Self {
        Self { path: uris::absolute(&self.path) }
    }

    /// Return the objects of an upload, without the keys and without the offset before which it is read; any other path as it is.
    fn objects(&self) -> Self {
        Self { path: uris::untiered(&self.path) }
    }

    /// Return these objects as uploads, which are read as log directories.
    ///
    /// Args:
    ///     keys: the text of a key ring; None for the keys that it has.
    ///     layout: template of the names of objects; None for the layout that it has.
    ///
    /// Raises:
    ///     ValueError: if the layout is invalid; the error has the position.
    #[pyo3(signature = (keys=None, layout=None))]
    fn uploaded(&self, py: Python<'_>, keys: Option<&str>, layout: Option<&str>) -> PyResult<Self> {
        let (own_keys, own_layout) = self.settings();
        let layout = layout.map(|layout| layout_text(py, layout)).transpose()?;
        Ok(self.with_settings(keys.unwrap_or(&own_keys), &layout.unwrap_or(own_layout)))
    }

    /// Return these objects as uploads with the keys and the layout of other ones.
    fn uploaded_like(&self, other: &Self) -> Self {
        let (keys, layout) = other.settings();
        self.with_settings(&keys, &layout)
    }

    /// Return uploads without the layout that they may have; any other path as it is.
    fn without_layout(&self) -> Self {
        if self.is_uploaded() { self.with_settings(&self.settings().0, "") } else { self.clone() }
    }

    /// Return an upload with the data key of its segment instead of private keys.
    ///
    /// Raises:
    ///     SegmentKeyError: if its key is missing or wrong.
    ///     OSError: if the store does not answer.
    fn with_data_key(&self, py: Python<'_>) -> PyResult<Self> {
        let key = self.asked_of_upload(py, tiered::data_key_of)?;
        Ok(self.with_settings(&key.unwrap_or_default(), &self.settings().1))
    }

    /// Return the name that a broker gives a file of an upload, and the id of its topic or None; None for a file of no upload.
    ///
    /// Raises:
    ///     ValueError: if the layout is invalid.
    fn uploaded_name(&self, py: Python<'_>) -> PyResult<Option<(String, Option<String>)>> {
        if !self.is_uploaded() {
            return Ok(None);
        }
        let uri = uris::upload_at(&self.path).map_err(|error| errors::tiered_error(py, &error))?;
        Ok(tiered::local_name(&uri))
    }

    /// Return the entry of this file or directory.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is neither.
    ///     OSError: if the store does not answer.
    fn entry(&self, py: Python<'_>) -> PyResult<PyPlaceEntry> {
        PyStorage::asked(py, |storage| storage.entry(&self.path)).map(PyPlaceEntry)
    }

    /// Return the files and directories in this directory, by name. Links are followed.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is no such directory.
    ///     OSError: if it cannot be listed.
    fn entries(&self, py: Python<'_>) -> PyResult<Vec<PyPlaceEntry>> {
        let found = PyStorage::asked(py, |storage| {
            let listing = storage.list(&self.path)?;
            Ok(with_sizes(storage, listing.directories.into_iter().chain(listing.files)))
        })?;
        let mut found: Vec<_> = found.into_iter().map(PyPlaceEntry).collect();
        found.sort_unstable_by(|left, right| left.0.name.cmp(&right.0.name));
        Ok(found)
    }

    /// Return the names in this directory, in order.
    ///
    /// Raises:
    ///     OSError: if it cannot be listed.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let listing = PyStorage::asked(py, |storage| storage.list(&self.path))?;
        let broken = listing.broken.into_iter().map(|(entry, _)| entry);
        let all = listing.directories.into_iter().chain(listing.files).chain(listing.special).chain(broken);
        let mut names: Vec<_> = all.map(|entry| entry.name).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Return the files in this directory and below, those of a store from one listing.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is no such directory.
    ///     OSError: if a directory cannot be listed.
    fn files_below(&self, py: Python<'_>) -> PyResult<Vec<PyPlaceEntry>> {
        let found = PyStorage::asked(py, |storage| {
            let mut tree = Tree::of(&self.path, |_| false, storage)?;
            let mut found = Vec::new();
            while let Some((_, listing)) = tree.next_directory()? {
                found.append(&mut with_sizes(storage, listing.files));
            }
            Ok(found)
        })?;
        Ok(found.into_iter().map(PyPlaceEntry).collect())
    }

    /// Return True for a directory; False for a file, and if there is nothing.
    ///
    /// Raises:
    ///     OSError: if the store does not answer.
    fn is_directory(&self, py: Python<'_>) -> PyResult<bool> {
        if !uris::is_stored(&self.path) {
            return Ok(self.path.is_dir());
        }
        Ok(missing_is_none(py, self.entry(py))?.is_some_and(|entry| entry.0.is_directory))
    }

    /// Return True if there is a file or a directory.
    ///
    /// Raises:
    ///     OSError: if the store does not answer.
    fn exists(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(missing_is_none(py, self.entry(py))?.is_some())
    }

    /// Open the file, to read it by position.
    ///
    /// Raises:
    ///     FileNotFoundError: if there is no such file.
    ///     SegmentKeyError: if a key of an upload is missing or wrong.
    ///     OSError: if the store refuses access, or does not answer.
    fn open(&self, py: Python<'_>) -> PyResult<OpenFile> {
        let file = if uris::is_uploaded(&self.path) {
            OpenedFile::Uploaded(self.asked_of_upload(py, tiered::open)?)
        } else {
            OpenedFile::Placed(self.asked(py, stores::StoragePlace::open)?)
        };
        Ok(OpenFile(file))
    }

    /// Return the bytes of a small file; None if there is no such file. An index of an upload that cannot be decrypted is none.
    ///
    /// Raises:
    ///     OSError: if it cannot be read.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = PyStorage::asked(py, |storage| storage.read(&self.path));
        match bytes {
            Err(error) if error.is_instance_of::<errors::ChunkError>(py) => Ok(None),
            bytes => Ok(bytes?.map(|bytes| PyBytes::new(py, &bytes))),
        }
    }

    /// Write a small file; replace an older one. On this machine it is on disk afterwards.
    ///
    /// Raises:
    ///     OSError: if it cannot be written, or the store refuses it.
    fn put(&self, py: Python<'_>, data: Vec<u8>) -> PyResult<()> {
        let data = Bytes::from(data);
        self.asked(py, |place, interrupt| place.put(data, interrupt))
    }

    /// Copy a file of this machine to a store; replace an older one.
    ///
    /// Raises:
    ///     OSError: if the file cannot be read, or the store refuses it.
    #[expect(clippy::needless_pass_by_value, reason = "a path from Python is made anew")]
    fn put_file(&self, py: Python<'_>, source: PathBuf) -> PyResult<()> {
        self.asked_of_store(py, |location, interrupt| stores::put_file(&source, location, interrupt))
    }

    /// Move a file of the same store to this place, or with `undo` back. HDFS renames it, and other stores copy it. To repeat it is harmless.
    ///
    /// Raises:
    ///     OSError: if the store refuses it.
    #[pyo3(signature = (source, *, undo=false))]
    fn settle(&self, py: Python<'_>, source: &Self, undo: bool) -> PyResult<()> {
        let from = source.location(py)?;
        let settle = if undo { stores::unsettle } else { stores::settle };
        self.asked_of_store(py, |to, interrupt| settle(&from, to, interrupt))
    }

    /// Remove a file, or with `tree` a directory with its files, if there is one; a directory of this machine as far as possible.
    ///
    /// Raises:
    ///     OSError: if it cannot be removed, or the store refuses it.
    #[pyo3(signature = (*, tree=false))]
    fn remove(&self, py: Python<'_>, tree: bool) -> PyResult<()> {
        self.asked(py, if tree { stores::StoragePlace::remove_directory } else { stores::StoragePlace::remove })
    }

    /// Write the names in a directory of this machine to disk, if its file system lets a directory be opened.
    fn sync(&self) {
        if !uris::is_stored(&self.path) {
            stores::sync_directory(&self.path);
        }
    }

    /// Return all uploads below this directory, as the fields of `logsegment.tiered.Upload`.
    ///
    /// Raises:
    ///     OSError: if a directory cannot be listed or read.
    fn uploads(&self, py: Python<'_>) -> PyResult<Vec<UploadRow>> {
        let row = |upload: Upload| {
            let name = upload.partition;
            let named = (upload.path, name.topic, name.topic_id, name.partition, upload.base_offset, upload.segment_id);
            (named, (upload.end_offset, upload.size, upload.state.name(), upload.reason, upload.last_read))
        };
        Ok(self.asked_of_upload(py, tiered::uploads)?.into_iter().map(row).collect())
    }

    /// Return the indexes of uploads that cannot be read: the path that each would have next to a log, and a finding. For an index that need
    /// not be uploaded, and is not there, the finding is None.
    ///
    /// Args:
    ///     logs: URIs of the logs of uploads.
    ///
    /// Raises:
    ///     OSError: if an object cannot be read.
    #[staticmethod]
    fn lost_indexes(py: Python<'_>, logs: Vec<PathBuf>) -> PyResult<Vec<(String, Option<PyFinding>)>> {
        let logs: tiered::TieredResult<Vec<Uri>> = logs.iter().map(|log| uris::upload_at(log)).collect();
        let logs = logs.map_err(|error| errors::tiered_error(py, &error))?;
        let (lost, absent) = answered_of_upload(py, |interrupt| {
            let absent: tiered::TieredResult<Vec<_>> = logs.iter().map(|log| tiered::absent_indexes(log, interrupt)).collect();
            Ok((tiered::lost_indexes(&logs, interrupt)?, absent?.concat()))
        })?;
        let lost = lost.into_iter().map(|(path, finding)| (path, Some(PyFinding::from(&finding))));
        Ok(lost.chain(absent.into_iter().map(|path| (path, None))).collect())
    }

    /// Return the requests of this process to stores by name.
    #[staticmethod]
    fn requests() -> [(&'static str, u64); 4] {
        let counts = stores::counts();
        [
            ("range_requests", counts.range_requests),
            ("bytes_fetched", counts.bytes_fetched),
            ("files_opened", counts.files_opened),
            ("listings", counts.listings),
        ]
    }

    /// Forget the chunks of uploads that this process keeps, and return their number.
    #[staticmethod]
    fn forget_chunks() -> usize {
        let kept = tiered::cached_chunks();
        tiered::forget_chunks();
        kept
    }
}

impl PyPlace {
    /// The texts of its keys and of its layout.
    fn settings(&self) -> (String, String) {
        let uri = Some(&self.path).filter(|path| uris::is_uploaded(path)).and_then(|path| uris::upload_at(path).ok());
        uri.map(|uri| (uri.keys.text().to_string(), uri.layouts.text().to_string())).unwrap_or_default()
    }

    fn with_settings(&self, keys: &str, layout: &str) -> Self {
        Self { path: tiered::uri_text(&self.path.to_string_lossy(), keys, layout).into() }
    }

    fn parts(&self) -> UriParts {
        if uris::is_stored(&self.path) { UriParts::parse(&self.path.to_string_lossy()) } else { UriParts::default() }
    }

    fn location(&self, py: Python<'_>) -> PyResult<Location> {
        Location::parse(&self.path.to_string_lossy(), &StorageOptions::new()).map_err(|error| errors::store_error(py, &error))
    }

    /// Asks about a file of this machine or of a store, without the interpreter.
    fn asked<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&stores::StoragePlace, &Interrupt) -> stores::StoreResult<T> + Send,
    ) -> PyResult<T> {
        let place = if uris::is_stored(&self.path) {
            stores::StoragePlace::Stored(self.location(py)?)
        } else {
            stores::StoragePlace::Local(self.path.clone())
        };
        answered(py, |interrupt| ask(&place, interrupt))
    }

    fn asked_of_store<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Location, &Interrupt) -> stores::StoreResult<T> + Send,
    ) -> PyResult<T> {
        let location = self.location(py)?;
        answered(py, |interrupt| ask(&location, interrupt))
    }

    fn asked_of_upload<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Uri, &Interrupt) -> tiered::TieredResult<T> + Send,
    ) -> PyResult<T> {
        let uri = uris::upload_at(&self.path).map_err(|error| errors::tiered_error(py, &error))?;
        answered_of_upload(py, |interrupt| ask(&uri, interrupt))
    }
}

/// The text of a template in a URI of uploads.
fn layout_text(py: Python<'_>, template: &str) -> PyResult<String> {
    let layouts = Layouts::of_template(template).map_err(|error| errors::tiered_error(py, &error))?;
    Ok(layouts.text().to_string())
}

/// The same with sizes, without files that were removed meanwhile.
fn with_sizes(storage: &PyStorage, entries: impl IntoIterator<Item = DirectoryEntry>) -> Vec<DirectoryEntry> {
    let sized = |entry: DirectoryEntry| if entry.size.is_some() { Some(entry) } else { storage.entry(&entry.path).ok() };
    entries.into_iter().filter_map(sized).collect()
}

fn missing_is_none<T>(py: Python<'_>, found: PyResult<T>) -> PyResult<Option<T>> {
    match found {
        // Python chooses the class of an OSError by its number.
        Err(error) if error.value(py).is_instance_of::<PyFileNotFoundError>() => Ok(None),
        found => found.map(Some),
    }
}
