//! Several files as one stream.

use std::sync::Arc;

use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::batches::BatchRows;
use crate::columns::source_chain::{OpenStream, SourceChain};
use crate::columns::{BatchSource, OnError, schema_of};
use crate::decode::DecodeOptions;
use crate::error::Result;
use crate::framing::Source;
use crate::py::arrow::stream::RecordStream;
use crate::py::finding::PyFinding;
use crate::py::interrupt::Signals;
use crate::py::option_values::committed;
use crate::py::options::{ReadOptions, Reading};
use crate::py::source::FileSource;
use crate::py::source::paths;
use crate::py::source::uris;
use crate::py::value_schemas;
use crate::py::verbs::header_walk;
use crate::values;

/// Open a stream of records over files, one after the other, with the options of each; see `logsegment.Log.records`.
///
/// `options` are those that all of them share. A committed read brings its transactions along. `notes` are findings of the stream from its
/// beginning on: what is known of the files as a whole.
#[pyfunction]
#[pyo3(signature = (parts, options, notes=Vec::new()))]
pub fn decode_files(
    py: Python<'_>,
    parts: Vec<(Bound<'_, FileSource>, ReadOptions)>,
    options: ReadOptions,
    notes: Vec<PyRef<'_, PyFinding>>,
) -> PyResult<RecordStream> {
    let (signals, interrupt) = Signals::new();
    signals.note(notes.iter().map(|finding| PyFinding::clone(finding)).collect());
    let shared = options.to_record_stream(interrupt.clone())?;
    signals.skip_damage(shared.on_error == OnError::Skip);
    let schema = match options.to_typed()? {
        Some(typed) => values::schema_of(&shared, &typed).map_err(|error| signals.raised(py, &error))?,
        None => schema_of(&shared),
    };
    let mut waiting: Vec<(Arc<str>, OpenStream)> = Vec::with_capacity(parts.len());
    let all: Arc<[FileSource]> = parts.iter().map(|(file, _)| file.get().clone()).collect();
    for (number, (file, options)) in parts.into_iter().enumerate() {
        let typed = options.to_typed()?;
        let mut stream = options.to_record_stream(interrupt.clone())?;
        stream.decode.undecided_reported = Arc::clone(&shared.decode.undecided_reported);
        if options.is_committed()? {
            let known = options
                .transactions
                .as_ref()
                .ok_or_else(|| PyValueError::new_err("transactions: missing, isolation=\"read_committed\" needs them"))?;
            stream.decode.isolation = committed(known.0.clone());
        }
        let (file, signals, reading) = (file.get().clone(), Arc::clone(&signals), options.reading);
        file.expect_to_wait(&signals);
        let name = Arc::from(uris::redacted_uri(&file.path));
        // A reader that has come to the second file reads on, as a rule. One that looks at the first has fetched little.
        let (all, from) = (Arc::clone(&all), if number == 0 { usize::MAX } else { number });
        waiting.push((
            name,
            Box::new(move || {
                signals.upcoming().begin_files(all.get(from..).unwrap_or_default());
                let source = open(&file, &signals, &reading, &mut stream.decode)?;
                value_schemas::open(source, stream, typed.as_ref())
            }),
        ));
    }
    Ok(RecordStream::new(Box::new(SourceChain::new(schema, waiting)), signals))
}

/// Open a stream of batch rows over files, one after the other; see `logsegment.Log.batches`. `notes` are as in `decode_files`.
#[pyfunction]
#[pyo3(signature = (files, options, notes=Vec::new()))]
pub fn batch_files(files: Vec<Bound<'_, FileSource>>, options: ReadOptions, notes: Vec<PyRef<'_, PyFinding>>) -> PyResult<RecordStream> {
    let (signals, interrupt) = Signals::new();
    signals.note(notes.iter().map(|finding| PyFinding::clone(finding)).collect());
    let shared = options.to_entry_stream(interrupt.clone())?;
    signals.skip_damage(shared.on_error == OnError::Skip);
    let schema = BatchRows::new(Source::memory(Bytes::new()), shared).schema();
    let mut waiting: Vec<(Arc<str>, OpenStream)> = Vec::with_capacity(files.len());
    let options = Arc::new(options);
    for file in files {
        let mut stream = options.to_entry_stream(interrupt.clone())?;
        let (file, signals, options) = (file.get().clone(), Arc::clone(&signals), Arc::clone(&options));
        file.expect_to_wait(&signals);
        let name = Arc::from(uris::redacted_uri(&file.path));
        waiting.push((
            name,
            Box::new(move || {
                if let Some(rows) = header_walk::rows(&file, &options, &stream, &signals).map_err(|error| keep(&signals, error, &file))? {
                    return Ok(rows);
                }
                let rows: Box<dyn BatchSource> =
                    Box::new(BatchRows::new(open(&file, &signals, &options.reading, &mut stream.decode)?, stream));
                Ok(rows)
            }),
        ));
    }
    Ok(RecordStream::new(Box::new(SourceChain::new(schema, waiting)), signals))
}

/// Opens a file and sets its format in the options; an OSError names the file.
pub fn open(file: &FileSource, signals: &Arc<Signals>, reading: &Reading, decode: &mut DecodeOptions) -> Result<Source> {
    file.ensure_segment(signals)?;
    let mut opened = file.open(signals).map_err(|error| keep(signals, error, file))?;
    reading.resolve(decode, &mut opened)?;
    Ok(opened.source)
}

/// The error of the core; Python gets an OSError that names the file.
fn keep(signals: &Signals, error: std::io::Error, file: &FileSource) -> crate::Error {
    Python::attach(|py| signals.keep(paths::raised(py, &error, &file.path, signals)));
    error.into()
}
