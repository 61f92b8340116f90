//! Arrow arrays of other libraries, by their capsules. Nothing is copied.
#![expect(unsafe_code, reason = "a capsule is a pointer to a C struct")]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{ArrayRef, make_array};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The array behind any object with `__arrow_c_array__`.
pub fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if !object.hasattr("__arrow_c_array__")? {
        return Err(PyTypeError::new_err("an Arrow array is needed (an object with __arrow_c_array__), such as a pyarrow.Array"));
    }
    let (schema, array) = object.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: the names of the capsules say that they hold an initialised ArrowSchema and ArrowArray of the C Data Interface. The array is
    // moved out: `from_raw` leaves a released struct behind, which the capsule's destructor passes over. The schema stays where it is and
    // is only read while the capsule, which is borrowed here, is alive.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(|error| PyValueError::new_err(error.to_string()))
}
