//! Zstandard frames, in the words of RFC 8878 (COD-Z1 to COD-Z6).

use super::little;
use crate::error::plural;
use crate::inspect::field_writer::FieldWriter;

const MAGIC: [u8; 4] = *b"\x28\xb5\x2f\xfd";

pub(crate) fn write(writer: &mut FieldWriter<'_>) {
    let mut index = 0;
    while writer.goes_on() {
        if writer.left().starts_with(&MAGIC) {
            writer.group(format!("frame[{index}]"), |frame| {
                write_frame(frame);
            });
        } else if is_skippable(writer.left()) {
            writer.group(format!("skippable[{index}]"), |frame| {
                frame.number(little("Magic_Number", 4));
                if let Some(len) = frame.number(little("Frame_Size", 4)) {
                    frame.data("User_Data", len);
                }
            });
        } else {
            writer.rest("unknown");
            writer.mark("no frame of zstd begins here".to_owned());
        }
        index += 1;
    }
}

fn is_skippable(left: &[u8]) -> bool {
    left.first_chunk::<4>().is_some_and(|magic| u32::from_le_bytes(*magic) & !0xf == 0x184d_2a50)
}

fn write_frame(writer: &mut FieldWriter<'_>) -> Option<()> {
    writer.number(little("Magic_Number", 4))?;
    let descriptor = writer.number(little("Frame_Header_Descriptor", 1)).and_then(|byte| u8::try_from(byte).ok())?;
    let is_single_segment = descriptor & 0x20 != 0;
    let has_checksum = descriptor & 0x04 != 0;
    writer.note(descriptor_note(is_single_segment, has_checksum, descriptor & 0x08 != 0));
    if !is_single_segment {
        let window = writer.number(little("Window_Descriptor", 1))?;
        let base = 1_i128 << (10 + (window >> 3));
        writer.note(format!("window of {}", plural(base + (base >> 3) * (window & 7), "byte")));
    }
    let dictionary_len = [0, 1, 2, 4].into_iter().nth(usize::from(descriptor & 3)).unwrap_or(0);
    if dictionary_len > 0 {
        writer.number(little("Dictionary_ID", dictionary_len))?;
    }
    let size_len = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    if size_len > 0 {
        let size = writer.number(little("Frame_Content_Size", size_len))?;
        writer.note(format!("decompresses to {}", plural(if size_len == 2 { size + 256 } else { size }, "byte")));
    }
    write_blocks(writer)?;
    if has_checksum {
        writer.number(little("Content_Checksum", 4))?;
        writer.note("low half of the xxHash-64 of the decompressed bytes");
    }
    Some(())
}

fn write_blocks(writer: &mut FieldWriter<'_>) -> Option<()> {
    let mut index = 0;
    loop {
        let mut is_last = None;
        writer.group(format!("block[{index}]"), |block| is_last = write_block(block));
        if is_last? {
            return Some(());
        }
        index += 1;
    }
}

/// One block; whether it is the last.
fn write_block(writer: &mut FieldWriter<'_>) -> Option<bool> {
    let word = writer.number(little("Block_Header", 3))?;
    let (size, is_last) = (word >> 3, word & 1 == 1);
    let (kind, len) = match (word >> 1) & 3 {
        0 => ("raw", size),
        1 => ("one byte repeated", 1),
        2 => ("compressed", size),
        _ => ("of the reserved type", size),
    };
    writer.note(format!("{}{kind}, {}", if is_last { "last, " } else { "" }, plural(size, "byte")));
    if len > 0 {
        writer.data("Block_Content", len)?;
    }
    Some(is_last)
}

fn descriptor_note(is_single_segment: bool, has_checksum: bool, is_reserved: bool) -> String {
    let words = [
        is_single_segment.then_some("single segment"),
        Some(if has_checksum { "checksum" } else { "no checksum" }),
        is_reserved.then_some("the reserved bit is set"),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
