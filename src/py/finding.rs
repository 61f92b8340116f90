use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::columns::findings::FindingRow;
use crate::py::fetches::Fetches;
use crate::py::package;
use crate::quirks::Quirk;
use crate::validate as core;
use crate::validate::lost_ranges::NamedFinding;

/// Describe one problem of the bytes: rule, severity, position.
///
/// Attributes:
///     rule (str): id of the rule; see docs/reference/findings.md.
///     severity (str): "error" (decode would raise), "warning" (readable, but it breaks a rule) or "info".
///     message (str): text of the problem.
///     path (str): place in the input, from the outside in.
///     position (int), length (int): the bytes with the problem.
///     base_offset, last_offset, record_index (int or None): the batch and the record.
///     field (str or None): the field, in Kafka's spelling.
///     is_damage (bool): a read fails here, or ends although valid entries follow.
///     is_unreadable (bool): a batch without known damage cannot be read here, at which `unreadable` decides.
///     unopened (str or None): why a batch was not decompressed: "missing_plugin", "failed" (the plugin), "limit", "dictionary", "quirk"
///         or "format".
///     quirks (list[str]): the quirks with which a batch is readable, if that is all that it lacks.
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.validate(bytes(20)).findings
///     [Finding(info FND-17 at byte 0: the input ends in 20 zero bytes, as a preallocated segment does)]
#[pyclass(name = "Finding", frozen, eq, get_all, module = "logsegment")]
#[derive(Clone, PartialEq)]
pub struct PyFinding {
    rule: String,
    severity: String,
    message: String,
    path: String,
    position: u64,
    length: u64,
    base_offset: Option<i64>,
    last_offset: Option<i64>,
    record_index: Option<u64>,
    field: Option<String>,
}

impl From<&core::Finding> for PyFinding {
    fn from(finding: &core::Finding) -> Self {
        Self {
            rule: finding.rule().to_owned(),
            severity: finding.severity.name().to_owned(),
            message: finding.kind.to_string(),
            path: finding.path(),
            position: finding.position,
            length: finding.length,
            base_offset: finding.base_offset,
            last_offset: finding.last_offset,
            record_index: finding.record_index,
            field: finding.field.map(str::to_owned),
        }
    }
}

impl NamedFinding for PyFinding {
    fn rule(&self) -> &str {
        &self.rule
    }

    fn bytes(&self) -> std::ops::Range<u64> {
        self.position..self.position.saturating_add(self.length)
    }

    fn file(&self) -> &str {
        self.path.rsplit_once('@').map_or(&self.path, |(file, _)| file)
    }

    fn widen(&mut self, bytes: std::ops::Range<u64>) {
        let end = self.bytes().end.max(bytes.end);
        self.position = self.position.min(bytes.start);
        self.length = end.saturating_sub(self.position);
        self.path = format!("{}@{}", self.file(), self.position);
    }
}

impl PyFinding {
    fn is_error(&self) -> bool {
        self.severity == "error"
    }

    /// Why a reader cannot read a batch, by the rules of `ErrorKind::is_of_reader`.
    fn unread_reason(&self) -> Option<&'static str> {
        match self.rule.as_str() {
            "S-P19" | "S-P20" => Some("missing_plugin"),
            "COD-6" => Some("limit"),
            "COD-Z5" => Some("dictionary"),
            "MAP-3" => Some("format"),
            _ => (!self.quirks().is_empty()).then_some("quirk"),
        }
    }

    /// The row of a table that it is.
    pub fn row(&self) -> FindingRow<'_> {
        FindingRow {
            rule: &self.rule,
            severity: &self.severity,
            message: self.message.as_str().into(),
            path: self.path.as_str().into(),
            position: self.position,
            length: self.length,
            base_offset: self.base_offset,
            last_offset: self.last_offset,
            record_index: self.record_index,
            field: self.field.as_deref(),
        }
    }
}

#[pymethods]
impl PyFinding {
    #[new]
    #[pyo3(signature = (rule, severity, message, path, position, length, base_offset=None, last_offset=None, record_index=None, field=None))]
    #[expect(clippy::too_many_arguments, reason = "the columns of findings")]
    fn new(
        rule: String,
        severity: String,
        message: String,
        path: String,
        position: u64,
        length: u64,
        base_offset: Option<i64>,
        last_offset: Option<i64>,
        record_index: Option<u64>,
        field: Option<String>,
    ) -> Self {
        Self { rule, severity, message, path, position, length, base_offset, last_offset, record_index, field }
    }

    #[getter]
    fn is_damage(&self) -> bool {
        self.is_error() || self.rule == "SWALLOWED"
    }

    #[getter]
    fn is_unreadable(&self) -> bool {
        // Other bytes may claim the same; they have no base offset.
        self.base_offset.is_some() && self.unread_reason().is_some()
    }

    #[getter]
    fn unopened(&self) -> Option<&'static str> {
        if self.rule == "S-P6" && self.is_error() {
            return Some("failed");
        }
        self.base_offset.and(self.unread_reason())
    }

    #[getter]
    fn quirks(&self) -> Vec<&'static str> {
        // The message of a stream that is otherwise valid names them.
        let named = |quirk: &Quirk| Quirk::of_rule(&self.rule).is_some() && self.message.contains(quirk.name());
        Quirk::ALL.into_iter().filter(named).map(Quirk::name).collect()
    }

    /// Return the attributes as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("rule", &self.rule)?;
        dict.set_item("severity", &self.severity)?;
        dict.set_item("message", &self.message)?;
        dict.set_item("path", &self.path)?;
        dict.set_item("position", self.position)?;
        dict.set_item("length", self.length)?;
        dict.set_item("baseOffset", self.base_offset)?;
        dict.set_item("lastOffset", self.last_offset)?;
        dict.set_item("recordIndex", self.record_index)?;
        dict.set_item("field", &self.field)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("Finding({} {} at byte {}: {})", self.severity, self.rule, self.position, self.message)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let fields = slf.get().to_dict(slf.py())?.values().to_tuple();
        Ok((slf.get_type().into_any(), fields))
    }
}

/// Findings as Python objects.
pub fn to_py(findings: &[core::Finding]) -> Vec<PyFinding> {
    findings.iter().map(PyFinding::from).collect()
}

/// Counters as a dict with attribute access.
pub fn counters(py: Python<'_>, stats: &crate::decode::Stats, fetches: Fetches) -> PyResult<Py<PyAny>> {
    let dict = PyDict::new(py);
    for (name, count) in stats.to_pairs().into_iter().chain(fetches.to_pairs()) {
        dict.set_item(name, count)?;
    }
    package::io_stats(&dict)
}
