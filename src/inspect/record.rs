//! The records of an uncompressed section of a batch.

use bytes::Bytes;

use super::field_writer::{FieldWriter, owned};
use super::options::InspectContext;
use super::{control, meaning};
use crate::error::plural;
use crate::format::v2::layout::{HEADER_FIELDS, RECORD_FIELDS};
use crate::wire::{WireField, WireKind};

/// What the records of a batch are read by.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) offset: i128,
    pub(super) timestamp: i128,
    pub(super) is_append_time: bool,
    pub(super) is_control: bool,
    pub(super) count: i128,
    pub(super) has_attributes: bool,
}

/// Writes the first records one by one, and the others as one field.
pub(super) fn write_all(writer: &mut FieldWriter<'_>, base: Base, wanted: &InspectContext<'_>) {
    let shown = i128::try_from(wanted.shown.records).unwrap_or(i128::MAX);
    let mut index = 0;
    while index < base.count.min(shown) && writer.goes_on() {
        writer.group(format!("record[{index}]"), |inner| write(inner, base));
        index += 1;
    }
    if index < base.count && index == shown && writer.goes_on() {
        writer.rest("notShown");
        writer.note(format!("records {index} to {}", base.count - 1));
    } else if index < base.count && !writer.goes_on() {
        writer.mark(format!("cut short: {index} of {}", plural(base.count, "record")));
    }
}

fn write(writer: &mut FieldWriter<'_>, base: Base) {
    let mut key = None;
    let mut last = 0;
    for field in RECORD_FIELDS.iter().filter(|field| base.has_attributes || field.name != "attributes") {
        if field.kind == WireKind::Bytes {
            let part = if field.name == "key" { ControlPart::Key } else { ControlPart::Value(key.as_ref()) };
            let bytes = write_data(writer, *field, last, base.is_control.then_some(part));
            if field.name == "key" {
                key = bytes;
            }
            continue;
        }
        let Some(number) = writer.number(*field) else { return };
        last = number;
        match field.name {
            "length" => {
                writer.note("bytes of the record after this field");
                writer.bound(number);
            }
            "timestampDelta" if base.is_append_time => {
                writer.note(format!("replaced by the append time {}", meaning::time(base.timestamp)))
            }
            "timestampDelta" => writer.note(meaning::time(base.timestamp.saturating_add(number))),
            "offsetDelta" => writer.note(format!("offset {}", base.offset.saturating_add(number))),
            "keyLength" | "valueLength" if number < 0 => writer.note("null"),
            _ => {}
        }
    }
    write_headers(writer, last);
}

/// Records of magic 3 whose metadata comes before their payloads (S-H1).
pub(super) fn write_in_two_parts(writer: &mut FieldWriter<'_>, base: Base, wanted: &InspectContext<'_>) {
    let mut records = Vec::new();
    let is_next = |records: &[Lengths]| i128::try_from(records.len()).unwrap_or(i128::MAX) < base.count;
    writer.group("metadata", |inner| {
        while is_next(&records) && inner.goes_on() {
            inner.group(format!("record[{}]", records.len()), |record| records.push(write_metadata(record, base)));
        }
    });
    if is_next(&records) {
        writer.mark(format!("cut short: {} of {}", records.len(), plural(base.count, "record")));
    }
    let (shown, others) = records.split_at(records.len().min(wanted.shown.records));
    writer.group("payloads", |inner| {
        for (index, lengths) in shown.iter().enumerate() {
            inner.group(format!("record[{index}]"), |record| write_payload(record, *lengths));
        }
        if !others.is_empty() && inner.goes_on() {
            // Bytes after the payloads belong to no field, and are reported as left over.
            inner.data("notShown", others.iter().map(|lengths| lengths.payload.max(0)).sum());
            inner.note(format!("payloads of records {} to {}", shown.len(), records.len() - 1));
        }
    });
}

/// What the metadata of a record says about its payload, in bytes, and the number of headers.
#[derive(Clone, Copy)]
struct Lengths {
    payload: i128,
    key: i128,
    value: i128,
    headers: i128,
}

fn write_metadata(writer: &mut FieldWriter<'_>, base: Base) -> Lengths {
    let fields = RECORD_FIELDS.iter().filter(|field| field.kind != WireKind::Bytes && (base.has_attributes || field.name != "attributes"));
    let mut lengths = Lengths { payload: 0, key: 0, value: 0, headers: 0 };
    let mut body = writer.position();
    for field in fields {
        let Some(number) = writer.number(*field) else { break };
        match field.name {
            "length" => (lengths.payload, body) = (number, writer.position()),
            "keyLength" => lengths.key = number,
            "valueLength" => lengths.value = number,
            "headersCount" => lengths.headers = number,
            _ => {}
        }
    }
    // `length` counts both parts (S-H2).
    lengths.payload -= i128::from(writer.position() - body);
    lengths
}

fn write_payload(writer: &mut FieldWriter<'_>, lengths: Lengths) {
    let left = writer.left().len();
    let is_bounded = writer.bound(lengths.payload).is_some();
    writer.data("key", lengths.key);
    writer.data("value", lengths.value);
    write_headers(writer, lengths.headers);
    if !is_bounded {
        writer.mark(format!("its length is {}, and {left} are left", plural(lengths.payload, "byte")));
    }
}

enum ControlPart<'a> {
    Key,
    Value(Option<&'a Bytes>),
}

/// A key or value; of a control record with the fields in it.
fn write_data(writer: &mut FieldWriter<'_>, field: WireField, len: i128, part: Option<ControlPart<'_>>) -> Option<Bytes> {
    let here = usize::try_from(len).ok().filter(|len| *len > 0 && *len <= writer.left().len());
    let (Some(part), Some(len)) = (part, here) else { return writer.data(field.name, len) };
    let bytes = owned(writer.left().get(..len).unwrap_or_default());
    writer.group_of(field.name, len, |inner| match part {
        ControlPart::Key => control::write_key(inner),
        ControlPart::Value(key) => control::write_value(inner, key.map(|key| &key[..])),
    });
    Some(bytes)
}

fn write_headers(writer: &mut FieldWriter<'_>, count: i128) {
    let mut index = 0;
    while index < count && writer.goes_on() {
        writer.group(format!("header[{index}]"), |inner| {
            let mut last = 0;
            for field in HEADER_FIELDS {
                if field.kind == WireKind::Bytes {
                    inner.data(field.name, last);
                } else {
                    let Some(number) = inner.number(field) else { return };
                    last = number;
                }
            }
        });
        index += 1;
    }
}
