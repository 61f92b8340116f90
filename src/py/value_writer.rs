//! How typed columns are written, as Python gives it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::py::option_values::choice;
use crate::values::{Framing, SchemaEntry, TypedWriters, ValueWriter};

/// The schema that keys or values are written with: type, text, and name and text of each schema that it needs.
type SchemaParts = (String, String, Vec<(String, String)>);

/// How the column `valueRecord` or `keyRecord` becomes bytes.
#[pyclass(frozen, from_py_object, name = "ValueWriter", module = "logsegment._core")]
#[derive(Clone)]
pub struct PyValueWriter {
    writer: ValueWriter,
}

#[pymethods]
impl PyValueWriter {
    #[new]
    #[pyo3(signature = (schema, framing, id=None, message=None))]
    fn new(schema: SchemaParts, framing: &str, id: Option<i64>, message: Option<&str>) -> PyResult<Self> {
        let framing = choice("framing", framing, Framing::NAMES)?;
        let (kind, text, referenced) = schema;
        let entry = SchemaEntry { id, global_ids: Vec::new(), guid: None, kind, text, referenced };
        let writer = ValueWriter::new(&entry, framing, message);
        Ok(Self { writer: writer.map_err(|problem| PyValueError::new_err(format!("schema: {problem}")))? })
    }
}

/// The writers of a table.
pub fn typed_writers(value: Option<PyValueWriter>, key: Option<PyValueWriter>) -> TypedWriters {
    TypedWriters { key: key.map(|key| key.writer), value: value.map(|value| value.writer) }
}
