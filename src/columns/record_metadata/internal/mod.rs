//! The column `internal`: what records of internal topics and control records say.
//!
//! A struct of the type, the version of the value, and key and value as JSON text: the schemas differ from type to type, an Arrow column
//! has one type. The JSON is that of Kafka's own converters (`*JsonConverter`): the same names, tagged fields only where they say
//! something, bytes in base64.

pub(in crate::columns) mod json;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int16Array, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use self::json::{Json, MOST_BYTES};
use crate::internal_topics::{Identified, Topic, Undecoded, identify};
use crate::limits::Limits;
use crate::model::BatchHeader;
use crate::validate::{Finding, FindingKind, Severity};
use crate::wire::as_u64;

/// The column under construction.
pub struct InternalColumn {
    topic: Option<Topic>,
    rows: Vec<InternalRow>,
    keys: Texts,
    values: Texts,
    findings: Vec<(usize, Finding)>,
    /// Bytes of JSON that the records of one entry may become.
    most: usize,
    entry: Option<JsonBudget>,
}

/// What was spent on an entry: its position, the last record of it, bytes of JSON.
#[derive(Clone, Copy)]
struct JsonBudget {
    position: u64,
    index: usize,
    bytes: usize,
}

/// What a row is.
#[derive(Clone, Copy)]
struct InternalRow {
    name: Option<&'static str>,
    version: Option<i16>,
    is_internal: bool,
}

/// The JSON of keys or of values: row after row, where that of each row ends, and which rows have any.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    valid: Vec<bool>,
}

impl InternalColumn {
    /// An empty column for records of this topic. The JSON of an entry takes at most as many bytes as the entry itself may, decompressed.
    pub fn new(topic: Option<&str>, limits: &Limits) -> Self {
        let topic = topic.and_then(Topic::named);
        let most = usize::try_from(limits.max_decompressed_bytes).unwrap_or(usize::MAX);
        Self { topic, rows: Vec::new(), keys: Texts::default(), values: Texts::default(), findings: Vec::new(), most, entry: None }
    }

    /// Writes one row: the record with this index in its batch.
    pub fn put(&mut self, row: usize, header: &BatchHeader, index: usize, (key, value): (Option<&[u8]>, Option<&[u8]>)) {
        self.truncate(row);
        let identified = identify(self.topic, header.is_control(), key, value);
        let Some(record) = identified else {
            self.keys.push(false);
            self.values.push(false);
            self.rows.push(InternalRow { name: None, version: None, is_internal: false });
            return;
        };
        let mut spent = self.spent(header.position, index);
        let mut json = Json::new(&mut self.keys.bytes, self.most - spent.bytes);
        let (key_error, key_len) = (record.visit(&record.key, &mut json), json.written());
        let mut json = Json::new(&mut self.values.bytes, self.most - spent.bytes - key_len.unwrap_or(0));
        let (value_error, value_len) = (record.visit(&record.value, &mut json), json.written());
        let len = key_len.zip(value_len).map(|(key, value)| key + value);
        spent.bytes += len.unwrap_or(0);
        self.entry = Some(spent);
        let long = self.push(&record, len.is_none());
        if let Some(undecoded) = record.undecoded.or(key_error).or(value_error).or(long) {
            self.findings.push((row, finding(undecoded, header, index)));
        }
    }

    /// Forgets the rows from `row` on.
    pub fn truncate(&mut self, row: usize) {
        if row >= self.rows.len() {
            return;
        }
        self.rows.truncate(row);
        self.keys.truncate(row);
        self.values.truncate(row);
        self.findings.truncate(self.findings.partition_point(|(at, _)| *at < row));
    }

    /// Bytes of JSON.
    pub fn copied(&self) -> usize {
        self.keys.bytes.len() + self.values.bytes.len()
    }

    /// Takes the findings about the rows.
    pub fn take_findings(&mut self) -> impl Iterator<Item = Finding> {
        std::mem::take(&mut self.findings).into_iter().map(|(_, finding)| finding)
    }

    /// The rows as an Arrow array; none are left.
    pub fn finish(&mut self) -> ArrayRef {
        self.findings.clear();
        let rows = std::mem::take(&mut self.rows);
        let names: StringArray = rows.iter().map(|row| row.name).collect();
        let versions: Int16Array = rows.iter().map(|row| row.version).collect();
        let (keys, values) = (self.keys.finish(), self.values.finish());
        let nulls: NullBuffer = rows.iter().map(|row| row.is_internal).collect::<Vec<_>>().into();
        Arc::new(StructArray::new(fields(), vec![Arc::new(names), Arc::new(versions), keys, values], Some(nulls)))
    }

    /// What was spent on an entry before this record of it.
    fn spent(&self, position: u64, index: usize) -> JsonBudget {
        // Values of a column all begin at 0.
        let bytes = self.entry.filter(|entry| entry.position == position && entry.index < index).map_or(0, |entry| entry.bytes);
        JsonBudget { position, index, bytes }
    }

    /// Closes a row. Text that has no room is left out.
    fn push(&mut self, record: &Identified<'_>, is_long: bool) -> Option<Undecoded> {
        self.keys.push(!record.key.is_null() && !is_long);
        self.values.push(!record.value.is_null() && !is_long);
        self.rows.push(InternalRow { name: record.name, version: record.version, is_internal: true });
        is_long.then(|| Undecoded::Long { name: record.name.unwrap_or_default(), most: as_u64(self.most.min(MOST_BYTES)) })
    }
}

fn finding(undecoded: Undecoded, header: &BatchHeader, index: usize) -> Finding {
    let severity = if undecoded.is_unknown() { Severity::Info } else { Severity::Warning };
    Finding::in_batch(FindingKind::Undecoded(undecoded), severity, header).at_record(index)
}

impl Texts {
    /// Closes the text of a row; that of a row without one is left out.
    fn push(&mut self, is_some: bool) {
        if !is_some {
            self.bytes.truncate(self.end());
        }
        self.ends.push(self.bytes.len());
        self.valid.push(is_some);
    }

    fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.valid.truncate(rows);
        self.bytes.truncate(self.end());
    }

    /// The texts as an array; none are left. They are UTF-8, being JSON that this module wrote.
    fn finish(&mut self) -> ArrayRef {
        let Self { bytes, ends, valid } = std::mem::take(self);
        let rows = valid.len();
        let offsets: Option<Vec<i32>> = std::iter::once(0).chain(ends).map(|end| i32::try_from(end).ok()).collect();
        let made = offsets.and_then(|offsets| {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            StringArray::try_new(offsets, bytes.into(), Some(valid.into())).ok()
        });
        Arc::new(made.unwrap_or_else(|| StringArray::new_null(rows)))
    }
}

/// The Arrow type of the column.
pub fn data_type() -> DataType {
    DataType::Struct(fields())
}

fn fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    Fields::from(vec![text("type"), Field::new("version", DataType::Int16, true), text("key"), text("value")])
}
