//! The schemas of a read with typed values, as Python gives them.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::columns::{BatchSource, StreamOptions, stream};
use crate::error::Result;
use crate::framing::Source;
use crate::py::arrow::import::data_type_of;
use crate::py::option_values::choice;
use crate::values::json::{Integers, schema_of};
use crate::values::outputs::{RecordPart, planned};
use crate::values::{self, AnySchema, Expected, Framing, ReaderSchema, SchemaEntry, Schemas, TypedOptions, ValueFormat, ValuePlan};

/// A schema: id, GUID (16 bytes), type, text, name and text of each schema that it needs, and its global ids.
type EntryParts = (Option<i64>, Option<Vec<u8>>, String, String, Vec<(String, String)>, Vec<i64>);
/// Type and text of a reader's schema, and name and text of each schema that it needs.
type ReaderParts = (String, String, Vec<(String, String)>);

/// The schemas that keys or values of a read may have, and what is known of them. It can be pickled.
#[pyclass(name = "ValueSchemas", frozen, from_py_object, module = "logsegment._core")]
#[derive(Clone)]
pub struct PyValueSchemas {
    pub(super) schemas: Arc<Schemas>,
    entries: Arc<Vec<EntryParts>>,
    framing: Framing,
    format: ValueFormat,
    main: Option<usize>,
    integers: Integers,
    expected: Expected,
}

#[pymethods]
impl PyValueSchemas {
    #[new]
    #[pyo3(signature = (
        entries, framing, format, present=Vec::new(), newest=None, reader=None, messages=Vec::new(), main=None, integers="int64"
    ))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a pickle")]
    fn new(
        entries: Vec<EntryParts>,
        framing: &str,
        format: &str,
        present: Vec<usize>,
        newest: Option<usize>,
        reader: Option<ReaderParts>,
        messages: Vec<MessageParts>,
        main: Option<usize>,
        integers: &str,
    ) -> PyResult<Self> {
        let framing = choice("framing", framing, Framing::NAMES)?;
        let format = choice("values", format, ValueFormat::NAMES)?;
        let integers = choice("integers", integers, Integers::NAMES)?;
        let schemas = Schemas::new(entries.iter().map(entry).collect::<PyResult<_>>()?, framing, format, main);
        Ok(Self {
            schemas: Arc::new(schemas.with_integers(integers)),
            entries: Arc::new(entries),
            framing,
            format,
            main,
            integers,
            expected: Expected { messages, ..expected(present, newest, reader) },
        })
    }

    /// The same schemas, of which these are expected.
    #[pyo3(signature = (present, newest, reader, messages=Vec::new()))]
    fn expecting(&self, present: Vec<usize>, newest: Option<usize>, reader: Option<ReaderParts>, messages: Vec<MessageParts>) -> Self {
        Self { expected: Expected { messages, ..expected(present, newest, reader) }, ..self.clone() }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = |(id, guid, kind, text, referenced, global_ids): &EntryParts| {
            (*id, guid.as_ref().map(|guid| PyBytes::new(py, guid)), kind.clone(), text.clone(), referenced.clone(), global_ids.clone())
        };
        let entries: Vec<_> = self.entries.iter().map(parts).collect();
        let framing = self.framing.name();
        let format = ValueFormat::NAMES.iter().find(|(_, format)| *format == self.format).map_or("avro", |(name, _)| name);
        let Expected { present, newest, reader, messages } = self.expected.clone();
        let reader = reader.map(|ReaderSchema { kind, text, referenced }| (kind, text, referenced));
        let arguments = (entries, framing, format, present, newest, reader, messages, self.main, self.integers.name()).into_pyobject(py)?;
        (py.get_type::<Self>(), arguments).into_pyobject(py)
    }
}

impl PyValueSchemas {
    /// Plans the column of the wanted fields.
    pub fn plan(&self, names: &[String], part: RecordPart) -> PyResult<Option<Arc<ValuePlan>>> {
        let plan = planned(names, part, &self.schemas, &self.expected);
        plan.map_err(|problem| PyValueError::new_err(format!("schemas: {problem}")))
    }
}

fn expected(present: Vec<usize>, newest: Option<usize>, reader: Option<ReaderParts>) -> Expected {
    let reader = reader.map(|(kind, text, referenced)| ReaderSchema { kind, text, referenced });
    Expected { present, newest, reader, messages: Vec::new() }
}

fn entry((id, guid, kind, text, referenced, global_ids): &EntryParts) -> PyResult<SchemaEntry> {
    let guid = guid.as_ref().map(|guid| guid.as_slice().try_into()).transpose();
    let guid = guid.map_err(|_| PyValueError::new_err("a GUID has 16 bytes"))?;
    Ok(SchemaEntry {
        id: *id,
        global_ids: global_ids.clone(),
        guid,
        kind: kind.clone(),
        text: text.clone(),
        referenced: referenced.clone(),
    })
}

/// How keys and values are decoded, if columns need it.
pub fn typed_options(names: &[String], value: Option<&PyValueSchemas>, key: Option<&PyValueSchemas>) -> PyResult<Option<TypedOptions>> {
    let plan = |schemas: Option<&PyValueSchemas>, part| schemas.map_or(Ok(None), |schemas| schemas.plan(names, part));
    Ok(TypedOptions::of(names, plan(value, RecordPart::Value)?, plan(key, RecordPart::Key)?))
}

/// Opens a stream of records, with typed values or without.
pub fn open(source: Source, stream: StreamOptions, typed: Option<&TypedOptions>) -> Result<Box<dyn BatchSource>> {
    match typed {
        Some(typed) => values::open(source, stream, typed),
        None => Ok(stream::open(source, stream)),
    }
}

/// The number of a schema of Protobuf, and the path of a message in it.
pub type MessageParts = (usize, Vec<i32>);

/// Raise a ValueError if a text is not a schema of a type.
#[pyfunction]
pub fn ensure_schema(kind: &str, text: &str, referenced: Vec<(String, String)>) -> PyResult<()> {
    AnySchema::parse(kind, text, &referenced).map(|_| ()).map_err(PyValueError::new_err)
}

/// Return the text of a JSON Schema for values of an Arrow schema or type (`__arrow_c_schema__`).
#[pyfunction]
pub fn json_schema_of(schema: &Bound<'_, PyAny>) -> PyResult<String> {
    let found = schema_of(&data_type_of(schema)?);
    let found = found.map_err(|name| PyValueError::new_err(format!("reader_schema: JSON values are not decoded to {name}")))?;
    Ok(found.to_string())
}
