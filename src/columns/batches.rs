//! One row per entry: header fields only, under the names of `kafka-dump-log`. Nothing is decompressed.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::stream::{BatchSource, RUN_LEN, StreamOptions, runs_of, step_over, tail_finding};
use crate::codec::Plugins;
use crate::decode::{DecodeOptions, Decoder, Stats, checksummed, parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Piece, Run, Runs, Source, Step, step};
use crate::model::BatchHeader;
use crate::validate::{Finding, Findings};
use crate::wire::as_u64;

/// The rows under construction. Headers wait in a short list and are spread over the columns in turn, so that neither the list nor more
/// than one column at a time has to stay in the cache beside the headers that are still to be read.
#[derive(Default)]
pub struct BatchColumns {
    plugins: Plugins,
    waiting: Vec<(BatchHeader, Option<bool>)>,
    int64: [Vec<i64>; 7],
    base_offset: Vec<Option<i64>>,
    int32: [Vec<i32>; 3],
    int16: [Vec<i16>; 2],
    magic: Vec<i8>,
    count: Vec<Option<i32>>,
    delete_horizon_ms: Vec<Option<i64>>,
    is_valid: Vec<Option<bool>>,
    is_transactional: Vec<bool>,
    is_control: Vec<bool>,
    compression: Text,
    timestamp_type: Text,
}

/// A column of short texts.
#[derive(Default)]
struct Text {
    data: Vec<u8>,
    ends: Vec<i32>,
}

/// Headers that wait.
const WAITING: usize = 64;

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
    /// No rows yet; these plugins are called by their aliases.
    pub fn new(plugins: &Plugins) -> Self {
        Self { plugins: plugins.clone(), ..Self::default() }
    }

    /// Rows written.
    pub fn rows(&self) -> usize {
        self.magic.len() + self.waiting.len()
    }

    /// Writes one row. `is_valid` is `None` when checksums are not compared.
    #[inline]
    pub fn push(&mut self, header: &BatchHeader, is_valid: Option<bool>) {
        self.waiting.push((*header, is_valid));
        if self.waiting.len() >= WAITING {
            self.spread();
        }
    }

    /// Gives the rows away as arrays, in the order of `batch_fields`.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        self.spread();
        let empty = Self::new(&self.plugins);
        let own = std::mem::replace(self, empty);
        let [position, size, last_offset, base_timestamp, max_timestamp, crc, producer_id] = own.int64.map(int64);
        let [base_sequence, last_sequence, leader_epoch] = own.int32.map(|values| -> ArrayRef { Arc::new(Int32Array::from(values)) });
        let [attributes, producer_epoch] = own.int16.map(|values| -> ArrayRef { Arc::new(Int16Array::from(values)) });
        vec![
            position,
            size,
            Arc::new(Int64Array::from(own.base_offset)),
            last_offset,
            Arc::new(Int32Array::from(own.count)),
            Arc::new(Int8Array::from(own.magic)),
            attributes,
            own.compression.finish(),
            own.timestamp_type.finish(),
            base_timestamp,
            max_timestamp,
            crc,
            Arc::new(BooleanArray::from(own.is_valid)),
            producer_id,
            producer_epoch,
            base_sequence,
            last_sequence,
            leader_epoch,
            Arc::new(BooleanArray::from(own.is_transactional)),
            Arc::new(BooleanArray::from(own.is_control)),
            Arc::new(Int64Array::from(own.delete_horizon_ms)),
        ]
    }

    fn spread(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let headers = || waiting.iter().map(|(header, _)| header);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let [position, size, last_offset, base_timestamp, max_timestamp, crc, producer_id] = &mut self.int64;
        position.extend(headers().map(|header| signed(header.position)));
        size.extend(headers().map(|header| signed(header.size)));
        self.base_offset.extend(headers().map(BatchHeader::known_base_offset));
        last_offset.extend(headers().map(|header| header.last_offset));
        base_timestamp.extend(headers().map(|header| header.base_timestamp));
        max_timestamp.extend(headers().map(|header| header.max_timestamp));
        crc.extend(headers().map(|header| i64::from(header.crc)));
        producer_id.extend(headers().map(|header| header.producer.id));
        let [base_sequence, last_sequence, leader_epoch] = &mut self.int32;
        base_sequence.extend(headers().map(|header| header.producer.base_sequence));
        last_sequence.extend(headers().map(BatchHeader::last_sequence));
        leader_epoch.extend(headers().map(|header| header.partition_leader_epoch));
        let [attributes, producer_epoch] = &mut self.int16;
        attributes.extend(headers().map(|header| header.attributes.0));
        producer_epoch.extend(headers().map(|header| header.producer.epoch));
        self.magic.extend(headers().map(|header| header.magic));
        self.count.extend(headers().map(|header| header.count));
        self.delete_horizon_ms.extend(headers().map(BatchHeader::delete_horizon_ms));
        self.is_valid.extend(waiting.iter().map(|(_, is_valid)| *is_valid));
        self.is_transactional.extend(headers().map(|header| header.is_transactional()));
        self.is_control.extend(headers().map(|header| header.is_control()));
        headers().for_each(|header| self.plugins.tell_name(header.compression(), |name| self.compression.push(name)));
        headers().for_each(|header| self.timestamp_type.push(header.timestamp_type().name()));
        self.waiting = waiting;
        self.waiting.clear();
    }
}

impl Text {
    fn push(&mut self, text: &str) {
        self.data.extend_from_slice(text.as_bytes());
        self.ends.push(i32::try_from(self.data.len()).unwrap_or(i32::MAX));
    }

    fn finish(self) -> ArrayRef {
        let ends: Vec<_> = std::iter::once(0).chain(self.ends).collect();
        Arc::new(StringArray::new(OffsetBuffer::new(ends.into()), self.data.into(), None))
    }
}

fn int64(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

/// A stream of batch rows.
pub struct BatchRows {
    runs: Runs,
    options: StreamOptions,
    columns: BatchColumns,
    schema: SchemaRef,
    findings: Findings,
    stats: Stats,
    failed: Option<Error>,
    is_done: bool,
    /// Unpacks what only unpacking tells; `None` leaves it null.
    resolver: Option<Decoder>,
}

impl BatchRows {
    /// The entries of a source. Of the options, those about records mean nothing here.
    pub fn new(source: Source, options: StreamOptions) -> Self {
        // A wrong checksum is a column here, not damage, as long as the length is believed.
        Self {
            runs: runs_of(source, &options, RUN_LEN).giving_broken(),
            columns: BatchColumns::new(&options.decode.codecs.plugins),
            options,
            schema: Arc::new(Schema::new(batch_fields())),
            findings: Findings::default(),
            stats: Stats::default(),
            failed: None,
            is_done: false,
            resolver: None,
        }
    }

    /// Unpacks compressed messages before magic 2 for their base offset and count (L8-28).
    #[must_use]
    pub fn resolving(self) -> Self {
        // The checksum of an entry is a column; a wrong one alone does not make it unreadable.
        let decode = DecodeOptions { check_crc: false, ..self.options.decode.clone() };
        Self { resolver: Some(Decoder::new(decode)), ..self }
    }

    fn pull(&mut self) -> Result<()> {
        while self.columns.rows() < self.options.batch_size {
            self.options.interrupt.ensure_wanted()?;
            match self.runs.next_piece()? {
                Some(Piece::Run(run) | Piece::Broken(run)) => self.visit_run(&run)?,
                Some(other) => self.findings.extend(Finding::of_piece(&other)),
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
        let (formats, base, limits) = (self.options.decode.formats, self.options.decode.base_position, self.options.decode.limits);
        while let Step::Entry { len, magic } = step(rest, formats, &limits) {
            let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            let frame = Frame { position, magic, bytes };
            self.stats.entries_read += 1;
            match parse_header(frame, formats, base).and_then(|header| self.resolved(header, frame)) {
                Ok(header) => self.push(&header, bytes),
                Err(error) => step_over(self.options.on_error, &mut self.findings, error.at_byte(position), position, len)?,
            }
            rest = after;
            position += as_u64(len);
        }
        Ok(())
    }

    /// The header with what unpacking the entry tells, when that is asked for.
    fn resolved(&mut self, header: BatchHeader, frame: Frame<'_>) -> Result<BatchHeader> {
        let Some(resolver) = self.resolver.as_mut().filter(|_| header.count.is_none()) else { return Ok(header) };
        let opened = resolver.open(frame)?;
        self.stats.entries_unpacked = resolver.stats.entries_unpacked;
        self.stats.bytes_inflated = resolver.stats.bytes_inflated;
        Ok(opened.map_or(header, |opened| opened.header))
    }

    fn push(&mut self, header: &BatchHeader, bytes: &[u8]) {
        let is_valid = self.options.decode.check_crc.then(|| {
            self.stats.bytes_checksummed += checksummed(header);
            verify(bytes, header).is_ok()
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

    fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    fn stats(&self) -> Stats {
        Stats { bytes_read: self.runs.bytes_read(), ..self.stats }
    }
}
