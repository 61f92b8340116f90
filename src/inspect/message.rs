//! A message of magic 0 or 1: uncompressed, or a wrapper whose value is compressed messages.

use super::decompress::Decompression;
use super::scribe::Scribe;
use super::{Wanted, meaning};
use crate::error::counted;
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
    scribe: &mut Scribe<'a>,
    format: RecordFormat,
    wrapper: Wrapper,
    wanted: &Wanted<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let computed = checksum::crc32(scribe.left().get(CHECKSUMMED..).unwrap_or_default());
    let is_whole = claimed_len(scribe.left()) == Some(scribe.left().len());
    let fields = if format == RecordFormat::V0 { &FIELDS_V0[..] } else { &FIELDS_V1[..] };
    let (mut last, mut offset) = (0, 0);
    let mut header = meaning::header(0, format);
    for field in fields {
        if field.kind == Kind::Bytes {
            let is_compressed = field.name == "value" && header.compression() != CompressionType::None;
            if is_compressed && matches!(wrapper, Wrapper::None) && wanted.shown.depth != Depth::Headers && last > 0 {
                write_compressed(scribe, last, &header, offset, wanted, decompression);
            } else {
                scribe.data(field.name, last);
            }
            continue;
        }
        let Some(number) = scribe.number(*field) else { return };
        last = number;
        match field.name {
            "offset" => {
                offset = number;
                scribe.note(offset_note(number, wrapper));
            }
            "size" => scribe.note(format!("{} follow this field", counted(number, "byte"))),
            "crc" if is_whole => scribe.note(meaning::checksum("CRC-32 of all bytes from magic on", number, computed)),
            "magic" => scribe.note(format!("message set, format {}", format.name())),
            "attributes" => {
                header = meaning::header(number, format);
                scribe.note(meaning::attributes(&header, &wanted.options.codecs.plugins));
            }
            "timestamp" => scribe.note(meaning::time(number)),
            "keyLength" | "valueLength" if number < 0 => scribe.note("null"),
            _ => {}
        }
    }
}

/// Writes the value of a wrapper: the codec's stream, and its decompressed messages.
fn write_compressed<'a>(
    scribe: &mut Scribe<'a>,
    len: i128,
    header: &BatchHeader,
    offset: i128,
    wanted: &Wanted<'_>,
    decompression: &mut Decompression<'a, '_>,
) {
    let len = usize::try_from(len).unwrap_or(0).min(scribe.left().len());
    let (format, codec) = (header.format, header.compression());
    if let Some(node) = scribe.field("offset") {
        node.note = "offset of the last inner message".to_owned();
    }
    scribe.group_of("value", len, |value| decompression.write_stream(value, codec));
    decompression.write_decompressed(scribe, len, "value", header, |inner, decompression| {
        let wrapper = match format {
            RecordFormat::V0 => Wrapper::Absolute,
            _ => Wrapper::Relative(base_of(inner.left(), offset, wanted)),
        };
        write_inner(inner, wrapper, wanted, decompression);
    });
}

fn write_inner<'a>(scribe: &mut Scribe<'a>, wrapper: Wrapper, wanted: &Wanted<'_>, decompression: &mut Decompression<'a, '_>) {
    let mut index = 0;
    while scribe.goes_on() {
        if index == wanted.shown.records {
            scribe.rest("notShown");
            scribe.note(format!("messages from {index} on"));
            return;
        }
        let left = scribe.left();
        let len = claimed_len(left).filter(|len| *len <= left.len()).unwrap_or(left.len());
        let format = if left.get(crate::format::v0_v1::layout::MAGIC) == Some(&0) { RecordFormat::V0 } else { RecordFormat::V1 };
        scribe.group_of(format!("record[{index}]"), len, |inner| write(inner, format, wrapper, wanted, decompression));
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
