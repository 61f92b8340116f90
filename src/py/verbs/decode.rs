use pyo3::prelude::*;

use crate::columns::OnError;
use crate::decode::ChecksumVerifier;
use crate::internal_topics::Topic;
use crate::py::arrow::stream::RecordStream;
use crate::py::interrupt::Signals;
use crate::py::option_values::committed;
use crate::py::options::ReadOptions;
use crate::py::source;
use crate::py::source::FileSource;
use crate::py::source::upcoming::UpcomingFiles;
use crate::py::source::uris;
use crate::py::value_schemas;
use crate::py::verbs::transactions;

/// True if the column `internal` is for the records of a topic with this name.
#[pyfunction]
pub fn is_internal_topic(name: &str) -> bool {
    Topic::named(name).is_some()
}

/// Open a stream of records; see `logsegment.decode`. `file` is the file of which the source is the memory. `upcoming` may have begun to open it.
#[pyfunction]
#[pyo3(signature = (source, options, *, file=None, upcoming=None))]
pub fn decode(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: ReadOptions,
    file: Option<PyRef<'_, FileSource>>,
    upcoming: Option<&UpcomingFiles>,
) -> PyResult<RecordStream> {
    let (signals, interrupt) = Signals::new();
    if let Some(file) = &file {
        signals.read_file(uris::redacted_uri(&file.path));
        file.report(&signals);
    }
    let mut stream = options.to_record_stream(interrupt)?;
    signals.skip_damage(stream.on_error == OnError::Skip);
    if let Some(upcoming) = upcoming {
        signals.upcoming().take_all(upcoming);
    }
    let opened = source::open_alone(source, &signals);
    if let Some(upcoming) = upcoming {
        upcoming.take_all(signals.upcoming());
    }
    let mut opened = opened?;
    options.reading.resolve(&mut stream.decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
    if let Some(file) = file {
        stream.decode.segment = file.segment();
        opened.source = opened.source.before(file.ending());
    }
    if options.is_committed()? {
        let known = options.transactions.as_ref().map(|known| known.0.clone());
        let transactions = match known {
            Some(transactions) => transactions,
            None => {
                let verifier = ChecksumVerifier { checksums: options.scan_checksums()?, ..ChecksumVerifier::of(&stream.decode) };
                transactions::learned(py, std::slice::from_ref(source), verifier, options.skips_unreadable())?
            }
        };
        stream.decode.isolation = committed(transactions);
    }
    let typed = options.to_typed()?;
    let records = value_schemas::open(opened.source, stream, typed.as_ref()).map_err(|error| signals.raised(py, &error))?;
    Ok(RecordStream::new(records, signals))
}
