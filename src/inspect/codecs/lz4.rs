//! The LZ4 frame: descriptor, blocks, end mark, checksum (LZ4 frame format 1.6; COD-L1 to COD-L15).

use super::{little, trailing};
use crate::codec::lz4::descriptor::{Descriptor, flag};
use crate::codec::{ChecksumForm, FoundChecksum};
use crate::error::plural;
use crate::inspect::field_writer::FieldWriter;

pub(crate) fn write(writer: &mut FieldWriter<'_>) {
    let flags = write_descriptor(writer);
    let mut index = 0;
    while writer.goes_on() {
        let mut is_end = false;
        if is_end_mark(writer.left()) {
            is_end = writer.number(little("EndMark", 4)).is_some();
        } else {
            writer.group(format!("block[{index}]"), |block| write_block(block, flags));
        }
        if is_end {
            break;
        }
        index += 1;
    }
    if flags & flag::CONTENT_CHECKSUM != 0 && writer.goes_on() {
        writer.number(little("contentChecksum", 4));
        writer.note("xxHash-32 of the decompressed bytes; Kafka does not compare it");
    }
    trailing(writer);
}

/// The descriptor; its FLG byte.
fn write_descriptor(writer: &mut FieldWriter<'_>) -> u8 {
    let checksum = checksum_note(writer.left());
    writer.number(little("magic", 4));
    let flags = writer.number(little("FLG", 1)).and_then(|flags| u8::try_from(flags).ok()).unwrap_or(0);
    writer.note(flags_note(flags));
    if let Some(sizes) = writer.number(little("BD", 1)) {
        writer.note(match (sizes >> 4) & 7 {
            4 => "blocks of at most 64 KiB",
            5 => "blocks of at most 256 KiB",
            6 => "blocks of at most 1 MiB",
            7 => "blocks of at most 4 MiB",
            _ => "no block size",
        });
    }
    if flags & flag::CONTENT_SIZE != 0 && writer.number(little("contentSize", 8)).is_some() {
        writer.note("bytes when decompressed");
    }
    if flags & flag::DICTIONARY_ID != 0 {
        writer.number(little("dictionaryId", 4));
    }
    if writer.number(little("HC", 1)).is_some() {
        writer.note(checksum);
    }
    flags
}

fn checksum_note(frame: &[u8]) -> String {
    let Ok(descriptor) = Descriptor::parse(frame) else { return "header checksum".to_owned() };
    let (correct, broken) = (descriptor.checksum(ChecksumForm::Correct), descriptor.checksum(ChecksumForm::Broken));
    match descriptor.found() {
        FoundChecksum::Correct => format!("header checksum: the correct one (the broken one of Kafka 0.8.2 and 0.9 is {broken:#04x})"),
        FoundChecksum::Broken => format!("header checksum: the broken one of Kafka 0.8.2 and 0.9 (the correct one is {correct:#04x})"),
        FoundChecksum::Neither => {
            let stored = descriptor.stored;
            format!("header checksum: does not match, stored {stored:#04x}, computed {correct:#04x} (broken form {broken:#04x})")
        }
    }
}

fn flags_note(flags: u8) -> String {
    let words = [
        Some(format!("version {}", flags >> 6)),
        Some(if flags & flag::INDEPENDENT == 0 { "blocks depend on each other" } else { "independent blocks" }.to_owned()),
        (flags & flag::BLOCK_CHECKSUM != 0).then(|| "block checksums".to_owned()),
        (flags & flag::CONTENT_SIZE != 0).then(|| "content size".to_owned()),
        (flags & flag::CONTENT_CHECKSUM != 0).then(|| "content checksum".to_owned()),
        (flags & flag::DICTIONARY_ID != 0).then(|| "dictionary id".to_owned()),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn write_block(writer: &mut FieldWriter<'_>, flags: u8) {
    let Some(size) = writer.number(little("blockSize", 4)) else { return };
    let stored = i128::from(flag::STORED);
    let len = size % stored;
    writer.note(format!("{}, {}", plural(len, "byte"), if size >= stored { "stored as they are" } else { "compressed" }));
    writer.data("data", len);
    if flags & flag::BLOCK_CHECKSUM != 0 && writer.goes_on() {
        writer.number(little("blockChecksum", 4));
        writer.note("xxHash-32 of data");
    }
}

/// Java masks the top bit first (COD-L10).
fn is_end_mark(left: &[u8]) -> bool {
    left.first_chunk::<4>().is_some_and(|size| u32::from_le_bytes(*size) & !flag::STORED == 0)
}
