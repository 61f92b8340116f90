//! Snappy: a raw block, or the chunks of snappy-java (COD-S1 to COD-S9).

use crate::codec::snappy::XERIAL_MAGIC;
use crate::error::counted;
use crate::inspect::scribe::Scribe;
use crate::wire::{Field, Kind};

pub(crate) fn write(scribe: &mut Scribe<'_>) {
    if !scribe.left().starts_with(&XERIAL_MAGIC) {
        write_block(scribe);
        return;
    }
    let (mut headers, mut chunks) = (0, 0);
    while scribe.goes_on() {
        if scribe.left().starts_with(&XERIAL_MAGIC) {
            scribe.group(format!("header[{headers}]"), write_header);
            headers += 1;
        } else if scribe.left().len() < 4 {
            super::trailing(scribe);
        } else {
            scribe.group(format!("chunk[{chunks}]"), write_chunk);
            chunks += 1;
        }
    }
}

fn write_header(scribe: &mut Scribe<'_>) {
    scribe.data("magic", 8);
    scribe.note("stream of snappy-java");
    for name in ["version", "compatibleVersion"] {
        if scribe.number(Field::new(name, Kind::Int(4))).is_some_and(|version| version == 1 << 24) {
            scribe.note("1, little-endian, as Redpanda wrote it");
        }
    }
}

fn write_chunk(scribe: &mut Scribe<'_>) {
    let Some(len) = scribe.number(Field::new("chunkLength", Kind::Int(4))) else { return };
    scribe.note("bytes behind this field");
    if scribe.bound(len).is_some() {
        write_block(scribe);
    }
}

fn write_block(scribe: &mut Scribe<'_>) {
    if let Some(len) = scribe.number(Field::new("uncompressedLength", Kind::UnsignedVarint)) {
        scribe.note(format!("decompresses to {}", counted(len, "byte")));
        if scribe.goes_on() {
            scribe.rest("elements");
        }
    }
}
