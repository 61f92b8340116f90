//! What `encode` and its kin are given, as the core's settings. The Python layer fills in every key; defaults and docs stand there.

use pyo3::prelude::*;

use crate::codec::{ChecksumForm, Compression, Plugins};
use crate::encode::{BatchSettings, RecordWriter};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Producer, RecordFormat, TimestampType};
use crate::py::errors;
use crate::py::options::{option, positive};
use crate::py::plugins;
use crate::py::writer_pool;

/// `logsegment._options.EncodeOptions`; defaults and docs are there.
pub struct EncodeOptions {
    format: String,
    compression: String,
    level: Option<i32>,
    base_offset: i64,
    batch_bytes: usize,
    timestamp_type: String,
    log_append_time: Option<i64>,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    transactional: bool,
    partition_leader_epoch: i32,
    metadata_first: bool,
    lz4_header_checksum: Option<String>,
    /// For one value of an Arrow column.
    pub on_error: String,
    /// Codecs that are not built in.
    pub plugins: Plugins,
}

impl<'py> FromPyObject<'_, 'py> for EncodeOptions {
    type Error = PyErr;

    fn extract(options: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            format: option!(options, "format"),
            compression: option!(options, "compression"),
            level: option!(options, "level"),
            base_offset: option!(options, "base_offset"),
            batch_bytes: option!(options, "batch_bytes"),
            timestamp_type: option!(options, "timestamp_type"),
            log_append_time: option!(options, "log_append_time"),
            producer_id: option!(options, "producer_id"),
            producer_epoch: option!(options, "producer_epoch"),
            base_sequence: option!(options, "base_sequence"),
            transactional: option!(options, "transactional"),
            partition_leader_epoch: option!(options, "partition_leader_epoch"),
            metadata_first: option!(options, "metadata_first"),
            lz4_header_checksum: option!(options, "lz4_header_checksum"),
            plugins: plugins::of_registry(option!(options, "codecs"))?,
            on_error: option!(options, "on_error"),
        })
    }
}

impl EncodeOptions {
    /// A writer with these options.
    pub fn to_writer(&self, py: Python<'_>) -> PyResult<RecordWriter> {
        let batch_bytes = self.batch_bytes()?;
        let settings = self.to_settings().map_err(|error| errors::to_py(py, &error))?;
        let mut writer = writer_pool::take(settings, batch_bytes, self.base_offset).map_err(|error| errors::to_py(py, &error))?;
        writer.set_plugins(self.plugins.clone());
        Ok(writer)
    }

    /// The settings, and the same without compression.
    pub fn to_both_settings(&self, py: Python<'_>) -> PyResult<(BatchSettings, BatchSettings)> {
        let settings = self.to_settings().and_then(|settings| settings.ensure_legal().map(|()| settings));
        let settings = settings.map_err(|error| errors::to_py(py, &error))?;
        Ok((settings, BatchSettings { compression: None, ..settings }))
    }

    /// Bytes at which a batch ends.
    pub fn batch_bytes(&self) -> PyResult<usize> {
        positive("batch_bytes", self.batch_bytes)
    }

    fn to_settings(&self) -> Result<BatchSettings> {
        let format = RecordFormat::named(&self.format)
            .ok_or_else(|| problem("format", format!("must be \"0.7\", \"v0\", \"v1\", \"v2\" or \"v3\", not {:?}", self.format)))?;
        let timestamp_type = TimestampType::named(&self.timestamp_type).ok_or_else(|| {
            problem("timestamp_type", format!("must be \"CreateTime\" or \"LogAppendTime\", not {:?}", self.timestamp_type))
        })?;
        if self.base_offset < 0 {
            return Err(problem("base_offset", format!("must not be negative, as {} is", self.base_offset)));
        }
        if self.log_append_time.is_some() && timestamp_type == TimestampType::CreateTime {
            return Err(problem("log_append_time", "needs timestamp_type=\"LogAppendTime\"".to_owned()));
        }
        let settings = BatchSettings::new(format, Compression::new(self.plugins.named(&self.compression)?, self.level)?);
        Ok(BatchSettings {
            compression: self.with_lz4_header_checksum(settings.compression)?,
            timestamp_type,
            log_append_time: self.log_append_time,
            producer: Producer { id: self.producer_id, epoch: self.producer_epoch, base_sequence: self.base_sequence },
            is_transactional: self.transactional,
            partition_leader_epoch: self.partition_leader_epoch,
            is_metadata_first: self.metadata_first,
            ..settings
        })
    }

    fn with_lz4_header_checksum(&self, compression: Option<Compression>) -> Result<Option<Compression>> {
        let form = match self.lz4_header_checksum.as_deref() {
            None => return Ok(compression),
            Some("correct") => ChecksumForm::Correct,
            Some("broken") => ChecksumForm::Broken,
            Some(other) => return Err(problem("lz4_header_checksum", format!("must be \"correct\" or \"broken\", not {other:?}"))),
        };
        Ok(compression.map(|compression| compression.with_lz4_header_checksum(form)))
    }
}

fn problem(argument: &'static str, problem: String) -> Error {
    ErrorKind::Usage { argument, problem }.into()
}
