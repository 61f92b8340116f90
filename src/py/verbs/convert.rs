//! Entries of a source, and of every value of a column, in another format or codec; what was lost on the way, where it stopped, what it met.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec::Plugins;
use crate::columns::values::Values;
use crate::convert::{ConvertOptions, Converter, Losses, MapRow, Stopped};
use crate::error::{ErrorKind, Result};
use crate::interrupt::Interrupt;
use crate::model::RecordFormat;
use crate::py::arrow::export::ArrowArray;
use crate::py::arrow::import;
use crate::py::bytes_writer;
use crate::py::errors;
use crate::py::errors::LossError;
use crate::py::finding::{self, PyFinding};
use crate::py::interrupt::Signals;
use crate::py::option_values::{option, positive, record_format};
use crate::py::options::{ReadOptions, Reading};
use crate::py::output::PyOutput;
use crate::py::source;
use crate::py::verbs::arrays::on_bad_value;
use crate::validate::Finding as CoreFinding;
use crate::wire::Sink;

/// Name, how many, records or entries, position of the first entry, its base offset.
type LossRow = (&'static str, u64, &'static str, u64, i64);
/// Position, base offset, last offset, codec.
type StoppedRow = (u64, i64, i64, String);
/// The bytes, losses, where it stopped, findings, the map, the next offset.
type ConvertedParts<'py> = (Option<Bound<'py, PyBytes>>, Vec<LossRow>, Option<StoppedRow>, Vec<PyFinding>, Vec<MapRow>, Option<i64>);

/// The default target format.
const DEFAULT_TARGET: RecordFormat = RecordFormat::V2;

/// Options of a conversion.
pub struct ConvertArguments {
    pub options: ConvertOptions,
    pub reading: Reading,
    pub on_error: String,
    pub is_loss_allowed: bool,
    pub is_mapped: bool,
    /// The target, when the caller named none.
    unnamed_target: Option<RecordFormat>,
}

impl ConvertArguments {
    /// `logsegment._convert.result.ConvertOptions`, with the options of the read.
    fn of(entry: ReadOptions, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (to, compression): (Option<String>, Option<String>) = (option!(options, "to"), option!(options, "compression"));
        let target = to.as_deref().map(|name| record_format("to", name)).transpose()?;
        let codec = |name: &str| entry.reading.plugins.named(name).map_err(|error| errors::to_py(options.py(), &error));
        Ok(Self {
            options: ConvertOptions {
                decode: entry.to_decode()?,
                to: target.unwrap_or(DEFAULT_TARGET),
                compression: compression.as_deref().map(codec).transpose()?,
                is_metadata_first: option!(options, "metadata_first"),
                level: option!(options, "level"),
                is_up_wanted: true,
                first_offset: option!(options, "first_offset"),
                batch_bytes: positive("batch_bytes", option!(options, "batch_bytes"))?,
            },
            reading: entry.reading,
            on_error: entry.on_error,
            is_loss_allowed: option!(options, "allow_loss"),
            is_mapped: option!(options, "offset_map"),
            unnamed_target: target.is_none().then_some(DEFAULT_TARGET),
        })
    }
}

/// Convert entries; see `logsegment.convert`.
#[pyfunction]
#[pyo3(signature = (source, options, conversion, out=None, on_map=None))]
pub fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    options: ReadOptions,
    conversion: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    on_map: Option<Py<PyAny>>,
) -> PyResult<ConvertedParts<'py>> {
    let mut arguments = ConvertArguments::of(options, conversion)?;
    let (signals, interrupt) = Signals::new();
    let mut opened = source::open_alone(source, &signals)?;
    let resolved = arguments.reading.resolve(&mut arguments.options.decode, &mut opened);
    resolved.map_err(|error| signals.raised(py, &error))?;
    let plugins = arguments.reading.plugins.clone();
    let unnamed_target = arguments.unnamed_target;
    let converter = Converter::new(opened.source, arguments.options, arguments.is_mapped);
    let mut converter = converter.map_err(|error| signals.raised(py, &error))?;
    let output = PyOutput::of(out, &signals)?;
    let map = on_map.map(|taker| MapTaker { taker, signals: Arc::clone(&signals) });
    let done = py.detach(|| run(&mut converter, output, map.as_ref(), arguments.is_loss_allowed, &interrupt));
    let data = done.map_err(|error| refusal(py, signals.raised(py, &error), converter.losses()))?;
    let map = converter.take_map();
    let data = out.is_none().then(|| bytes_writer::copied(py, data.bytes())).transpose()?;
    let findings = findings_of(&converter, unnamed_target);
    let stopped = converter.stopped().map(|stopped| stopped_row(stopped, &plugins));
    Ok((data, loss_rows(converter.losses()), stopped, findings, map, converter.next_offset()))
}

/// Raw batches of every value in another format or codec; see `logsegment.convert_array`.
#[pyfunction]
pub fn convert_array(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    options: ReadOptions,
    conversion: &Bound<'_, PyAny>,
) -> PyResult<ArrowArray> {
    let arguments = ConvertArguments::of(options, conversion)?;
    let on_bad = on_bad_value(&arguments.on_error)?;
    let arrays = import::arrays(array)?;
    let (signals, interrupt) = Signals::new();
    let made = py.detach(|| {
        arguments.options.ensure_legal()?;
        Values::of(&arrays)?.convert(&arguments.options, arguments.is_loss_allowed, on_bad, &interrupt)
    });
    made.map(|converted| ArrowArray(Arc::new(converted))).map_err(|error| signals.raised(py, &error))
}

/// Runs to the end; gives the bytes that were not written anywhere.
fn run(
    converter: &mut Converter,
    mut output: PyOutput,
    map: Option<&MapTaker>,
    is_loss_allowed: bool,
    interrupt: &Interrupt,
) -> Result<Sink> {
    let mut pending = Sink::default();
    let mut is_refused = false;
    while converter.advance(&mut pending)? {
        interrupt.ensure_wanted()?;
        if !is_loss_allowed && !is_refused && !converter.losses().is_empty() {
            // The rest is only looked through, so that the refusal names everything.
            (is_refused, pending) = (true, Sink::default());
            converter.run_dry();
        }
        if pending.len() >= output.enough() {
            output.write(&mut pending)?;
        }
        if let Some(map) = map {
            map.give(converter.take_map())?;
        }
    }
    if is_refused {
        return Err(ErrorKind::Loss { rule: "CNV-7", work: "conversion", losses: converter.losses().to_string() }.into());
    }
    output.finish(&mut pending)?;
    Ok(pending)
}

/// A Python function that takes the rows of the map as they come.
struct MapTaker {
    taker: Py<PyAny>,
    signals: Arc<Signals>,
}

impl MapTaker {
    fn give(&self, rows: Vec<MapRow>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        Python::attach(|py| self.taker.call1(py, (rows,)).map(|_| ()).map_err(|error| self.signals.kept(error)))
    }
}

/// A LossError lists the losses.
fn refusal(py: Python<'_>, raised: PyErr, losses: &Losses) -> PyErr {
    if raised.is_instance_of::<LossError>(py)
        && let Err(failed) = raised.value(py).setattr("losses", loss_rows(losses))
    {
        return failed;
    }
    raised
}

fn findings_of(converter: &Converter, unnamed_target: Option<RecordFormat>) -> Vec<PyFinding> {
    let mut found = Vec::new();
    if let Some(position) = converter.proposed_at() {
        let from = RecordFormat::V3;
        found.extend(unnamed_target.map(|to| CoreFinding::of_default_target(from, to, position)));
    }
    found.extend(converter.tail().and_then(CoreFinding::of_tail));
    finding::to_py(&found)
}

fn loss_rows(losses: &Losses) -> Vec<LossRow> {
    losses.iter().map(|loss| (loss.kind.name(), loss.count, loss.kind.unit(), loss.position, loss.base_offset)).collect()
}

fn stopped_row(stopped: Stopped, plugins: &Plugins) -> StoppedRow {
    (stopped.position, stopped.base_offset, stopped.last_offset, plugins.with_name(stopped.compression, str::to_owned))
}
