//! What Python's verbs are given, as the core's options. The Python layer fills in every key; defaults and docs stand there.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::codec::Plugins;
use crate::codec::zstd::Dictionaries;
use crate::columns::{BinaryKind, OnError, Projection, StreamOptions};
use crate::decode::{ChecksumVerifier, Checksums, CodecOptions, DecodeOptions, OffsetRange, Unreadable, sniff};
use crate::interrupt::Interrupt;
use crate::model::timestamp::TimeRange;
use crate::model::{Formats, RecordFormat, UploadOffsets};
use crate::partition::{CommittedOptions, WantedRange};
use crate::py::limits::PyLimits;
use crate::py::option_values::{PROPOSED, choice, on_error, option, options, positive, released};
use crate::py::plugins;
use crate::py::source::OpenedSource;
use crate::py::transactions::PyTransactions;
use crate::py::value_schemas::{self, PyValueSchemas};
use crate::quirks::Quirks;
use crate::values::TypedOptions;
use crate::values::outputs::{OutputColumn, RecordPart};

options! {
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
        share: (Option<i64>, Option<i64>),
        times: (Option<i64>, Option<i64>),
        batch_size: usize,
        batch_bytes: usize,
        topic: Option<String>,
        partition: Option<i32>,
        threads: usize,
        pub resolves: bool = |options| option!(options, "resolve"),
        pub reading: Reading = |options| options.extract()?,
        limits: Option<PyLimits>,
        unreadable: String,
        null_headers: bool,
        key: Option<Vec<Vec<u8>>>,
        pub transactions: Option<PyTransactions>,
        value_schemas: Option<PyValueSchemas>,
        key_schemas: Option<PyValueSchemas>,
    }
}

options! {
    /// Options of entries, and the selection of their records.
    #[derive(Clone)]
    pub struct Reading {
        format: String,
        base_position: Option<i64>,
        quirks: Quirks = |options| quirks(option!(options, "quirks"))?,
        zstd_dictionaries: Dictionaries = |options| dictionaries(option!(options, "zstd_dictionaries"))?,
        /// The offsets of an upload that the source is a copy of.
        upload: Option<UploadOffsets> = |options| {
            let upload: Option<(i64, Option<i64>)> = option!(options, "upload");
            upload.map(|(start, end)| UploadOffsets { start, end })
        },
        /// Codecs that are not built in.
        pub plugins: Plugins = |options| plugins::of_clients(option!(options, "codecs"))?,
    }
}

fn quirks(names: Vec<String>) -> PyResult<Quirks> {
    Quirks::named(&names).map_err(|name| PyValueError::new_err(format!("quirks: unknown name {name:?}")))
}

fn dictionaries(given: Option<Vec<Vec<u8>>>) -> PyResult<Dictionaries> {
    Dictionaries::new(given.unwrap_or_default()).map_err(|error| PyValueError::new_err(error.message()))
}

impl Reading {
    /// The formats by their name. What to sniff is left for `resolve`, which sees the bytes.
    fn formats(&self) -> PyResult<Formats> {
        let any = [("auto", Formats::Auto), ("sniff", Formats::Auto)];
        let only = released().map(|format| (format.name(), Formats::Only(format)));
        choice("format", &self.format, any.into_iter().chain(only).chain([(PROPOSED, Formats::Every)]))
    }

    /// Where each value of a column is to be sniffed: what it may be when it is not of Kafka 0.7.
    fn sniffed_values(&self) -> PyResult<Option<Formats>> {
        (self.format == "sniff").then(|| self.formats()).transpose()
    }

    /// True if each entry is of its own format.
    fn is_any(&self) -> bool {
        self.format == "auto" || self.format == PROPOSED
    }

    fn codecs(&self) -> CodecOptions {
        CodecOptions { quirks: self.quirks, zstd_dictionaries: self.zstd_dictionaries.clone(), plugins: self.plugins.clone() }
    }

    fn to_decode(&self, check_crc: bool, limits: Option<&PyLimits>) -> PyResult<DecodeOptions> {
        Ok(DecodeOptions {
            formats: self.formats()?,
            sniffed_values: self.sniffed_values()?,
            base_position: self.base_position.unwrap_or(0),
            codecs: self.codecs(),
            check_crc,
            limits: PyLimits::or_default(limits),
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
        } else if self.is_any() && opened.kafka_07.is_some() {
            decode.formats = Formats::Only(RecordFormat::V07);
        }
        decode.upload = self.upload.or(opened.source.upload());
        decode.base_position = self.base_position.or(opened.kafka_07).unwrap_or(0);
        decode.segment = opened.segment;
        Ok(())
    }
}

impl ReadOptions {
    /// The core's options. `isolation` is left for the caller, who knows the transactions.
    pub fn to_record_stream(&self, interrupt: Interrupt) -> PyResult<StreamOptions> {
        let kinds = [BinaryKind::Binary, BinaryKind::LargeBinary, BinaryKind::BinaryView];
        let binary = choice("binary", &self.binary, kinds.map(|kind| (kind.name(), kind)))?;
        let raw = self.raw_columns();
        let projection = Projection::named(raw.as_deref(), binary).map_err(|error| PyValueError::new_err(format!("columns: {error}")))?;
        let decode = DecodeOptions {
            is_control_wanted: self.control,
            offsets: OffsetRange { start: self.start_offset.unwrap_or(i64::MIN), end: self.end_offset },
            share: OffsetRange { start: self.share.0.unwrap_or(i64::MIN), end: self.share.1 },
            times: self.times(),
            ..self.to_decode()?
        };
        Ok(StreamOptions {
            decode,
            projection: Projection { has_null_headers: self.null_headers, ..projection },
            topic: self.topic.clone(),
            partition: self.partition,
            on_error: on_error(&self.on_error)?,
            is_tail_strict: self.strict_tail,
            batch_size: positive("batch_size", self.batch_size)?,
            batch_bytes: positive("batch_bytes", self.batch_bytes)?,
            keys: self.key.clone().map(Into::into),
            threads: positive("threads", self.threads)?,
            interrupt,
        })
    }

    /// How keys and values are decoded, if columns need it.
    pub fn to_typed(&self) -> PyResult<Option<TypedOptions>> {
        let names = self.columns.as_deref().unwrap_or_default();
        value_schemas::typed_options(names, self.value_schemas.as_ref(), self.key_schemas.as_ref())
    }

    /// The columns of records among those that are wanted. Without schemas there are no others.
    fn raw_columns(&self) -> Option<Vec<String>> {
        let names = self.columns.clone()?;
        let has = |part| match part {
            Some(RecordPart::Value) => self.value_schemas.is_some(),
            Some(RecordPart::Key) => self.key_schemas.is_some(),
            None => false,
        };
        Some(names.into_iter().filter(|name| !has(OutputColumn::named(name).part())).collect())
    }

    /// The first offset that the read does not want.
    pub fn last_bound(&self) -> Option<i64> {
        self.end_offset.into_iter().chain(self.share.1).min()
    }

    fn times(&self) -> Option<TimeRange> {
        let (start, end) = self.times;
        (start.is_some() || end.is_some()).then(|| TimeRange { start: start.unwrap_or(i64::MIN), end })
    }

    /// True for read_committed.
    pub fn is_committed(&self) -> PyResult<bool> {
        choice("isolation", &self.isolation, [("read_uncommitted", false), ("read_committed", true)])
    }

    /// The core's options for a stream of entries.
    pub fn to_entry_stream(&self, interrupt: Interrupt) -> PyResult<StreamOptions> {
        Ok(StreamOptions {
            decode: self.to_decode()?,
            projection: Projection { columns: Vec::new(), binary: BinaryKind::default(), has_null_headers: false },
            topic: None,
            partition: None,
            on_error: on_error(&self.on_error)?,
            is_tail_strict: self.strict_tail,
            batch_size: positive("batch_size", self.batch_size)?,
            batch_bytes: usize::MAX,
            keys: None,
            threads: 1,
            interrupt,
        })
    }

    /// The core's options for a validation.
    pub fn to_decode(&self) -> PyResult<DecodeOptions> {
        let unreadable = choice("unreadable", &self.unreadable, [("raise", Unreadable::Raise), ("skip", Unreadable::Skip)])?;
        Ok(DecodeOptions { unreadable, ..self.reading.to_decode(self.check_crc, self.limits.as_ref())? })
    }

    /// True if headers have all requested columns. The walk checks every entry against a named format.
    pub fn wants_headers_only(&self) -> bool {
        !self.check_crc && !self.resolves && self.reading.is_any()
    }

    /// True if a torn tail is an error.
    pub fn is_tail_strict(&self) -> bool {
        self.strict_tail
    }

    /// True if the read goes on after damage.
    pub fn skips_damage(&self) -> PyResult<bool> {
        Ok(on_error(&self.on_error)? == OnError::Skip)
    }

    /// True if control records are wanted.
    pub fn wants_control(&self) -> bool {
        self.control
    }

    /// True if the read leaves out batches that cannot be read here.
    pub fn skips_unreadable(&self) -> bool {
        self.unreadable == "skip"
    }

    /// The checksums that a scan for transactions compares for this read.
    pub fn scan_checksums(&self) -> PyResult<Checksums> {
        Ok(Checksums::of_scan(self.check_crc && self.skips_damage()?))
    }

    /// How the transactions of this read are found.
    pub fn to_committed(&self) -> PyResult<CommittedOptions> {
        let (end, verifier) = (self.last_bound(), self.verifier(self.scan_checksums()?));
        Ok(CommittedOptions { end, verifier, skips_damage: self.skips_damage()?, skips_unreadable: self.skips_unreadable() })
    }

    /// The verifier of a walk over batches for this read, whatever the format of each batch is.
    pub fn verifier(&self, checksums: Checksums) -> ChecksumVerifier {
        let formats = if self.reading.format == PROPOSED { Formats::Every } else { Formats::Auto };
        ChecksumVerifier { formats, limits: PyLimits::or_default(self.limits.as_ref()), checksums }
    }
}

options! {
    /// Those of `ReadOptions` that decide which bytes of a partition are read.
    pub struct PartitionRead {
        on_error: String,
        format: String,
        start_offset: Option<i64>,
        end_offset: Option<i64>,
        share: (Option<i64>, Option<i64>),
        times: (Option<i64>, Option<i64>),
    }
}

impl PartitionRead {
    /// Return the offsets and times that are wanted of a partition, and how the read treats damage.
    pub fn wanted(&self) -> PyResult<WantedRange> {
        let (start_offset, end_offset, share, times) = (self.start_offset, self.end_offset, self.share, self.times);
        let skips_damage = on_error(&self.on_error)? == OnError::Skip;
        let has_positions = self.format == RecordFormat::V07.name() || self.format == "sniff";
        Ok(WantedRange { start_offset, end_offset, share, times, skips_damage, has_positions })
    }
}
