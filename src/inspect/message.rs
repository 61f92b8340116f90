//! A message of magic 0 or 1: uncompressed, or a wrapper whose value is compressed messages.

use super::decompress::Decompression;
use super::field_writer::FieldWriter;
use super::{Wanted, meaning};
use crate::error::plural;
use crate::format::v0_v1::layout::{CHECKSUMMED, FIELDS_V0, FIELDS_V1};
use crate::format::v0_v1::parse::claimed_len;
use crate::format::v0_v1::records::Scan;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::validate::Depth;
use crate::wire::{Kind, checksum};

/// Where a message lies, which says what its offset means.
#[derive(Clone, Copy)]
pub(super) enum Wrapper {
    /// In no other.
    None,
    /// In one of magic 0: offsets are absolute (L8-24).
    Absolute,
    /// In one of magic 1: offsets count from this one (L8-25); none when it cannot be told.
    Relative(Option<i128>),
}

/// Writes a message, which ends where the bytes do.
pub(super) fn write<'a>(
    writer: &mut FieldWriter<'a>,
    format: RecordFormat,
    wrapper: Wrapper,
    wanted: &Wanted<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let computed = checksum::crc32(writer.left().get(CHECKSUMMED..).unwrap_or_default());
    let is_whole = claimed_len(writer.left()) == Some(writer.left().len());
    let fields = if format == RecordFormat::V0 { &FIELDS_V0[..] } else { &FIELDS_V1[..] };
    let (mut last, mut offset) = (0, 0);
    let mut header = meaning::header(0, format);
    for field in fields {
        if field.kind == Kind::Bytes {
            let is_compressed = field.name == "value" && header.compression() != CompressionType::None;
            if is_compressed && matches!(wrapper, Wrapper::None) && wanted.shown.depth != Depth::Headers && last > 0 {
                write_compressed(writer, last, &header, offset, wanted, decompression);
            } else {
                writer.data(field.name, last);
            }
            continue;
        }
        let Some(number) = writer.number(*field) else { return };
        last = number;
        match field.name {
            "offset" => {
                offset = number;
                writer.note(offset_note(number, wrapper));
            }
            "size" => writer.note(format!("{} follow this field", plural(number, "byte"))),
            "crc" if is_whole => writer.note(meaning::checksum("CRC-32 of all bytes from magic on", number, computed)),
            "magic" => writer.note(format!("message set, format {}", format.name())),
            "attributes" => {
                header = meaning::header(number, format);
                writer.note(meaning::attributes(&header, &wanted.options.codecs.plugins));
            }
            "timestamp" => writer.note(meaning::time(number)),
            "keyLength" | "valueLength" if number < 0 => writer.note("null"),
            _ => {}
        }
    }
}

/// Writes the value of a wrapper: the codec's stream, and its decompressed messages.
fn write_compressed<'a>(
    writer: &mut FieldWriter<'a>,
    len: i128,
    header: &BatchHeader,
    offset: i128,
    wanted: &Wanted<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let len = usize::try_from(len).unwrap_or(0).min(writer.left().len());
    let (format, codec) = (header.format, header.compression());
    if let Some(node) = writer.field("offset") {
        node.note = "offset of the last inner message".to_owned();
    }
    writer.group_of("value", len, |value| decompression.write_stream(value, codec));
    decompression.write_decompressed(writer, len, "value", header, |inner, decompression| {
        let wrapper = match format {
            RecordFormat::V0 => Wrapper::Absolute,
            _ => Wrapper::Relative(base_of(inner.left(), offset, wanted)),
        };
        write_inner(inner, wrapper, wanted, decompression);
    });
}

fn write_inner<'a>(writer: &mut FieldWriter<'a>, wrapper: Wrapper, wanted: &Wanted<'_>, decompression: &mut Decompression<'a, '_>) {
    let mut index = 0;
    while writer.goes_on() {
        if index == wanted.shown.records {
            writer.rest("notShown");
            writer.note(format!("messages from {index} on"));
            return;
        }
        let left = writer.left();
        let len = claimed_len(left).filter(|len| *len <= left.len()).unwrap_or(left.len());
        let format = if left.get(crate::format::v0_v1::layout::MAGIC) == Some(&0) { RecordFormat::V0 } else { RecordFormat::V1 };
        writer.group_of(format!("record[{index}]"), len, |inner| write(inner, format, wrapper, wanted, decompression));
        index += 1;
    }
}

/// The offset that inner offsets count from: that of the wrapper is the last one's (L8-25, L8-27).
fn base_of(messages: &[u8], wrapper: i128, wanted: &Wanted<'_>) -> Option<i128> {
    let scan = Scan::of_inner(messages, false, &wanted.options.limits).ok()?;
    Some(if wrapper == 0 { 0 } else { wrapper.saturating_sub(i128::from(scan.last_offset)) })
}

fn offset_note(offset: i128, wrapper: Wrapper) -> String {
    match wrapper {
        Wrapper::None => String::new(),
        Wrapper::Absolute => "absolute, as in all sets of magic 0".to_owned(),
        Wrapper::Relative(Some(base)) => format!("relative: offset {}", base.saturating_add(offset)),
        Wrapper::Relative(None) => "relative to the wrapper's".to_owned(),
    }
}
