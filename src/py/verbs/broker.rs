use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::broker::{
    self, AppendOptions, AppendOrigin, Appended, FetchRequest, ProduceRequest, ProducedBatch, ProducerHistory, ProducerState,
};
use crate::codec::Plugins;
use crate::error::Result;
use crate::framing::Source;
use crate::model::{CompressionType, Formats};
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::limits::PyLimits;
use crate::py::option_values::{PROPOSED, choice, option, released_format, timestamp_type};
use crate::py::plugins;
use crate::py::source;
use crate::py::verbs::compat::release_named;

/// First and last sequence, first and last offset, timestamp.
type ProducedBatchRow = (i32, i32, i64, i64, i64);
/// Producer id, epoch, its last batches.
type ProducerRow = (i64, i16, Vec<ProducedBatchRow>);
/// The bytes, first and last offset, largest timestamp, whether it is a duplicate, producers.
type AppendedRow<'py> = (Bound<'py, PyBytes>, i64, i64, i64, bool, Vec<ProducerRow>);

/// Process produced records; see `logsegment.broker.append`.
#[pyfunction]
pub fn broker_append<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    options: &Bound<'py, PyAny>,
    producers: Vec<ProducerRow>,
) -> PyResult<AppendedRow<'py>> {
    let options = append_options(options)?;
    let mut state = state_of(producers);
    let mut bytes = bytes_of(source)?;
    let done = py.detach(|| {
        whole(&mut bytes)?;
        broker::append(bytes.front(), &options, &mut state)
    });
    let Appended { data, first_offset, last_offset, max_timestamp, is_duplicate } = done.map_err(|error| errors::to_py(py, &error))?;
    Ok((PyBytes::new(py, &data), first_offset, last_offset, max_timestamp, is_duplicate, rows_of(&state)))
}

/// Return the response to a fetch; see `logsegment.broker.fetch`.
#[pyfunction]
pub fn broker_fetch<'py>(py: Python<'py>, source: &Bound<'py, PyAny>, options: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let (topic, release): (String, Option<String>) = (option!(options, "topic_compression"), option!(options, "release"));
    let topic = topic_compression(py, &topic, &plugins::of_brokers(option!(options, "codecs"))?)?;
    let limits: Option<PyLimits> = option!(options, "limits");
    let (limits, first_offset) = (PyLimits::or_default(limits.as_ref()), option!(options, "first_offset"));
    let format: String = option!(options, "format");
    let request = FetchRequest {
        version: option!(options, "api_version"),
        release: release_named(release.as_deref())?,
        formats: choice("format", &format, [("auto", Formats::Auto), (PROPOSED, Formats::Every)])?,
    };
    let mut bytes = bytes_of(source)?;
    let done = py.detach(|| {
        whole(&mut bytes)?;
        broker::fetch(bytes.front(), request, topic, first_offset, &limits)
    });
    done.map(|data| PyBytes::new(py, &data)).map_err(|error| errors::to_py(py, &error))
}

/// The records of a request.
fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Source> {
    let (signals, _) = Signals::new();
    Ok(source::open_alone(object, &signals)?.source)
}

/// Brings all bytes to the front: a request is one buffer.
fn whole(source: &mut Source) -> Result<()> {
    while source.fill(source.front().len().saturating_add(1 << 20))? {}
    Ok(())
}

fn append_options(options: &Bound<'_, PyAny>) -> PyResult<AppendOptions> {
    let (to, compression): (String, String) = (option!(options, "to"), option!(options, "compression"));
    let from: String = option!(options, "origin");
    let plugins = plugins::of_brokers(option!(options, "codecs"))?;
    let (kind, limits): (String, Option<PyLimits>) = (option!(options, "timestamp_type"), option!(options, "limits"));
    let (version, release): (Option<i16>, Option<String>) = (option!(options, "api_version"), option!(options, "release"));
    let release = release_named(release.as_deref())?;
    Ok(AppendOptions {
        request: version.map(|version| ProduceRequest { version, release }),
        origin: choice("origin", &from, AppendOrigin::NAMED)?,
        first_offset: option!(options, "first_offset"),
        to: released_format("to", &to)?,
        compression: topic_compression(options.py(), &compression, &plugins)?,
        level: None,
        has_zstd: option!(options, "has_zstd"),
        timestamp_type: timestamp_type(&kind)?,
        now: option!(options, "now"),
        before_max_ms: option!(options, "before_max_ms"),
        after_max_ms: option!(options, "after_max_ms"),
        is_compacted: option!(options, "compacted"),
        max_message_bytes: option!(options, "max_message_bytes"),
        partition_leader_epoch: option!(options, "partition_leader_epoch"),
        limits: PyLimits::or_default(limits.as_ref()),
        plugins,
    })
}

/// A topic's `compression.type`: a codec, the alias of a plugin, `uncompressed`, or `producer`, which is none of its own.
fn topic_compression(py: Python<'_>, name: &str, plugins: &Plugins) -> PyResult<Option<CompressionType>> {
    match name {
        "producer" => Ok(None),
        "uncompressed" => Ok(Some(CompressionType::None)),
        other => plugins.named(other).map(Some).map_err(|error| errors::to_py(py, &error)),
    }
}

fn state_of(rows: Vec<ProducerRow>) -> ProducerState {
    let entry = |(id, epoch, batches): ProducerRow| {
        let batches = batches.into_iter().map(|(first_sequence, last_sequence, first_offset, last_offset, timestamp)| ProducedBatch {
            first_sequence,
            last_sequence,
            first_offset,
            last_offset,
            timestamp,
        });
        (id, ProducerHistory { epoch, batches: batches.collect() })
    };
    ProducerState(rows.into_iter().map(entry).collect())
}

fn rows_of(state: &ProducerState) -> Vec<ProducerRow> {
    let batch = |batch: &ProducedBatch| (batch.first_sequence, batch.last_sequence, batch.first_offset, batch.last_offset, batch.timestamp);
    state.0.iter().map(|(id, entry)| (*id, entry.epoch, entry.batches.iter().map(batch).collect())).collect()
}
