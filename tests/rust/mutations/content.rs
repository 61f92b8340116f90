//! What comes out of bytes, as a number for each entry: everything of its records that a checksum covers, and nothing else.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;
use logsegment::columns::{BinaryKind, OnError, Projection, StreamOptions, stream};
use logsegment::decode::{DecodeOptions, Unreadable};
use logsegment::error::Error;
use logsegment::framing::Source;
use logsegment::interrupt::Interrupt;
use logsegment::limits::Limits;
use logsegment::model::{Formats, RecordFormat};

pub const RAISING: OnError = OnError::Raise;
pub const SKIPPING: OnError = OnError::Skip;

/// The entry of a row, and the offset that its own counts from: none of them is covered.
const PLACE: [&str; 3] = ["entryPosition", "batchBaseOffset", "offset"];
/// What a checksum covers from magic 0 on; of Kafka 0.7 it is the payload.
const COVERED: [&str; 11] = [
    "key",
    "value",
    "timestampMs",
    "timestampType",
    "headersRaw",
    "attributes",
    "producerId",
    "producerEpoch",
    "sequence",
    "controlType",
    "compression",
];

/// The entries that were given, and what ended it.
pub struct Read {
    pub entries: Vec<u64>,
    /// Where they stand.
    pub positions: Vec<i64>,
    /// Key and value of each record of messages, and how many of an entry.
    pub messages: Vec<Vec<u64>>,
    pub error: Option<Error>,
}

/// Decodes all there is.
pub fn read(bytes: &Bytes, formats: Formats, on_error: OnError) -> Read {
    let is_v07 = formats == Formats::Only(RecordFormat::V07);
    let mut stream = stream::open(Source::memory(bytes.clone()), options(formats, on_error));
    let mut found = Entries { is_v07, entries: Vec::new(), positions: Vec::new(), messages: Vec::new(), open: None };
    loop {
        match stream.next_batch() {
            Ok(Some(batch)) => found.add(&batch),
            Ok(None) => return found.finish(None),
            Err(error) => return found.finish(Some(error)),
        }
    }
}

/// The content of an entry of 0.7 whose only record has this value.
pub fn of_payload(payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    Some(payload).hash(&mut hasher);
    hasher.finish()
}

pub fn decode_options(formats: Formats) -> DecodeOptions {
    DecodeOptions { formats, is_control_wanted: true, limits: Limits::default(), ..DecodeOptions::default() }
}

fn options(formats: Formats, on_error: OnError) -> StreamOptions {
    let names: Vec<String> = if formats == Formats::Only(RecordFormat::V07) {
        [PLACE[0], "value"].map(str::to_owned).to_vec()
    } else {
        PLACE.iter().chain(&COVERED).map(|name| (*name).to_owned()).collect()
    };
    // A mutation may name a plugin codec under a right checksum: what skips, skips such a batch too.
    let unreadable = if on_error == OnError::Skip { Unreadable::Skip } else { Unreadable::Raise };
    StreamOptions {
        decode: DecodeOptions { unreadable, ..decode_options(formats) },
        projection: Projection::named(Some(&names), BinaryKind::Binary).unwrap(),
        topic: None,
        partition: None,
        on_error,
        is_tail_strict: false,
        batch_size: 1 << 16,
        batch_bytes: 64 << 20,
        keys: None,
        threads: 1,
        interrupt: Interrupt::default(),
    }
}

struct Entries {
    is_v07: bool,
    entries: Vec<u64>,
    positions: Vec<i64>,
    messages: Vec<Vec<u64>>,
    open: Option<(i64, DefaultHasher)>,
}

impl Entries {
    fn add(&mut self, batch: &RecordBatch) {
        let position = batch.column(0).as_primitive::<Int64Type>().values().clone();
        for (row, position) in position.iter().enumerate() {
            if self.open.as_ref().is_none_or(|(open, _)| open != position) {
                self.close();
                self.open = Some((*position, DefaultHasher::new()));
                self.messages.push(Vec::new());
            }
            let (_, hasher) = self.open.as_mut().unwrap();
            let content = &batch.columns()[if self.is_v07 { 1 } else { PLACE.len() }..];
            if !self.is_v07 {
                let of = |column: usize| batch.column(column).as_primitive::<Int64Type>().value(row);
                of(2).wrapping_sub(of(1)).hash(hasher);
            }
            let mut message = DefaultHasher::new();
            content.iter().take(2).for_each(|column| hash_cell(column, row, &mut message));
            self.messages.last_mut().unwrap().push(message.finish());
            content.iter().for_each(|column| hash_cell(column, row, hasher));
        }
    }

    fn close(&mut self) {
        if let Some((position, hasher)) = self.open.take() {
            self.entries.push(hasher.finish());
            self.positions.push(position);
        }
    }

    fn finish(mut self, error: Option<Error>) -> Read {
        self.close();
        Read { entries: self.entries, positions: self.positions, messages: self.messages, error }
    }
}

fn hash_cell(column: &dyn Array, row: usize, hasher: &mut DefaultHasher) {
    match column.data_type() {
        DataType::Binary => column.is_valid(row).then(|| column.as_binary::<i32>().value(row)).hash(hasher),
        DataType::Utf8 => column.is_valid(row).then(|| column.as_string::<i32>().value(row)).hash(hasher),
        DataType::Int64 => column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row)).hash(hasher),
        DataType::Int32 => column.is_valid(row).then(|| column.as_primitive::<Int32Type>().value(row)).hash(hasher),
        DataType::Int16 => column.is_valid(row).then(|| column.as_primitive::<Int16Type>().value(row)).hash(hasher),
        DataType::Int8 => column.is_valid(row).then(|| column.as_primitive::<Int8Type>().value(row)).hash(hasher),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let offsets = list.value_offsets();
            let pairs = list.values().as_struct();
            (offsets[row + 1] - offsets[row]).hash(hasher);
            for at in offsets[row] as usize..offsets[row + 1] as usize {
                pairs.columns().iter().for_each(|part| hash_cell(part, at, hasher));
            }
        }
        other => unreachable!("{other}"),
    }
}
