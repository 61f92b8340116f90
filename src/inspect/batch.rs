//! A record batch: its header, then its records or their compressed stream.

use super::decompress::Decompression;
use super::field_writer::FieldWriter;
use super::options::InspectContext;
use super::record::Base;
use super::{InspectedEntry, meaning, record};
use crate::error::plural;
use crate::format::record_batch;
use crate::format::v2::layout;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::validate::Depth;
use crate::wire::checksum;

/// The numbers of a header; 0 for those that are cut off.
struct HeaderNumbers(Vec<(&'static str, i128)>);

impl HeaderNumbers {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    fn get(&self, name: &str) -> i128 {
        self.0.iter().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number)
    }
}

pub(super) fn write<'a>(
    writer: &mut FieldWriter<'a>,
    format: RecordFormat,
    stretch: &InspectedEntry,
    wanted: &InspectContext<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let mut numbers = HeaderNumbers(Vec::new());
    for field in record_batch::fields(format) {
        let Some(number) = writer.number(*field) else { break };
        numbers.0.push((field.name, number));
    }
    let header = meaning::header(numbers.get("attributes"), format);
    for (name, number) in &numbers.0 {
        let text = meaning_of(name, *number, &numbers, &header, wanted);
        if let Some(node) = writer.field(name) {
            node.note = text;
        }
    }
    if let (true, Some(node)) = (stretch.is_whole(), writer.field("crc")) {
        let covered = stretch.bytes.get(layout::CHECKSUMMED..).unwrap_or_default();
        node.note = meaning::checksum("CRC-32C of all bytes from attributes on", numbers.get("crc"), checksum::crc32c(covered));
    }
    if !writer.goes_on() {
        return;
    }
    write_records(writer, &header, base(&numbers, &header), wanted, decompression);
}

fn write_records<'a>(
    writer: &mut FieldWriter<'a>,
    header: &BatchHeader,
    base: Base,
    wanted: &InspectContext<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    match header.compression() {
        _ if wanted.shown.depth == Depth::Headers => {
            writer.rest("records");
            writer.note("not checked");
        }
        // Readers decompress nothing of a batch without records (V2-10).
        compression if compression != CompressionType::None && base.count == 0 => {
            writer.rest("compressed");
        }
        CompressionType::None if wanted.is_deep() => writer.group("records", |inner| write_decompressed(inner, header, base, wanted)),
        CompressionType::None => {
            writer.rest("records");
        }
        _ => decompression.write_compressed(writer, "records", header, |inner| write_decompressed(inner, header, base, wanted)),
    }
}

fn write_decompressed(writer: &mut FieldWriter<'_>, header: &BatchHeader, base: Base, wanted: &InspectContext<'_>) {
    if header.is_metadata_first() {
        record::write_in_two_parts(writer, base, wanted);
    } else {
        record::write_all(writer, base, wanted);
    }
}

/// Magic 3 stores the largest timestamp as a difference, wrapping (S-V4).
fn max_timestamp(numbers: &HeaderNumbers) -> i128 {
    if !numbers.has("maxTimestampDelta") {
        return numbers.get("maxTimestamp");
    }
    let wrapped = numbers.get("baseTimestamp").saturating_add(numbers.get("maxTimestampDelta")).rem_euclid(1 << 64);
    if wrapped >= 1 << 63 { wrapped - (1 << 64) } else { wrapped }
}

fn base(numbers: &HeaderNumbers, header: &BatchHeader) -> Base {
    let is_append_time = header.append_time().is_some();
    Base {
        offset: numbers.get("baseOffset"),
        timestamp: if is_append_time { max_timestamp(numbers) } else { numbers.get("baseTimestamp") },
        is_append_time,
        is_control: header.is_control(),
        count: numbers.get("recordsCount"),
        has_attributes: header.has_record_attributes(),
    }
}

fn meaning_of(name: &str, number: i128, numbers: &HeaderNumbers, header: &BatchHeader, wanted: &InspectContext<'_>) -> String {
    let or_none = |text: &str| if number == -1 { "none".to_owned() } else { text.to_owned() };
    match name {
        "baseOffset" => "offset of the first record as produced".to_owned(),
        "batchLength" => format!("{} follow this field, {} in all", plural(number, "byte"), number.saturating_add(12)),
        "partitionLeaderEpoch" => or_none(""),
        "magic" => format!("record batch, format {}", header.format.name()),
        "attributes" => meaning::attributes(header, &wanted.options.codecs.plugins),
        "lastOffsetDelta" => format!("last offset {}", numbers.get("baseOffset").saturating_add(number)),
        "baseTimestamp" if header.delete_horizon_ms().is_some() => format!("delete horizon {}", meaning::time(number)),
        "baseTimestamp" => meaning::time(number),
        "maxTimestamp" if header.append_time().is_some() => format!("{}, when the broker appended the batch", meaning::time(number)),
        "maxTimestamp" => meaning::time(number),
        "maxTimestampDelta" => format!("largest timestamp {}", meaning::time(max_timestamp(numbers))),
        "producerId" | "producerEpoch" => or_none(""),
        "baseSequence" => or_none("sequence of the first record"),
        "recordsCount" => {
            let produced = numbers.get("lastOffsetDelta").saturating_add(1);
            if number < produced { format!("of {produced} as produced") } else { String::new() }
        }
        _ => String::new(),
    }
}
