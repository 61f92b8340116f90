//! Snappy: a raw block, or the chunks of snappy-java (COD-S1 to COD-S9).

use crate::codec::snappy::XERIAL_MAGIC;
use crate::error::plural;
use crate::inspect::field_writer::FieldWriter;
use crate::wire::{WireField, WireKind};

pub(crate) fn write(writer: &mut FieldWriter<'_>) {
    if !writer.left().starts_with(&XERIAL_MAGIC) {
        write_block(writer);
        return;
    }
    let (mut headers, mut chunks) = (0, 0);
    while writer.goes_on() {
        if writer.left().starts_with(&XERIAL_MAGIC) {
            writer.group(format!("header[{headers}]"), write_header);
            headers += 1;
        } else if writer.left().len() < 4 {
            super::trailing(writer);
        } else {
            writer.group(format!("chunk[{chunks}]"), write_chunk);
            chunks += 1;
        }
    }
}

fn write_header(writer: &mut FieldWriter<'_>) {
    writer.data("magic", 8);
    writer.note("stream of snappy-java");
    for name in ["version", "compatibleVersion"] {
        if writer.number(WireField::new(name, WireKind::Int(4))).is_some_and(|version| version == 1 << 24) {
            writer.note("1, little-endian, as Redpanda wrote it");
        }
    }
}

fn write_chunk(writer: &mut FieldWriter<'_>) {
    let Some(len) = writer.number(WireField::new("chunkLength", WireKind::Int(4))) else { return };
    writer.note("bytes after this field");
    if writer.bound(len).is_some() {
        write_block(writer);
    }
}

fn write_block(writer: &mut FieldWriter<'_>) {
    if let Some(len) = writer.number(WireField::new("uncompressedLength", WireKind::UnsignedVarint)) {
        writer.note(format!("decompresses to {}", plural(len, "byte")));
        if writer.goes_on() {
            writer.rest("elements");
        }
    }
}
