//! One row per entry: header fields only, under the names of `kafka-dump-log`. Nothing is decompressed.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::stream::{BatchSource, RUN_LEN, StreamOptions, runs_of, step_over, tail_finding};
use crate::decode::{Stats, parse_header};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::parse;
use crate::framing::{Frame, Piece, Run, Runs, Source, Step, step};
use crate::model::BatchHeader;
use crate::validate::Finding;

/// The rows under construction: headers as they come, columns when the rows are closed.
#[derive(Default)]
pub struct BatchColumns {
    headers: Vec<BatchHeader>,
    is_valid: Vec<Option<bool>>,
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
        self.headers.len()
    }

    /// Writes one row. `is_valid` is `None` when checksums are not compared.
    #[inline]
    pub fn push(&mut self, header: &BatchHeader, is_valid: Option<bool>) {
        self.headers.push(*header);
        self.is_valid.push(is_valid);
    }

    /// Gives the rows away as arrays, in the order of `batch_fields`.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        let own = std::mem::take(self);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        vec![
            own.int64(|header| signed(header.position)),
            own.int64(|header| signed(header.size)),
            own.int64(|header| header.base_offset),
            own.int64(|header| header.last_offset),
            own.nullable::<Int32Type>(|header| header.count),
            own.numbers::<Int8Type>(|header| header.format.magic()),
            own.numbers::<Int16Type>(|header| header.attributes.0),
            own.text(|header| header.compression().name()),
            own.text(|header| header.timestamp_type().name()),
            own.int64(|header| header.base_timestamp),
            own.int64(|header| header.max_timestamp),
            own.int64(|header| i64::from(header.crc)),
            Arc::new(BooleanArray::from(own.is_valid.clone())),
            own.int64(|header| header.producer.id),
            own.numbers::<Int16Type>(|header| header.producer.epoch),
            own.numbers::<Int32Type>(|header| header.producer.base_sequence),
            own.numbers::<Int32Type>(BatchHeader::last_sequence),
            own.numbers::<Int32Type>(|header| header.partition_leader_epoch),
            own.boolean(|header| header.attributes.is_transactional()),
            own.boolean(|header| header.attributes.is_control()),
            own.nullable::<Int64Type>(BatchHeader::delete_horizon_ms),
        ]
    }

    fn numbers<T: ArrowPrimitiveType>(&self, value: impl Fn(&BatchHeader) -> T::Native) -> ArrayRef {
        let values: Vec<_> = self.headers.iter().map(value).collect();
        Arc::new(PrimitiveArray::<T>::new(values.into(), None))
    }

    fn int64(&self, value: impl Fn(&BatchHeader) -> i64) -> ArrayRef {
        self.numbers::<Int64Type>(value)
    }

    fn nullable<T: ArrowPrimitiveType>(&self, value: impl Fn(&BatchHeader) -> Option<T::Native>) -> ArrayRef {
        if self.headers.iter().all(|header| value(header).is_none()) {
            return Arc::new(PrimitiveArray::<T>::new_null(self.rows()));
        }
        let nulls: NullBuffer = self.headers.iter().map(|header| value(header).is_some()).collect();
        let values: Vec<_> = self.headers.iter().map(|header| value(header).unwrap_or_default()).collect();
        Arc::new(PrimitiveArray::<T>::new(values.into(), Some(nulls).filter(|nulls| nulls.null_count() > 0)))
    }

    fn boolean(&self, value: impl Fn(&BatchHeader) -> bool) -> ArrayRef {
        let bits: BooleanBuffer = self.headers.iter().map(value).collect();
        Arc::new(BooleanArray::new(bits, None))
    }

    fn text(&self, value: impl Fn(&BatchHeader) -> &'static str) -> ArrayRef {
        let mut data = Vec::with_capacity(self.rows() * 10);
        let mut ends = Vec::with_capacity(self.rows() + 1);
        ends.push(0_i32);
        for header in &self.headers {
            data.extend_from_slice(value(header).as_bytes());
            ends.push(i32::try_from(data.len()).unwrap_or(i32::MAX));
        }
        Arc::new(StringArray::new(OffsetBuffer::new(ends.into()), data.into(), None))
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
            runs: runs_of(source, &framing, RUN_LEN),
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
                Some(Piece::Swallowed(bytes)) => self.findings.push(Finding::of_swallowed(bytes)),
                None => {
                    self.is_done = true;
                    return tail_finding(self.runs.tail(), &self.options, &mut self.findings);
                }
            }
        }
        Ok(())
    }

    fn visit_run(&mut self, run: &Run) -> Result<()> {
        let mut rest = run.entries_from(0);
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
