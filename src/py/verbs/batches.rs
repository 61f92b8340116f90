use pyo3::prelude::*;

use crate::columns::OnError;
use crate::columns::batch_rows::{batch_rows, totals};
use crate::columns::batches::BatchRows;
use crate::py::arrow::export::ArrowBatch;
use crate::py::arrow::stream::RecordStream;
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::paths;
use crate::py::source::uris;
use crate::py::source::{self, FileSource};
use crate::py::verbs::header_walk;

/// Open a stream of batch rows; see `logsegment.batches`. `file` is the file of which the source is the memory.
#[pyfunction]
#[pyo3(signature = (source, options, *, file=None))]
pub fn batch_stream(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: ReadOptions,
    file: Option<PyRef<'_, FileSource>>,
) -> PyResult<RecordStream> {
    let (signals, interrupt) = Signals::new();
    if let Some(file) = &file {
        signals.read_file(uris::redacted_uri(&file.path));
        file.report(&signals);
    }
    let mut stream = options.to_entry_stream(interrupt)?;
    signals.skip_damage(stream.on_error == OnError::Skip);
    let source = &source::to_file_source(source)?;
    if let Ok(own) = source.cast::<FileSource>() {
        let file = own.get();
        signals.read_file(uris::redacted_uri(&file.path));
        file.expect_to_wait(&signals);
        file.ensure_segment(&signals).map_err(|error| signals.raised(py, &error))?;
        let rows = header_walk::rows(file, &options, &stream, &signals);
        if let Some(rows) = rows.map_err(|error| paths::raised(py, &error, &file.path, &signals))? {
            return Ok(RecordStream::new(rows, signals));
        }
    }
    let mut opened = source::open(source, &signals)?;
    options.reading.resolve(&mut stream.decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
    if let Some(file) = file {
        stream.decode.segment = file.segment();
        opened.source = opened.source.before(file.ending());
    }
    let rows = BatchRows::new(opened.source, stream);
    let rows = if options.resolves { rows.resolving() } else { rows };
    Ok(RecordStream::new(Box::new(rows), signals))
}

/// Return the lowest first offset, the highest last offset and the number of records of rows of `logsegment.batches`, or None if unknown.
#[pyfunction]
pub fn header_totals(rows: &ArrowBatch) -> Option<(i64, i64, i64)> {
    totals(&batch_rows(&rows.0)?).map(|found| (found.first_offset, found.last_offset, found.records))
}
