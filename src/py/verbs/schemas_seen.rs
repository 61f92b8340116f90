//! The schemas that keys and values name.

use pyo3::prelude::*;

use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source;
use crate::py::value_schemas::{MessageParts, PyValueSchemas};
use crate::values::scan::{SchemasSeen, scan};

/// The numbers of the schemas that keys or values name, the JSON Schema of JSON ones, the messages of Protobuf, the texts of Avro
/// schemas that are in values, and the names of schemas that are not known.
type PartMet = (Vec<usize>, Option<String>, Vec<MessageParts>, Vec<String>, Vec<String>);

/// Return what keys and what values of sources name, with the JSON Schemas of JSON keys and values if `infers`. Damage is skipped.
#[pyfunction]
#[pyo3(signature = (sources, options, schemas, infers=false))]
pub fn met_schemas(
    py: Python<'_>,
    sources: Vec<Bound<'_, PyAny>>,
    options: ReadOptions,
    schemas: &PyValueSchemas,
    infers: bool,
) -> PyResult<(PartMet, PartMet)> {
    let mut met = SchemasSeen { inferred: infers.then(Default::default), ..SchemasSeen::default() };
    for object in sources {
        let (signals, interrupt) = Signals::new();
        let mut stream = options.to_record_stream(interrupt)?;
        let mut opened = source::open_alone(&object, &signals)?;
        options.reading.resolve(&mut stream.decode, &mut opened).map_err(|error| signals.raised(py, &error))?;
        let schemas = &schemas.schemas;
        py.detach(|| scan(opened.source, stream, schemas, &mut met)).map_err(|error| signals.raised(py, &error))?;
    }
    let [key, value] = met.inferred.map_or([None, None], |parts| parts.map(|part| Some(part.schema())));
    let [key_messages, value_messages] = met.messages.map(|met| met.into_iter().collect());
    let [key_texts, value_texts] = met.texts.map(|texts| texts.into_iter().collect());
    let (keys, values) = (met.keys.into_iter().collect(), met.values.into_iter().collect());
    let [key_unknown, value_unknown] = met.unknown.map(|notes| notes.unknown.into_iter().collect());
    Ok(((keys, key, key_messages, key_texts, key_unknown), (values, value, value_messages, value_texts, value_unknown)))
}
