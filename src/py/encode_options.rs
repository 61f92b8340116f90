//! What `encode` and its kin are given, as the core's settings. The Python layer fills in every key; defaults and docs stand there.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::codec::{Compression, Plugins};
use crate::encode::{BatchSettings, RecordWriter};
use crate::model::{Producer, TimestampType};
use crate::py::errors;
use crate::py::option_values::{checksum_form, option, options, positive, record_format, timestamp_type};
use crate::py::plugins;
use crate::py::writer_pool;

options! {
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
        pub plugins: Plugins = |options| plugins::of_clients(option!(options, "codecs"))?,
    }
}

impl EncodeOptions {
    /// A writer with these options.
    pub fn to_writer(&self, py: Python<'_>) -> PyResult<RecordWriter> {
        let batch_bytes = self.batch_bytes()?;
        let settings = self.to_settings(py)?;
        let mut writer = writer_pool::take(settings, batch_bytes, self.base_offset).map_err(|error| errors::to_py(py, &error))?;
        writer.set_plugins(self.plugins.clone());
        Ok(writer)
    }

    /// The settings, and the same without compression.
    pub fn to_both_settings(&self, py: Python<'_>) -> PyResult<(BatchSettings, BatchSettings)> {
        let settings = self.to_settings(py)?;
        settings.ensure_legal().map_err(|error| errors::to_py(py, &error))?;
        Ok((settings, BatchSettings { compression: None, ..settings }))
    }

    /// Bytes at which a batch ends.
    pub fn batch_bytes(&self) -> PyResult<usize> {
        positive("batch_bytes", self.batch_bytes)
    }

    fn to_settings(&self, py: Python<'_>) -> PyResult<BatchSettings> {
        let format = record_format("format", &self.format)?;
        let timestamp_type = timestamp_type(&self.timestamp_type)?;
        if self.base_offset < 0 {
            return Err(PyValueError::new_err(format!("base_offset must not be negative: {}", self.base_offset)));
        }
        if self.log_append_time.is_some() && timestamp_type == TimestampType::CreateTime {
            return Err(PyValueError::new_err("log_append_time needs timestamp_type=\"LogAppendTime\""));
        }
        let compression = self.plugins.named(&self.compression).and_then(|kind| Compression::new(kind, self.level));
        let settings = BatchSettings::new(format, compression.map_err(|error| errors::to_py(py, &error))?);
        let form = self.lz4_header_checksum.as_deref().map(|name| checksum_form("lz4_header_checksum", name)).transpose()?;
        let with_checksum = |compression: Compression| form.map_or(compression, |form| compression.with_lz4_header_checksum(form));
        Ok(BatchSettings {
            compression: settings.compression.map(with_checksum),
            timestamp_type,
            log_append_time: self.log_append_time,
            producer: Producer { id: self.producer_id, epoch: self.producer_epoch, base_sequence: self.base_sequence },
            is_transactional: self.transactional,
            partition_leader_epoch: self.partition_leader_epoch,
            is_metadata_first: self.metadata_first,
            ..settings
        })
    }
}
