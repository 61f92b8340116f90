//! One row per entry: header fields only, under the names of `kafka-dump-log`. Nothing is decompressed.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::stream::{BatchSource, StreamOptions, runs_of, step_over, tail_finding};
use crate::decode::{Stats, parse_header};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::parse;
use crate::framing::{Frame, Piece, Run, Runs, Source, Step, step};
use crate::model::BatchHeader;
use crate::validate::Finding;

/// The batch columns under construction.
#[derive(Default)]
pub struct BatchColumns {
    position: Vec<i64>,
    size: Vec<i64>,
    base_offset: Vec<i64>,
    last_offset: Vec<i64>,
    count: Vec<Option<i32>>,
    magic: Vec<i8>,
    attributes: Vec<i16>,
    compression: StringBuilder,
    timestamp_type: StringBuilder,
    base_timestamp: Vec<i64>,
    max_timestamp: Vec<i64>,
    crc: Vec<i64>,
    is_valid: Vec<Option<bool>>,
    producer_id: Vec<i64>,
    producer_epoch: Vec<i16>,
    base_sequence: Vec<i32>,
    last_sequence: Vec<i32>,
    partition_leader_epoch: Vec<i32>,
    is_transactional: BooleanBuilder,
    is_control: BooleanBuilder,
    delete_horizon_ms: Vec<Option<i64>>,
}

/// Names and types, in order.
pub fn batch_fields() -> Fields {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Fields::from(vec![
        field("position", DataType::Int64),
        field("size", DataType::Int64),
        field("baseOffset", DataType::Int64),
        field("lastOffset", DataType::Int64),
        field("count", DataType::Int32),
        field("magic", DataType::Int8),
        field("attributes", DataType::Int16),
        field("compression", DataType::Utf8),
        field("timestampType", DataType::Utf8),
        field("baseTimestamp", DataType::Int64),
        field("maxTimestamp", DataType::Int64),
        field("crc", DataType::Int64),
        field("isValid", DataType::Boolean),
        field("producerId", DataType::Int64),
        field("producerEpoch", DataType::Int16),
        field("baseSequence", DataType::Int32),
        field("lastSequence", DataType::Int32),
        field("partitionLeaderEpoch", DataType::Int32),
        field("isTransactional", DataType::Boolean),
        field("isControl", DataType::Boolean),
        field("deleteHorizonMs", DataType::Int64),
    ])
}

impl BatchColumns {
    /// Rows written.
    pub fn rows(&self) -> usize {
        self.position.len()
    }

    /// Writes one row. `is_valid` is `None` when checksums are not compared.
    pub fn push(&mut self, header: &BatchHeader, is_valid: Option<bool>) {
        self.position.push(i64::try_from(header.position).unwrap_or(i64::MAX));
        self.size.push(i64::try_from(header.size).unwrap_or(i64::MAX));
        self.base_offset.push(header.base_offset);
        self.last_offset.push(header.last_offset);
        self.count.push(header.count);
        self.magic.push(header.format.magic());
        self.attributes.push(header.attributes.0);
        self.compression.append_value(header.compression().name());
        self.timestamp_type.append_value(header.timestamp_type().name());
        self.base_timestamp.push(header.base_timestamp);
        self.max_timestamp.push(header.max_timestamp);
        self.crc.push(i64::from(header.crc));
        self.is_valid.push(is_valid);
        self.producer_id.push(header.producer.id);
        self.producer_epoch.push(header.producer.epoch);
        self.base_sequence.push(header.producer.base_sequence);
        self.last_sequence.push(header.last_sequence());
        self.partition_leader_epoch.push(header.partition_leader_epoch);
        self.is_transactional.append_value(header.attributes.is_transactional());
        self.is_control.append_value(header.attributes.is_control());
        self.delete_horizon_ms.push(header.delete_horizon_ms());
    }

    /// Gives the rows away as arrays, in the order of `batch_fields`.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        let mut own = std::mem::take(self);
        vec![
            Arc::new(Int64Array::from(own.position)),
            Arc::new(Int64Array::from(own.size)),
            Arc::new(Int64Array::from(own.base_offset)),
            Arc::new(Int64Array::from(own.last_offset)),
            Arc::new(Int32Array::from(own.count)),
            Arc::new(Int8Array::from(own.magic)),
            Arc::new(Int16Array::from(own.attributes)),
            Arc::new(own.compression.finish()),
            Arc::new(own.timestamp_type.finish()),
            Arc::new(Int64Array::from(own.base_timestamp)),
            Arc::new(Int64Array::from(own.max_timestamp)),
            Arc::new(Int64Array::from(own.crc)),
            Arc::new(BooleanArray::from(own.is_valid)),
            Arc::new(Int64Array::from(own.producer_id)),
            Arc::new(Int16Array::from(own.producer_epoch)),
            Arc::new(Int32Array::from(own.base_sequence)),
            Arc::new(Int32Array::from(own.last_sequence)),
            Arc::new(Int32Array::from(own.partition_leader_epoch)),
            Arc::new(own.is_transactional.finish()),
            Arc::new(own.is_control.finish()),
            Arc::new(Int64Array::from(own.delete_horizon_ms)),
        ]
    }
}

/// A stream of batch rows.
pub struct BatchRows {
    runs: Runs,
    options: StreamOptions,
    columns: BatchColumns,
    schema: SchemaRef,
    findings: Vec<Finding>,
    stats: Stats,
    failed: Option<Error>,
    is_done: bool,
}

impl BatchRows {
    /// The entries of a source. Of the options, those about records mean nothing here.
    pub fn new(source: Source, options: StreamOptions) -> Self {
        // A wrong checksum is a column here, not damage; recovering steps over what cannot be framed.
        let mut framing = options.clone();
        framing.decode.check_crc = false;
        Self {
            runs: runs_of(source, &framing),
            options,
            columns: BatchColumns::default(),
            schema: Arc::new(Schema::new(batch_fields())),
            findings: Vec::new(),
            stats: Stats::default(),
            failed: None,
            is_done: false,
        }
    }

    fn pull(&mut self) -> Result<()> {
        while self.columns.rows() < self.options.batch_size {
            self.options.interrupt.ensure_wanted()?;
            match self.runs.next_piece()? {
                Some(Piece::Run(run)) => self.visit_run(&run)?,
                Some(Piece::Damage(damage)) => self.findings.push(Finding::of_damage(&damage)),
                None => {
                    self.is_done = true;
                    return tail_finding(self.runs.tail(), &self.options, &mut self.findings);
                }
            }
        }
        Ok(())
    }

    fn visit_run(&mut self, run: &Run) -> Result<()> {
        let mut rest: &[u8] = &run.bytes;
        let mut position = run.position;
        while let Step::Entry { len, magic } = step(rest, &self.options.decode.limits) {
            let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            let frame = Frame { position, magic, bytes };
            self.stats.entries_read += 1;
            match parse_header(frame) {
                Ok(header) => self.push(&header, bytes),
                Err(error) => step_over(self.options.on_error, &mut self.findings, error.at_byte(position), position, len)?,
            }
            rest = after;
            position += u64::try_from(len).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    fn push(&mut self, header: &BatchHeader, bytes: &[u8]) {
        let is_valid = self.options.decode.check_crc.then(|| {
            self.stats.bytes_checksummed += header.size;
            parse::verify(bytes, header.crc).is_ok()
        });
        self.columns.push(header, is_valid);
    }
}

impl BatchSource for BatchRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.is_done
            && let Err(error) = self.pull()
        {
            self.is_done = true;
            self.failed = Some(error);
        }
        if self.columns.rows() > 0 {
            let batch = RecordBatch::try_new(self.schema(), self.columns.finish());
            return batch.map(Some).map_err(|error| ErrorKind::Internal { what: error.to_string() }.into());
        }
        self.failed.take().map_or(Ok(None), Err)
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn stats(&self) -> Stats {
        Stats { bytes_read: self.runs.bytes_read(), ..self.stats }
    }
}

