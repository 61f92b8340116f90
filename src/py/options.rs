//! What Python's verbs are given, as the core's options. The Python layer fills in every key; defaults and docs stand there.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::codec::Plugins;
use crate::codec::zstd::Dictionaries;
use crate::columns::{BinaryKind, OnError, Projection, StreamOptions};
use crate::decode::{CodecOptions, DecodeOptions, Isolation, OffsetRange, sniff};
use crate::interrupt::Interrupt;
use crate::model::{Formats, RecordFormat, UploadOffsets};
use crate::py::limits::Limits;
use crate::py::plugins;
use crate::py::source::OpenedSource;
use crate::py::verbs::transactions::Transactions;
use crate::validate::Depth;

/// `logsegment._options.ReadOptions`, which the Python layer builds once for a call; defaults and docs are there.
pub struct ReadOptions {
    columns: Option<Vec<String>>,
    binary: String,
    check_crc: bool,
    pub on_error: String,
    strict_tail: bool,
    isolation: String,
    control: bool,
    start_offset: Option<i64>,
    end_offset: Option<i64>,
    batch_size: usize,
    batch_bytes: usize,
    topic: Option<String>,
    partition: Option<i32>,
    threads: usize,
    pub resolves: bool,
    pub reading: Reading,
    limits: Option<Limits>,
    null_headers: bool,
    pub transactions: Option<Transactions>,
}

/// What the bytes are, as the caller says, and what is taken of them.
#[derive(Clone)]
pub struct Reading {
    format: String,
    experimental: bool,
    base_position: Option<i64>,
    lz4_in_07: bool,
    ignore_lz4_header_checksum: bool,
    allow_dependent_lz4_blocks: bool,
    zstd_dictionaries: Dictionaries,
    /// The offsets of an upload that the source is a copy of.
    upload: Option<UploadOffsets>,
    /// Codecs that are not built in.
    pub plugins: Plugins,
}

/// One option; a wrong type is a TypeError that begins with its name.
macro_rules! option {
    ($options:expr, $name:literal) => {
        match $options.getattr($name)?.extract() {
            Ok(value) => value,
            Err(error) => return Err($crate::py::options::named($options.py(), $name, PyErr::from(error))),
        }
    };
}

pub(crate) use option;

/// The error of an option, with its name before it.
pub fn named(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    PyTypeError::new_err(format!("{name}: {}", error.value(py)))
}

fn dictionaries(given: Option<Vec<Vec<u8>>>) -> PyResult<Dictionaries> {
    Dictionaries::new(given.unwrap_or_default()).map_err(|error| PyValueError::new_err(error.message()))
}

impl Reading {
    fn of(options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let upload: Option<(i64, Option<i64>)> = option!(options, "upload");
        Ok(Self {
            format: option!(options, "format"),
            experimental: option!(options, "experimental"),
            base_position: option!(options, "base_position"),
            lz4_in_07: option!(options, "lz4_in_07"),
            ignore_lz4_header_checksum: option!(options, "ignore_lz4_header_checksum"),
            allow_dependent_lz4_blocks: option!(options, "allow_dependent_lz4_blocks"),
            zstd_dictionaries: dictionaries(option!(options, "zstd_dictionaries"))?,
            upload: upload.map(|(start, end)| UploadOffsets { start, end }),
            plugins: plugins::of_registry(option!(options, "codecs"))?,
        })
    }

    /// The formats by their name. What to sniff is left for `resolve`, which sees the bytes.
    fn formats(&self) -> PyResult<Formats> {
        match self.format.as_str() {
            "auto" | "sniff" => Ok(Formats::later(self.experimental)),
            "0.7" => Ok(Formats::Only(RecordFormat::V07)),
            "v0" => Ok(Formats::Only(RecordFormat::V0)),
            "v1" => Ok(Formats::Only(RecordFormat::V1)),
            "v2" => Ok(Formats::Only(RecordFormat::V2)),
            "v3" => Ok(Formats::Only(RecordFormat::V3)),
            other => {
                let known = "\"auto\", \"sniff\", \"0.7\", \"v0\", \"v1\", \"v2\" or \"v3\"";
                Err(PyValueError::new_err(format!("format must be {known}, not {other:?}")))
            }
        }
    }

    /// Where each value of a column is to be sniffed: what it may be when it is not of Kafka 0.7.
    fn sniffed_values(&self) -> PyResult<Option<Formats>> {
        (self.format == "sniff").then(|| self.formats()).transpose()
    }

    /// A proposal that was named, and not allowed, is told.
    fn reports_experimental(&self) -> bool {
        self.format == "v3" && !self.experimental
    }

    fn codecs(&self) -> CodecOptions {
        CodecOptions {
            lz4_in_07: self.lz4_in_07,
            ignore_lz4_header_checksum: self.ignore_lz4_header_checksum,
            allow_dependent_lz4_blocks: self.allow_dependent_lz4_blocks,
            zstd_dictionaries: self.zstd_dictionaries.clone(),
            plugins: self.plugins.clone(),
        }
    }

    fn to_decode(&self, check_crc: bool, limits: Option<&Limits>) -> PyResult<DecodeOptions> {
        Ok(DecodeOptions {
            formats: self.formats()?,
            reports_experimental: self.reports_experimental(),
            sniffed_values: self.sniffed_values()?,
            base_position: self.base_position.unwrap_or(0),
            codecs: self.codecs(),
            check_crc,
            limits: limits.map_or_else(crate::limits::Limits::default, |limits| limits.0),
            ..DecodeOptions::default()
        })
    }

    /// Lets the opened source say what the caller left open: its first entry when it is to be sniffed, its name by default.
    ///
    /// # Errors
    /// `Invalid` (MAP-1) when the bytes to sniff are of no family.
    pub fn resolve(&self, decode: &mut DecodeOptions, opened: &mut OpenedSource) -> crate::error::Result<()> {
        if self.format == "sniff" {
            decode.formats = sniff(&mut opened.source, decode.formats, &decode.limits)?;
        } else if self.format == "auto" && opened.kafka_07.is_some() {
            decode.formats = Formats::Only(RecordFormat::V07);
        }
        decode.upload = self.upload.or(opened.source.upload());
        decode.base_position = self.base_position.or(opened.kafka_07).unwrap_or(0);
        decode.segment = opened.segment;
        Ok(())
    }
}

impl<'py> FromPyObject<'_, 'py> for ReadOptions {
    type Error = PyErr;

    fn extract(options: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            columns: option!(options, "columns"),
            binary: option!(options, "binary"),
            check_crc: option!(options, "check_crc"),
            on_error: option!(options, "on_error"),
            strict_tail: option!(options, "strict_tail"),
            isolation: option!(options, "isolation"),
            control: option!(options, "control"),
            start_offset: option!(options, "start_offset"),
            end_offset: option!(options, "end_offset"),
            batch_size: option!(options, "batch_size"),
            batch_bytes: option!(options, "batch_bytes"),
            topic: option!(options, "topic"),
            partition: option!(options, "partition"),
            threads: option!(options, "threads"),
            resolves: option!(options, "resolve"),
            reading: Reading::of(&options)?,
            limits: option!(options, "limits"),
            null_headers: option!(options, "null_headers"),
            transactions: option!(options, "transactions"),
        })
    }
}

impl ReadOptions {
    /// The core's options. `isolation` is left for the caller, who knows the transactions.
    pub fn to_record_stream(&self, interrupt: Interrupt) -> PyResult<StreamOptions> {
        let binary = BinaryKind::named(&self.binary).ok_or_else(|| {
            PyValueError::new_err(format!("binary must be \"binary\", \"large_binary\" or \"binary_view\", not {:?}", self.binary))
        })?;
        let projection =
            Projection::named(self.columns.as_deref(), binary).map_err(|error| PyValueError::new_err(format!("columns: {error}")))?;
        let decode = DecodeOptions {
            is_control_wanted: self.control,
            offsets: OffsetRange { start: self.start_offset.unwrap_or(i64::MIN), end: self.end_offset },
            ..self.reading.to_decode(self.check_crc, self.limits.as_ref())?
        };
        Ok(StreamOptions {
            decode,
            projection: Projection { has_null_headers: self.null_headers, ..projection },
            topic: self.topic.clone(),
            partition: self.partition,
            on_error: on_error(&self.on_error)?,
            is_tail_strict: self.strict_tail,
            is_closed: false,
            batch_size: positive("batch_size", self.batch_size)?,
            batch_bytes: positive("batch_bytes", self.batch_bytes)?,
            threads: positive("threads", self.threads)?,
            interrupt,
        })
    }

    /// True for read_committed.
    pub fn is_committed(&self) -> PyResult<bool> {
        match self.isolation.as_str() {
            "read_uncommitted" => Ok(false),
            "read_committed" => Ok(true),
            other => Err(PyValueError::new_err(format!("isolation must be \"read_uncommitted\" or \"read_committed\", not {other:?}"))),
        }
    }
}

impl ReadOptions {
    /// The core's options for a stream of entries.
    pub fn to_entry_stream(&self, interrupt: Interrupt) -> PyResult<StreamOptions> {
        Ok(StreamOptions {
            decode: self.to_decode()?,
            projection: Projection { columns: Vec::new(), binary: BinaryKind::default(), has_null_headers: false },
            topic: None,
            partition: None,
            on_error: on_error(&self.on_error)?,
            is_tail_strict: self.strict_tail,
            is_closed: false,
            batch_size: positive("batch_size", self.batch_size)?,
            batch_bytes: usize::MAX,
            threads: 1,
            interrupt,
        })
    }

    /// The core's options for a validation.
    pub fn to_decode(&self) -> PyResult<DecodeOptions> {
        self.reading.to_decode(self.check_crc, self.limits.as_ref())
    }

    /// Whether headers tell all that is asked for. Formats that are named are held against every entry by the walk that reads it.
    pub fn wants_headers_only(&self) -> bool {
        !self.check_crc && !self.resolves && self.reading.format == "auto"
    }

    /// Whether a torn tail is an error.
    pub fn is_tail_strict(&self) -> bool {
        self.strict_tail
    }
}

/// read_committed by these transactions.
pub fn committed(transactions: crate::decode::Transactions) -> Isolation {
    Isolation::ReadCommitted(Arc::new(transactions))
}

/// The depth of a validation by its name.
pub fn depth(name: &str) -> PyResult<Depth> {
    match name {
        "headers" => Ok(Depth::Headers),
        "metadata" => Ok(Depth::Metadata),
        "full" => Ok(Depth::Full),
        other => Err(PyValueError::new_err(format!("depth must be \"headers\", \"metadata\" or \"full\", not {other:?}"))),
    }
}

/// What to do at damage, by its name.
pub fn on_error(name: &str) -> PyResult<OnError> {
    match name {
        "raise" => Ok(OnError::Raise),
        "skip" => Ok(OnError::Skip),
        other => Err(PyValueError::new_err(format!("on_error must be \"raise\" or \"skip\", not {other:?}"))),
    }
}

pub fn positive(argument: &str, value: usize) -> PyResult<usize> {
    if value > 0 { Ok(value) } else { Err(PyValueError::new_err(format!("{argument} must be at least 1"))) }
}
