//! Entries as `kafka-dump-log` prints them.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Error;
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source;
use crate::report::kafka_dump as core;

/// An iterator over the lines that `kafka-dump-log` prints about the entries of a source, some at a time, in UTF-8.
///
/// Args:
///     source: what `decode` takes.
///     options: those of entries.
///     is_deep: print records too, with keys and values.
#[pyclass(frozen, module = "logsegment._core")]
pub struct KafkaDump {
    state: Mutex<DumpState>,
    signals: Arc<Signals>,
}

struct DumpState {
    dump: core::EntryDump,
    /// Ends the iteration after the lines before it.
    error: Option<Error>,
}

#[pymethods]
impl KafkaDump {
    #[new]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>, options: ReadOptions, is_deep: bool) -> PyResult<Self> {
        let (signals, interrupt) = Signals::new();
        let mut opened = source::open_alone(source, &signals)?;
        let mut decode = options.to_decode()?;
        options.reading.resolve(&mut decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
        let dump = core::EntryDump::new(opened.source, decode, is_deep, &interrupt);
        Ok(Self { state: Mutex::new(DumpState { dump, error: None }), signals })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let lines = py.detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).next());
        let lines = lines.map_err(|error| self.signals.raised(py, &error))?;
        Ok(lines.map(|lines| PyBytes::new(py, &lines)))
    }

    /// The number of bytes after the last whole entry, once the iteration has ended.
    #[getter]
    fn trailing_bytes(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dump.trailing_bytes()
    }
}

impl DumpState {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut lines = Vec::new();
        loop {
            match self.dump.advance(&mut lines) {
                Ok(true) if lines.is_empty() => {}
                Ok(is_read) => return Ok((is_read || !lines.is_empty()).then_some(lines)),
                Err(error) if lines.is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    return Ok(Some(lines));
                }
            }
        }
    }
}
