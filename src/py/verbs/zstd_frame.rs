//! One zstd frame whose decompressed size is known, as tiered storage keeps the chunks of a segment (TS-27).

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec::{Codec, Decompressed, Decompressor};
use crate::limits::{Budget, Limits};
use crate::py::bytes_writer;
use crate::py::errors;
use crate::py::source::buffer;

/// The bytes of a zstd frame.
///
/// Args:
///     frame: the frame, in any buffer.
///     size: bytes that it may decompress to at most.
///
/// Raises:
///     CodecError: when it is bad.
///     LimitError: when it decompresses to more.
#[pyfunction]
pub fn decompress_zstd<'py>(py: Python<'py>, frame: &Bound<'py, PyAny>, size: u64) -> PyResult<Bound<'py, PyBytes>> {
    let frame = buffer::bytes_of(frame)?;
    let limits = Limits { max_decompressed_bytes: size, max_ratio: u64::MAX, ..Limits::default() };
    let budget = Budget::for_entry(&limits, frame.len());
    let mut decompressed = Decompressed::default();
    py.detach(|| Decompressor::default().decompress(Codec::Zstd, &frame, &mut decompressed, &budget, None))
        .map_err(|error| errors::to_py(py, &error))?;
    bytes_writer::copied(py, decompressed.bytes())
}
