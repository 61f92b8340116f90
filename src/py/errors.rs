//! Errors of the core as Python exceptions with the same numbers. Attributes live in the instance's dict, so all of them pickle.

use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::error::{Error, ErrorKind};
use crate::py::package;
use crate::quirks::Quirk;
use crate::stores::{StoreError, StoreErrorKind};
use crate::tiered::TieredError;

macro_rules! exceptions {
    ($($name:ident: $base:ty, $doc:literal;)*) => {
        $(create_exception!(logsegment, $name, $base, $doc);)*

        /// All of them, bases first.
        fn classes(py: Python<'_>) -> Vec<Bound<'_, PyType>> {
            vec![$(py.get_type::<$name>()),*]
        }

        /// An exception of the class with this name.
        fn of_class(class: &str, text: String) -> PyErr {
            $(if class == stringify!($name) {
                return $name::new_err(text);
            })*
            InternalError::new_err(text)
        }
    };
}

exceptions! {
    RecordBatchError: PyValueError, "Base of all errors about record batches.";
    TruncatedError: RecordBatchError, "The input ends inside an entry; more bytes may come.";
    CorruptError: RecordBatchError, "Invalid bytes: a length, a count, a variable-length integer.";
    ChecksumError: CorruptError, "The stored checksum does not match the bytes.";
    InvalidError: RecordBatchError, "Readable bytes that break a rule of their format.";
    UnsupportedError: RecordBatchError, "A format or feature that is not supported.";
    UnknownCompressionError: UnsupportedError, "An unknown compression type or name.";
    LimitError: RecordBatchError, "A size over one of the `Limits`.";
    CodecError: RecordBatchError, "A compressed stream is invalid.";
    LossError: RecordBatchError, "A conversion would lose something.";
    InternalError: RecordBatchError, "A defect of logsegment itself.";
}

create_exception!(logsegment, ChangedError, PyOSError, "A file was replaced while it was read.");
create_exception!(
    logsegment,
    ManifestError,
    CorruptError,
    "A manifest of an upload is invalid, or contradicts its objects.\n\nAttributes:\n    rule (str): the rule of tiered storage that is broken.\n    \
     position, length (int): the bytes of the segment that cannot be read: all of them.\n    base_offset, last_offset (int): the first offset \
     of the segment, and the last one before the next segment; None if not known."
);
create_exception!(
    logsegment,
    ChunkError,
    CorruptError,
    "The bytes of a chunk cannot be restored. The text has its number, its bytes and its offsets.\n\nAll chunks after the end of a cut object \
     are one error.\n\nAttributes:\n    chunk (int): number of the chunk, or of the first after the end of the object; counted from \
     0.\n    position, length (int): the lost bytes of the segment.\n    base_offset (int): the first offset that is not in a valid batch before \
     them; None if not known.\n    last_offset (int): the last offset before the next valid batch; None if not known."
);
create_exception!(
    logsegment,
    SegmentKeyError,
    PyValueError,
    "An encrypted segment cannot be decrypted: there is no private key with its id, or the key does not decrypt it.\n\nThe text names the segment and \
     the id. It contains no part of a key, and not why the key is wrong."
);
create_exception!(
    logsegment,
    ReplicaError,
    PyValueError,
    "A partition in several directories, none of which is chosen.\n\nAttributes:\n    problem (str): the partition and its directories.\n    \
     asked (bool): True if an option chose, and its value fits no directory."
);
create_exception!(logsegment, StorageOptionError, PyValueError, "A URI or an option of a store is invalid.");
create_exception!(logsegment, ShortReadError, PyOSError, "A file gives fewer bytes than it has at a position.");

/// Adds the classes, with every attribute present on the base.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = py.get_type::<RecordBatchError>();
    for name in ["code", "rule", "kafka_error_code", "path", "row", "position", "base_offset", "record_index", "record_indexes", "field"] {
        base.setattr(name, py.None())?;
    }
    base.setattr("is_unreadable", false)?;
    base.setattr("quirks", PyTuple::empty(py))?;
    py.get_type::<LossError>().setattr("losses", py.None())?;
    py.get_type::<ReplicaError>().setattr("problem", "")?;
    py.get_type::<ReplicaError>().setattr("asked", false)?;
    module.add("ReplicaError", py.get_type::<ReplicaError>())?;
    for name in ["length", "last_offset", "chunk"] {
        py.get_type::<ManifestError>().setattr(name, py.None())?;
        py.get_type::<ChunkError>().setattr(name, py.None())?;
    }
    let of_uploads = [py.get_type::<ManifestError>(), py.get_type::<ChunkError>(), py.get_type::<SegmentKeyError>()];
    let of_stores = [py.get_type::<ChangedError>(), py.get_type::<ShortReadError>(), py.get_type::<StorageOptionError>()];
    // The modules by which people and pickles know them.
    for (classes, name) in [(&of_stores, "logsegment.stores"), (&of_uploads, "logsegment.tiered")] {
        for class in classes {
            class.setattr("__module__", name)?;
        }
    }
    for class in of_stores.into_iter().chain(of_uploads) {
        module.add(class.name()?.to_str()?, class)?;
    }
    for class in classes(py) {
        module.add(class.name()?.to_str()?, class)?;
    }
    Ok(())
}

/// The exception that an error is.
pub fn to_py(py: Python<'_>, error: &Error) -> PyErr {
    let raised = exception(py, error);
    if raised.is_instance_of::<RecordBatchError>(py)
        && let Err(failed) = set_attributes(raised.value(py), error)
    {
        return failed;
    }
    raised
}

/// Sets the file of an exception of the Python layer, unless it has one.
pub fn set_path(py: Python<'_>, raised: &PyErr, path: &str) {
    let value = raised.value(py);
    // Those without the attribute, such as OSErrors, name files in their own way.
    if value.getattr("path").is_ok_and(|path| path.is_none()) {
        let _ = value.setattr("path", path);
    }
}

/// The OSError for a number of the operating system, as Python's own `open` raises it: FileNotFoundError and so on, with errno.
pub fn os_error(py: Python<'_>, code: i32, path: Option<&Path>) -> PyErr {
    let text = py.import("os").and_then(|os| os.call_method1("strerror", (code,))).map(|text| text.to_string());
    let text = text.unwrap_or_else(|_| "operating system error".to_owned());
    match path {
        Some(path) => PyOSError::new_err((code, text, path.as_os_str().to_owned())),
        None => PyOSError::new_err((code, text)),
    }
}

/// The OSError of a failed call, with its number and file name.
pub fn io_error(py: Python<'_>, error: &std::io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => os_error(py, code, Some(path)),
        None => std::io::Error::new(error.kind(), error.to_string()).into(),
    }
}

/// The OSError for an error of a store, with a number and the URI; ValueError for an invalid URI or option.
pub fn store_error(py: Python<'_>, error: &StoreError) -> PyErr {
    let arguments = |number: i32| (number, error.text.clone(), error.uri.clone());
    match error.kind {
        StoreErrorKind::Invalid => StorageOptionError::new_err(error.to_string()),
        StoreErrorKind::Interrupted => PyKeyboardInterrupt::new_err(()),
        StoreErrorKind::Changed => ChangedError::new_err(arguments(ESTALE)),
        StoreErrorKind::ShortRead => ShortReadError::new_err(arguments(EIO)),
        StoreErrorKind::NotFound if error.text != NO_SUCH_FILE => PyOSError::new_err(arguments(ENOENT)),
        StoreErrorKind::NotFound => {
            match os_error(py, ENOENT, None).value(py).getattr("strerror").and_then(|text| text.extract::<String>()) {
                Ok(text) => PyOSError::new_err((ENOENT, text, error.uri.clone())),
                Err(failed) => failed,
            }
        }
        StoreErrorKind::System(code) => os_error(py, code, Some(Path::new(&error.uri))),
        StoreErrorKind::PermissionDenied => PyOSError::new_err(arguments(EACCES)),
        StoreErrorKind::Unavailable => PyOSError::new_err(arguments(ECONNREFUSED)),
        StoreErrorKind::Other => PyOSError::new_err(arguments(EIO)),
    }
}

/// The exception for an error of uploads.
pub fn tiered_error(py: Python<'_>, error: &TieredError) -> PyErr {
    let text = error.to_string();
    let (raised, code, rule, lost) = match error {
        TieredError::Store(error) => return store_error(py, error),
        TieredError::Log(error) => return to_py(py, error),
        TieredError::Key(_) => return SegmentKeyError::new_err(text),
        TieredError::Layout(_) => return PyValueError::new_err(text),
        TieredError::Undecided { uri, .. } => return PyOSError::new_err((EEXIST, text, uri.clone())),
        TieredError::KeyRing(error) => {
            let raised = error.downcast_ref::<PyErr>().map(|raised| raised.clone_ref(py));
            return raised.unwrap_or_else(|| PyValueError::new_err(text));
        }
        TieredError::Manifest(error) => {
            let lost = error.lost.map(|lost| (None, 0..lost.size, Some(lost.first_offset), lost.last_offset));
            (ManifestError::new_err(text), "manifest", error.rule, lost)
        }
        TieredError::Chunk(error) => {
            let lost = error.chunk.map(|chunk| (Some(chunk), error.bytes.clone(), error.first_offset, error.last_offset));
            (ChunkError::new_err(text), "lost_bytes", "TS-45", lost)
        }
    };
    let value = raised.value(py);
    let set = || {
        value.setattr("code", code)?;
        value.setattr("rule", rule)?;
        let Some((chunk, bytes, base_offset, last_offset)) = lost else { return Ok(()) };
        if chunk.is_some() {
            value.setattr("chunk", chunk)?;
        }
        value.setattr("position", bytes.start)?;
        value.setattr("length", bytes.end.saturating_sub(bytes.start))?;
        value.setattr("base_offset", base_offset)?;
        value.setattr("last_offset", last_offset)
    };
    set().err().unwrap_or(raised)
}

/// The words of stores for a missing file; Python has its own.
const NO_SUCH_FILE: &str = "no such file or directory";
/// Numbers of Linux; Python chooses the class by those of the system.
const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EEXIST: i32 = 17;
const ESTALE: i32 = if cfg!(target_os = "macos") { 70 } else { 116 };
const ECONNREFUSED: i32 = if cfg!(target_os = "macos") {
    61
} else if cfg!(windows) {
    107
} else {
    111
};

/// The exception for a partition in several directories. Its text names the option of functions.
fn replica_error(py: Python<'_>, problem: &str, is_asked: bool) -> PyErr {
    let text = match is_asked {
        true => format!("replica: {problem}"),
        false => format!("{problem}; choose one with replica= (\"longest\", \"first\" or the path of a directory)"),
    };
    let raised = ReplicaError::new_err(text);
    let value = raised.value(py);
    value.setattr("problem", problem).and_then(|()| value.setattr("asked", is_asked)).err().unwrap_or(raised)
}

fn set_attributes(value: &Bound<'_, PyAny>, error: &Error) -> PyResult<()> {
    let position = error.position();
    value.setattr("code", error.kind().code())?;
    value.setattr("rule", error.rule())?;
    value.setattr("is_unreadable", error.is_unreadable())?;
    value.setattr("quirks", error.quirks().iter().map(Quirk::name).collect::<Vec<_>>())?;
    value.setattr("kafka_error_code", error.kafka_error_code())?;
    value.setattr("path", error.file())?;
    value.setattr("row", position.row)?;
    value.setattr("position", position.byte)?;
    value.setattr("base_offset", position.base_offset)?;
    value.setattr("record_index", position.record_index)?;
    if let ErrorKind::Rejected { records, .. } = error.kind() {
        value.setattr("record_indexes", records.clone())?;
    }
    value.setattr("field", position.field)
}

fn in_file(file: Option<&str>, message: &str) -> String {
    file.map_or_else(|| message.to_owned(), |file| format!("{file}: {message}"))
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Io { os_code: Some(code), .. } => os_error(py, *code, error.file().map(Path::new)),
        ErrorKind::Io { kind, message, .. } => std::io::Error::new(*kind, in_file(error.file(), message)).into(),
        ErrorKind::Files { os_code, problem } => PyOSError::new_err((*os_code, problem.clone(), error.file().map(str::to_owned))),
        ErrorKind::Replicas { problem, is_asked } => replica_error(py, problem, *is_asked),
        ErrorKind::Registry { .. } => package::registry_error(py, error.message()),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(()),
        ErrorKind::Refused { .. } => PyValueError::new_err(text),
        ErrorKind::Usage { argument, problem } => PyValueError::new_err(format!("{argument}: {problem}")),
        kind => of_class(kind.class(), text),
    }
}
