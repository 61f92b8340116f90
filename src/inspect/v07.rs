//! A message of Kafka 0.7: uncompressed, or with a payload of compressed messages, which may hold compressed messages again (L7-17).

use super::decompress::Decompression;
use super::scribe::Scribe;
use super::{Wanted, meaning};
use crate::error::counted;
use crate::format::v07::layout::{FIELDS_V0, FIELDS_V1, MAGIC};
use crate::format::v07::parse::claimed_len;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::validate::Depth;
use crate::wire::{Kind, checksum};

/// Writes a message, which ends where the bytes do; `depth` counts the sets that it lies in, and itself.
pub(super) fn write<'a>(scribe: &mut Scribe<'a>, wanted: &Wanted<'_>, decompression: &mut Decompression<'a, '_>, depth: u32) {
    let is_v0 = scribe.left().get(MAGIC) == Some(&0);
    let is_whole = claimed_len(scribe.left()) == Some(scribe.left().len());
    let fields = if is_v0 { &FIELDS_V0[..] } else { &FIELDS_V1[..] };
    let mut header = meaning::header(0, RecordFormat::V07);
    for field in fields {
        if field.kind == Kind::Bytes {
            let is_compressed = header.compression() != CompressionType::None && wanted.shown.depth != Depth::Headers && scribe.goes_on();
            if is_compressed && wanted.options.limits.ensure_nesting(depth).is_ok() {
                write_compressed(scribe, &header, wanted, decompression, depth);
            } else {
                scribe.rest(field.name);
            }
            continue;
        }
        let Some(number) = scribe.number(*field) else { return };
        match field.name {
            "length" => scribe.note(format!("{} follow this field", counted(number, "byte"))),
            "magic" => scribe.note("message of Kafka 0.7".to_owned()),
            "attributes" => {
                header = meaning::header(number, RecordFormat::V07);
                scribe.note(meaning::attributes(&header, &wanted.options.codecs.plugins));
            }
            "crc" if is_whole => {
                let computed = checksum::crc32(scribe.left());
                scribe.note(meaning::checksum("CRC-32 of the payload", number, computed));
            }
            _ => {}
        }
    }
}

fn write_compressed<'a>(
    scribe: &mut Scribe<'a>,
    header: &BatchHeader,
    wanted: &Wanted<'_>,
    decompression: &mut Decompression<'a, '_>,
    depth: u32,
) {
    let len = scribe.left().len();
    scribe.group_of("payload", len, |payload| decompression.write_stream(payload, header.compression()));
    decompression.write_decompressed(scribe, len, "payload", header, |inner, decompression| {
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
