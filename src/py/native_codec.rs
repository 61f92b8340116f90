//! Codecs of C functions, from the capsule of a Python codec.
#![expect(unsafe_code, reason = "a capsule is a pointer with a name")]

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::codec::{CodecTable, NativeCodec};

/// The name of the capsule, which identifies the table.
const NAME: &std::ffi::CStr = c"logsegment.codec";

/// The functions of a codec with an attribute `__logsegment_codec__`; nothing without one, a text for one that is not understood.
///
/// # Errors
/// What the attribute raises.
pub fn of(codec: &Bound<'_, PyAny>) -> PyResult<Result<Option<NativeCodec>, String>> {
    let Some(capsule) = codec.getattr_opt(intern!(codec.py(), "__logsegment_codec__"))? else { return Ok(Ok(None)) };
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else {
        return Ok(Err("its __logsegment_codec__ is not a capsule".to_owned()));
    };
    let Ok(table) = capsule.pointer_checked(Some(NAME)) else {
        return Ok(Err(format!("the name of its capsule is not {}", NAME.to_string_lossy())));
    };
    // The codec is kept as well as the capsule: either may own the table and the library.
    let owner = Box::new((capsule.clone().unbind(), codec.clone().unbind()));
    // SAFETY: a capsule of this name points to a table, by the contract of docs/reference/formats/plugins.md, which holds as long as the capsule and the
    // codec live; `owner` holds both.
    Ok(unsafe { NativeCodec::new(table.as_ptr().cast::<CodecTable>(), owner) }.map(Some))
}
