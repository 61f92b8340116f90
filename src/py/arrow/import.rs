//! Arrow arrays of other libraries, by their capsules. Nothing is copied.
#![expect(unsafe_code, reason = "a capsule is a pointer to a C struct")]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, make_array};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Imports the arrays of an object with `__arrow_c_array__` (one) or `__arrow_c_stream__` (its chunks).
pub fn arrays(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if object.hasattr("__arrow_c_array__")? {
        return array(object).map(|array| vec![array]);
    }
    if object.hasattr("__arrow_c_stream__")? {
        return chunks(object);
    }
    let given = object.get_type().fully_qualified_name()?;
    Err(PyTypeError::new_err(format!(
        "an Arrow array is needed (an object with __arrow_c_array__ or __arrow_c_stream__, such as a pyarrow.Array, a \
         pyarrow.ChunkedArray or a polars.Series), not {given}; pyarrow.array(values, pyarrow.binary()) makes one"
    )))
}

fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array) = object.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: the names of the capsules say that they hold an initialised ArrowSchema and ArrowArray of the C Data Interface. The array is
    // moved out: `from_raw` leaves a released struct, which the capsule's destructor skips. The schema stays where it is and
    // is only read while the capsule, which is borrowed here, is alive.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(|error| bad(&error))
}

fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let capsule = object.call_method0("__arrow_c_stream__")?.extract::<Bound<'_, PyCapsule>>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the name of the capsule says that it holds an initialised ArrowArrayStream of the C Stream Interface. It is moved out, which
    // leaves a released struct, and read on this thread alone.
    let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) };
    reader.and_then(Iterator::collect).map_err(|error| bad(&error))
}

/// Imports the type of an object with `__arrow_c_schema__`: a struct for a schema.
pub fn data_type_of(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let capsule = object.call_method0("__arrow_c_schema__")?.extract::<Bound<'_, PyCapsule>>()?;
    let schema = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the name of the capsule says that it holds an initialised ArrowSchema, which is only read while the capsule is borrowed here.
    DataType::try_from(unsafe { schema.as_ref() }).map_err(|error| bad(&error))
}

fn bad(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The batches of a table or stream.
pub type ImportedBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Imports the batches of an object with `__arrow_c_stream__` or, for a single batch, `__arrow_c_array__`.
pub fn batches(object: &Bound<'_, PyAny>) -> PyResult<ImportedBatches> {
    if object.hasattr("__arrow_c_stream__")? {
        return stream(object);
    }
    if !object.hasattr("__arrow_c_array__")? {
        let wanted = "an Arrow table or stream is needed (an object with __arrow_c_stream__ or __arrow_c_array__), such as a pyarrow.Table";
        return Err(PyTypeError::new_err(wanted));
    }
    let array = array(object)?;
    let rows = array.as_any().downcast_ref::<StructArray>().filter(|rows| rows.null_count() == 0);
    let rows = rows.ok_or_else(|| PyTypeError::new_err("an Arrow array of rows is needed: structs, none of them null"))?;
    Ok(Box::new(std::iter::once(Ok(RecordBatch::from(rows)))))
}

fn stream(object: &Bound<'_, PyAny>) -> PyResult<ImportedBatches> {
    let capsule = object.call_method0("__arrow_c_stream__")?.extract::<Bound<'_, PyCapsule>>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the name of the capsule says that it holds an initialised ArrowArrayStream. It is moved out: `from_raw` leaves a released
    // struct, which the capsule's destructor skips.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    Ok(Box::new(reader.map_err(|error| PyTypeError::new_err(error.to_string()))?))
}
