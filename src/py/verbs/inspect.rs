use bytes::Bytes;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::inspect::{self, Area, FieldValue, InspectOptions, Inspection, Node};
use crate::py::interrupt::Signals;
use crate::py::option_values::{depth, option};
use crate::py::options::ReadOptions;
use crate::py::source::{self, FileSource};

/// The tree of one entry, as tuples; see `logsegment.inspect`.
///
/// A field is (name, value, start, length, note, inside, problems, raw, children), a problem (rule, severity, message).
#[pyfunction]
pub fn inspect_entry<'py>(source: &Bound<'py, PyAny>, shown: &Bound<'py, PyAny>, options: ReadOptions) -> PyResult<Bound<'py, PyTuple>> {
    let py = source.py();
    let (at, offset): (u64, Option<i64>) = (option!(shown, "at"), option!(shown, "offset"));
    let (depth_name, records): (String, Option<usize>) = (option!(shown, "depth"), option!(shown, "records"));
    let value_bytes: usize = option!(shown, "value_bytes");
    let shown = InspectOptions { depth: depth(&depth_name)?, records: records.unwrap_or(usize::MAX) };
    let mut decode = options.to_decode()?;
    let (signals, _) = Signals::new();
    let mut ahead = at;
    let source = &source::to_file_source(source)?;
    let mut opened = match source.cast::<FileSource>() {
        Ok(file) => {
            let file = file.get();
            ahead = 0;
            let file = file.from(file.start().saturating_add(at));
            source::open_alone(Bound::new(py, file)?.as_any(), &signals)?
        }
        Err(_) => source::open_alone(source, &signals)?,
    };
    let inspected = py.detach(|| {
        inspect::skip(&mut opened.source, ahead)?;
        options.reading.resolve(&mut decode, &mut opened)?;
        if let Some(offset) = offset {
            inspect::find(&mut opened.source, offset, &decode)?;
        }
        inspect::inspect(&inspect::take(&mut opened.source, &decode)?, &decode, &shown)
    });
    let Inspection { root, areas } = inspected.map_err(|error| signals.raised(py, &error))?;
    to_py(py, &root, &areas, value_bytes)
}

fn to_py<'py>(py: Python<'py>, node: &Node, areas: &[Area], most: usize) -> PyResult<Bound<'py, PyTuple>> {
    let area = areas.get(node.area);
    let is_leaf = node.children.is_empty();
    let raw = if is_leaf { area.map(|area| area.bytes_of(node)).unwrap_or_default() } else { Bytes::new() };
    let raw = PyBytes::new(py, raw.get(..most.max(LONGEST_NUMBER)).unwrap_or(&raw));
    let value = match node.value {
        FieldValue::None => py.None().into_bound(py),
        FieldValue::Number(number) => number.into_bound_py_any(py)?,
        FieldValue::Bytes => raw.clone().into_any(),
    };
    let inside = area.map(|area| area.name.as_str()).filter(|name| !name.is_empty());
    let problems = node.marks.iter().map(|mark| (mark.rule, mark.severity, mark.message.as_str()));
    let children = node.children.iter().map(|child| to_py(py, child, areas, most)).collect::<PyResult<Vec<_>>>()?;
    let fields = [
        node.name.as_ref().into_bound_py_any(py)?,
        value,
        node.start.into_bound_py_any(py)?,
        node.len.into_bound_py_any(py)?,
        node.note.as_str().into_bound_py_any(py)?,
        inside.into_bound_py_any(py)?,
        PyTuple::new(py, problems)?.into_any(),
        raw.into_any(),
        PyTuple::new(py, children)?.into_any(),
    ];
    PyTuple::new(py, fields)
}

/// Bytes of the longest number, so that those are always whole.
const LONGEST_NUMBER: usize = 10;
