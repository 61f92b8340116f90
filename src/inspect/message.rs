//! A message of Kafka 0.7 or of magic 0 or 1: uncompressed, or a wrapper whose value is compressed messages.

use super::decompress::Decompression;
use super::field_writer::FieldWriter;
use super::meaning;
use super::options::InspectContext;
use crate::error::plural;
use crate::format::v0_v1::layout;
use crate::format::v0_v1::records::MessageScan;
use crate::format::{v0_v1, v07};
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::validate::Depth;
use crate::wire::{WireField, WireKind, checksum};

/// Where a message lies, which says what its offset means.
#[derive(Clone, Copy)]
pub(super) enum Wrapper {
    /// In no other.
    None,
    /// In one of magic 0: offsets are absolute (L8-24).
    Absolute,
    /// In one of magic 1: offsets count from this one (L8-25); none when it is not known.
    Relative(Option<i128>),
    /// In Kafka 0.7: the number of sets that it lies in, and itself (L7-17).
    Sets(u32),
}

impl Wrapper {
    /// True when the value of a message in this place is decompressed: only messages of Kafka 0.7 may hold compressed ones again.
    fn allows_sets(self, wanted: &InspectContext<'_>) -> bool {
        match self {
            Self::None => true,
            Self::Sets(depth) => wanted.options.limits.ensure_nesting(depth).is_ok(),
            Self::Absolute | Self::Relative(_) => false,
        }
    }

    /// Returns the place of the messages in a set that a message of this format and offset in this place is.
    fn of_set(self, format: RecordFormat, offset: i128, messages: &[u8], wanted: &InspectContext<'_>) -> Self {
        match (self, format) {
            (Self::Sets(depth), _) => Self::Sets(depth + 1),
            (_, RecordFormat::V0) => Self::Absolute,
            _ => Self::Relative(base_of(messages, offset, wanted)),
        }
    }
}

/// Writes a message, which ends where the bytes do.
pub(super) fn write<'a>(
    writer: &mut FieldWriter<'a>,
    format: RecordFormat,
    wrapper: Wrapper,
    wanted: &InspectContext<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let is_whole = claimed_len(format)(writer.left()) == Some(writer.left().len());
    let (mut last, mut offset) = (0, 0);
    let mut header = meaning::header(0, format);
    for field in fields_of(format, writer.left()) {
        if field.kind == WireKind::Bytes {
            // The payload of Kafka 0.7 has no length of its own.
            let len = if format == RecordFormat::V07 { i128::try_from(writer.left().len()).unwrap_or(i128::MAX) } else { last };
            let is_compressed = field.name != "key" && len > 0 && header.compression() != CompressionType::None;
            if is_compressed && wanted.shown.depth != Depth::Headers && wrapper.allows_sets(wanted) {
                write_set(writer, (field.name, len), (&header, offset, wrapper), wanted, decompression);
            } else {
                writer.data(field.name, len);
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
            "size" | "length" => writer.note(format!("{} follow this field", plural(number, "byte"))),
            "crc" if is_whole => {
                let computed = checksum::crc32(writer.left());
                let covered = if format == RecordFormat::V07 { "the payload" } else { "all bytes from magic on" };
                writer.note(meaning::checksum(&format!("CRC-32 of {covered}"), number, computed));
            }
            "magic" if format == RecordFormat::V07 => writer.note("message of Kafka 0.7"),
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

fn fields_of(format: RecordFormat, message: &[u8]) -> &'static [WireField] {
    match format {
        RecordFormat::V07 if message.get(v07::layout::MAGIC) == Some(&0) => &v07::layout::FIELDS_V0,
        RecordFormat::V07 => &v07::layout::FIELDS_V1,
        RecordFormat::V0 => &layout::FIELDS_V0,
        _ => &layout::FIELDS_V1,
    }
}

fn claimed_len(format: RecordFormat) -> fn(&[u8]) -> Option<usize> {
    if format == RecordFormat::V07 { v07::parse::claimed_len } else { v0_v1::parse::claimed_len }
}

/// Writes the value of a wrapper: the codec's stream, and its decompressed messages.
fn write_set<'a>(
    writer: &mut FieldWriter<'a>,
    (name, len): (&'static str, i128),
    (header, offset, wrapper): (&BatchHeader, i128, Wrapper),
    wanted: &InspectContext<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let len = usize::try_from(len).unwrap_or(0).min(writer.left().len());
    if let Some(node) = writer.field("offset") {
        node.note = "offset of the last inner message".to_owned();
    }
    writer.group_of(name, len, |value| decompression.write_stream(value, header.compression()));
    decompression.write_decompressed(writer, len, name, header, |inner, decompression| {
        let wrapper = wrapper.of_set(header.format, offset, inner.left(), wanted);
        let mut index = 0;
        while inner.goes_on() {
            if index == wanted.shown.records {
                inner.rest("notShown");
                inner.note(format!("messages from {index} on"));
                return;
            }
            let left = inner.left();
            let len = claimed_len(header.format)(left).filter(|len| *len <= left.len()).unwrap_or(left.len());
            let format = match left.get(layout::MAGIC) {
                _ if header.format == RecordFormat::V07 => RecordFormat::V07,
                Some(0) => RecordFormat::V0,
                _ => RecordFormat::V1,
            };
            inner.group_of(format!("record[{index}]"), len, |message| write(message, format, wrapper, wanted, decompression));
            index += 1;
        }
    });
}

/// The offset that inner offsets count from: that of the wrapper is the last one's (L8-25, L8-27).
fn base_of(messages: &[u8], wrapper: i128, wanted: &InspectContext<'_>) -> Option<i128> {
    let scan = MessageScan::of_inner(messages, false, &wanted.options.limits).ok()?;
    Some(if wrapper == 0 { 0 } else { wrapper.saturating_sub(i128::from(scan.last_offset)) })
}

fn offset_note(offset: i128, wrapper: Wrapper) -> String {
    match wrapper {
        Wrapper::None | Wrapper::Sets(_) => String::new(),
        Wrapper::Absolute => "absolute, as in all sets of magic 0".to_owned(),
        Wrapper::Relative(Some(base)) => format!("relative: offset {}", base.saturating_add(offset)),
        Wrapper::Relative(None) => "relative to the wrapper's".to_owned(),
    }
}
