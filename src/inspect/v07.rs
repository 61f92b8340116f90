//! A message of Kafka 0.7: uncompressed, or with a payload of compressed messages, which may hold compressed messages again (L7-17).

use super::decompress::Decompression;
use super::field_writer::FieldWriter;
use super::{Wanted, meaning};
use crate::error::plural;
use crate::format::v07::layout::{FIELDS_V0, FIELDS_V1, MAGIC};
use crate::format::v07::parse::claimed_len;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::validate::Depth;
use crate::wire::{Kind, checksum};

/// Writes a message, which ends where the bytes do; `depth` counts the sets that it lies in, and itself.
pub(super) fn write<'a>(writer: &mut FieldWriter<'a>, wanted: &Wanted<'_>, decompression: &mut Decompression<'a, '_>, depth: u32) {
    let is_v0 = writer.left().get(MAGIC) == Some(&0);
    let is_whole = claimed_len(writer.left()) == Some(writer.left().len());
    let fields = if is_v0 { &FIELDS_V0[..] } else { &FIELDS_V1[..] };
    let mut header = meaning::header(0, RecordFormat::V07);
    for field in fields {
        if field.kind == Kind::Bytes {
            let is_compressed = header.compression() != CompressionType::None && wanted.shown.depth != Depth::Headers && writer.goes_on();
            if is_compressed && wanted.options.limits.ensure_nesting(depth).is_ok() {
                write_compressed(writer, &header, wanted, decompression, depth);
            } else {
                writer.rest(field.name);
            }
            continue;
        }
        let Some(number) = writer.number(*field) else { return };
        match field.name {
            "length" => writer.note(format!("{} follow this field", plural(number, "byte"))),
            "magic" => writer.note("message of Kafka 0.7".to_owned()),
            "attributes" => {
                header = meaning::header(number, RecordFormat::V07);
                writer.note(meaning::attributes(&header, &wanted.options.codecs.plugins));
            }
            "crc" if is_whole => {
                let computed = checksum::crc32(writer.left());
                writer.note(meaning::checksum("CRC-32 of the payload", number, computed));
            }
            _ => {}
        }
    }
}

fn write_compressed<'a>(
    writer: &mut FieldWriter<'a>,
    header: &BatchHeader,
    wanted: &Wanted<'_>,
    decompression: &mut Decompression<'a, '_>,
    depth: u32,
) {
    let len = writer.left().len();
    writer.group_of("payload", len, |payload| decompression.write_stream(payload, header.compression()));
    decompression.write_decompressed(writer, len, "payload", header, |inner, decompression| {
        let mut index = 0;
        while inner.goes_on() {
            if index == wanted.shown.records {
                inner.rest("notShown");
                inner.note(format!("messages from {index} on"));
                return;
            }
            let left = inner.left();
            let len = claimed_len(left).filter(|len| *len <= left.len()).unwrap_or(left.len());
            inner.group_of(format!("record[{index}]"), len, |message| write(message, wanted, decompression, depth + 1));
            index += 1;
        }
    });
}
