//! The decompressed records of the batches of a source.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{ConvertOptions, Converter, record_sections};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::{CompressionType, RecordFormat};
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source;
use crate::wire::Sink;

/// An iterator over the data batches of a source, some at a time: the records of each as an uncompressed batch of magic 2 holds them.
#[pyclass(frozen, module = "logsegment._core")]
pub struct RecordSections {
    state: Mutex<SectionsState>,
    signals: Arc<Signals>,
    interrupt: Interrupt,
}

struct SectionsState {
    converter: Converter,
    batches: Sink,
}

/// About how many bytes of messages of magic 0 and 1 make one batch.
const BATCH_BYTES: usize = 16 << 10;

#[pymethods]
impl RecordSections {
    #[new]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>, options: ReadOptions) -> PyResult<Self> {
        let (signals, interrupt) = Signals::new();
        let mut opened = source::open_alone(source, &signals)?;
        let mut decode = options.to_decode()?;
        options.reading.resolve(&mut decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
        let conversion = ConvertOptions {
            decode,
            to: RecordFormat::V2,
            compression: Some(CompressionType::None),
            is_metadata_first: false,
            level: None,
            is_up_wanted: true,
            first_offset: None,
            batch_bytes: BATCH_BYTES,
        };
        let converter = Converter::new(opened.source, conversion, false).map_err(|error| signals.raised(py, &error))?;
        Ok(Self { state: Mutex::new(SectionsState { converter, batches: Sink::default() }), signals, interrupt })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let batches = py.detach(|| {
            self.interrupt.ensure_wanted()?;
            self.state.lock().unwrap_or_else(PoisonError::into_inner).next()
        });
        let batches = batches.map_err(|error| self.signals.raised(py, &error))?;
        Ok(batches.map(|batches| record_sections(batches.bytes()).into_iter().map(|section| PyBytes::new(py, section)).collect()))
    }
}

impl SectionsState {
    fn next(&mut self) -> Result<Option<Sink>> {
        let is_read = self.converter.advance(&mut self.batches)?;
        Ok(is_read.then(|| std::mem::take(&mut self.batches)))
    }
}
