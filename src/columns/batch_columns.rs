//! Batch headers as Arrow columns, under the names of `kafka-dump-log`.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, Int64Array, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::bitmap::Bits;
use super::perbatch::texts;
use super::pooled_vec::PooledVec;
use crate::codec::Plugins;
use crate::model::{BatchHeader, CompressionType, TimestampType};

/// The rows under construction. Headers wait in a short list and are spread over the columns in turn, so that neither the list nor more
/// than one column at a time has to stay in the cache next to the headers that are still to be read.
///
/// Storage of numbers is pooled: fresh memory would cost more than reading the headers does.
pub struct BatchColumns {
    plugins: Plugins,
    waiting: Vec<Waiting>,
    /// Rows in the columns.
    spread: usize,
    int64: [PooledVec<i64>; 8],
    int32: [PooledVec<i32>; 4],
    int16: [PooledVec<i16>; 2],
    magic: PooledVec<i8>,
    /// As many rows as the last delete horizon needs: hardly a segment has one.
    delete_horizon_ms: Vec<i64>,
    bits: [Bits; 7],
    compression: Vec<(usize, CompressionType)>,
    timestamp_type: Vec<(usize, TimestampType)>,
}

/// A header, and whether its checksum is right; `None` when that was not looked at.
type Waiting = (BatchHeader, Option<bool>);

/// Headers that wait: a word of bits.
const WAITING: usize = Bits::WORD;

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
        Self {
            plugins: plugins.clone(),
            waiting: Vec::new(),
            spread: 0,
            int64: std::array::from_fn(|_| PooledVec::new()),
            int32: std::array::from_fn(|_| PooledVec::new()),
            int16: std::array::from_fn(|_| PooledVec::new()),
            magic: PooledVec::new(),
            delete_horizon_ms: Vec::new(),
            bits: <[Bits; 7]>::default(),
            compression: Vec::new(),
            timestamp_type: Vec::new(),
        }
    }

    /// Rows written.
    pub fn rows(&self) -> usize {
        self.spread + self.waiting.len()
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
        let rows = std::mem::take(&mut self.spread);
        let [has_base_offset, has_count, is_checked, is_valid, is_transactional, is_control, has_horizon] =
            self.bits.each_mut().map(|bits| bits.finish(rows));
        let known = |bits| Some(NullBuffer::new(bits)).filter(|nulls| nulls.null_count() > 0);
        let [position, size, base_offset, last_offset, base_timestamp, max_timestamp, crc, producer_id] = &mut self.int64;
        let [count, base_sequence, last_sequence, leader_epoch] = &mut self.int32;
        let [attributes, producer_epoch] = &mut self.int16;
        vec![
            position.finish_array::<Int64Type>(rows, None),
            size.finish_array::<Int64Type>(rows, None),
            base_offset.finish_array::<Int64Type>(rows, known(has_base_offset)),
            last_offset.finish_array::<Int64Type>(rows, None),
            count.finish_array::<Int32Type>(rows, known(has_count)),
            self.magic.finish_array::<Int8Type>(rows, None),
            attributes.finish_array::<Int16Type>(rows, None),
            texts(self.compression.drain(..).map(|(end, compression)| (end, self.plugins.with_name(compression, str::to_owned)))),
            texts(self.timestamp_type.drain(..).map(|(end, kind)| (end, kind.name()))),
            base_timestamp.finish_array::<Int64Type>(rows, None),
            max_timestamp.finish_array::<Int64Type>(rows, None),
            crc.finish_array::<Int64Type>(rows, None),
            Arc::new(BooleanArray::new(is_valid, known(is_checked))),
            producer_id.finish_array::<Int64Type>(rows, None),
            producer_epoch.finish_array::<Int16Type>(rows, None),
            base_sequence.finish_array::<Int32Type>(rows, None),
            last_sequence.finish_array::<Int32Type>(rows, None),
            leader_epoch.finish_array::<Int32Type>(rows, None),
            Arc::new(BooleanArray::new(is_transactional, None)),
            Arc::new(BooleanArray::new(is_control, None)),
            delete_horizons(std::mem::take(&mut self.delete_horizon_ms), rows, known(has_horizon)),
        ]
    }

    fn spread(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.spread_numbers(&waiting);
        self.spread_bits(&waiting);
        for (header, _) in &waiting {
            self.spread += 1;
            extend_run(&mut self.compression, self.spread, header.compression());
            extend_run(&mut self.timestamp_type, self.spread, header.timestamp_type());
        }
        self.waiting = waiting;
        self.waiting.clear();
    }

    fn spread_numbers(&mut self, waiting: &[Waiting]) {
        let row = self.spread;
        let headers = || waiting.iter().map(|(header, _)| header);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let [position, size, base_offset, last_offset, base_timestamp, max_timestamp, crc, producer_id] = &mut self.int64;
        position.write(row, headers().map(|header| signed(header.position)));
        size.write(row, headers().map(|header| signed(header.size)));
        base_offset.write(row, headers().map(|header| header.known_base_offset().unwrap_or(0)));
        last_offset.write(row, headers().map(|header| header.last_offset));
        base_timestamp.write(row, headers().map(|header| header.base_timestamp));
        max_timestamp.write(row, headers().map(|header| header.max_timestamp));
        crc.write(row, headers().map(|header| i64::from(header.crc)));
        producer_id.write(row, headers().map(|header| header.producer.id));
        let [count, base_sequence, last_sequence, leader_epoch] = &mut self.int32;
        count.write(row, headers().map(|header| header.count.unwrap_or(0)));
        base_sequence.write(row, headers().map(|header| header.producer.base_sequence));
        last_sequence.write(row, headers().map(BatchHeader::last_sequence));
        leader_epoch.write(row, headers().map(|header| header.partition_leader_epoch));
        let [attributes, producer_epoch] = &mut self.int16;
        attributes.write(row, headers().map(|header| header.attributes.0));
        producer_epoch.write(row, headers().map(|header| header.producer.epoch));
        self.magic.write(row, headers().map(|header| header.magic));
    }

    fn spread_bits(&mut self, waiting: &[Waiting]) {
        let headers = || waiting.iter().map(|(header, _)| header);
        let [has_base_offset, has_count, is_checked, is_valid, is_transactional, is_control, has_horizon] = &mut self.bits;
        has_base_offset.push(headers().map(|header| header.known_base_offset().is_some()));
        has_count.push(headers().map(|header| header.count.is_some()));
        is_checked.push(waiting.iter().map(|(_, is_valid)| is_valid.is_some()));
        is_valid.push(waiting.iter().map(|(_, is_valid)| *is_valid == Some(true)));
        is_transactional.push(headers().map(|header| header.is_transactional()));
        is_control.push(headers().map(|header| header.is_control()));
        if has_horizon.push(headers().map(|header| header.delete_horizon_ms().is_some())) {
            self.delete_horizon_ms.resize(self.spread, 0);
            self.delete_horizon_ms.extend(headers().map(|header| header.delete_horizon_ms().unwrap_or(0)));
        }
    }
}

/// The rows up to `end` that have no value yet have this one.
fn extend_run<T: PartialEq>(runs: &mut Vec<(usize, T)>, end: usize, value: T) {
    match runs.last_mut() {
        Some((last, same)) if *same == value => *last = end,
        _ => runs.push((end, value)),
    }
}

fn delete_horizons(mut values: Vec<i64>, rows: usize, known: Option<NullBuffer>) -> ArrayRef {
    if values.is_empty() {
        // Its values are zeros that nobody looks at, so that their memory is never touched.
        return new_null_array(&DataType::Int64, rows);
    }
    values.resize(rows, 0);
    Arc::new(Int64Array::new(values.into(), known))
}
