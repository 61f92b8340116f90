//! Keys of records as a set that rewrites share.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, BinaryViewType, LargeBinaryType, LargeUtf8Type, StringViewType, Utf8Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::py::arrow::import;
use crate::py::errors;
use crate::rewrite::KeySet as Keys;

/// A set of keys of records, hashed once.
///
/// Args:
///     keys: bytes, text (its UTF-8 bytes) or None for the null key.
///     arrays: Arrow arrays or chunked arrays of binary or string values.
///     files: paths of files with one key a line, without the line end; blank lines are skipped.
///
/// Raises:
///     TypeError: for a key or an array of another type.
///     OSError: if a file cannot be read.
#[pyclass(name = "KeySet", frozen, module = "logsegment")]
pub struct PyKeySet(pub Arc<Keys>);

#[pymethods]
impl PyKeySet {
    #[new]
    #[pyo3(signature = (keys=Vec::new(), arrays=Vec::new(), files=Vec::new()))]
    fn new(py: Python<'_>, keys: Vec<Bound<'_, PyAny>>, arrays: Vec<Bound<'_, PyAny>>, files: Vec<PathBuf>) -> PyResult<Self> {
        let mut set = Keys::default();
        for key in keys {
            insert(&mut set, &key)?;
        }
        for array in arrays {
            let chunks = import::arrays(&array)?;
            py.detach(|| chunks.iter().try_for_each(|chunk| insert_array(&mut set, chunk))).map_err(PyTypeError::new_err)?;
        }
        for path in files {
            py.detach(|| insert_lines(&mut set, &path)).map_err(|error| errors::io_error(py, &error, &path))?;
        }
        Ok(Self(Arc::new(set)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __contains__(&self, key: Option<Vec<u8>>) -> bool {
        self.0.contains(key.as_deref())
    }
}

fn insert(set: &mut Keys, key: &Bound<'_, PyAny>) -> PyResult<()> {
    if key.is_none() {
        set.insert(None);
    } else if let Ok(bytes) = key.cast::<PyBytes>() {
        set.insert(Some(bytes.as_bytes()));
    } else if let Ok(text) = key.cast::<PyString>() {
        set.insert(Some(text.to_cow()?.as_bytes()));
    } else {
        let given = key.get_type().fully_qualified_name()?;
        return Err(PyTypeError::new_err(format!("a key must be bytes, str or None, not {given}")));
    }
    Ok(())
}

fn insert_array(set: &mut Keys, array: &ArrayRef) -> Result<(), String> {
    macro_rules! insert_all {
        ($values:expr) => {
            $values.iter().for_each(|value| {
                let value: Option<&[u8]> = value.map(AsRef::as_ref);
                set.insert(value);
            })
        };
    }
    match array.data_type() {
        DataType::Binary => insert_all!(array.as_bytes::<BinaryType>()),
        DataType::LargeBinary => insert_all!(array.as_bytes::<LargeBinaryType>()),
        DataType::BinaryView => insert_all!(array.as_byte_view::<BinaryViewType>()),
        DataType::Utf8 => insert_all!(array.as_bytes::<Utf8Type>()),
        DataType::LargeUtf8 => insert_all!(array.as_bytes::<LargeUtf8Type>()),
        DataType::Utf8View => insert_all!(array.as_byte_view::<StringViewType>()),
        DataType::FixedSizeBinary(_) => insert_all!(array.as_fixed_size_binary()),
        DataType::Null if array.is_empty() => {}
        other => return Err(format!("keys must be an Arrow array of binary or string values, not {other}")),
    }
    Ok(())
}

fn insert_lines(set: &mut Keys, path: &PathBuf) -> std::io::Result<()> {
    let (mut lines, mut line) = (BufReader::new(File::open(path)?), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        let key = line.strip_suffix(b"\n").unwrap_or(&line);
        let key = key.strip_suffix(b"\r").unwrap_or(key);
        // A blank line at the end of a list must not select the records whose key is empty.
        if !key.is_empty() {
            set.insert(Some(key));
        }
        line.clear();
    }
    Ok(())
}
