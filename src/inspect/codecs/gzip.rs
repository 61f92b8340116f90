//! Gzip members, in the words of RFC 1952 (COD-G1 to COD-G3).

use super::little;
use crate::codec::gzip::{flag, measure};
use crate::inspect::field_writer::FieldWriter;
use crate::inspect::meaning;
use crate::limits::Budget;

/// Header and trailer around a member's data take 18 bytes; where fewer follow, Java looks for none.
const TOO_SHORT: usize = 18;

pub(crate) fn write(writer: &mut FieldWriter<'_>, mut budget: Budget) {
    let mut index = 0;
    while writer.goes_on() {
        if index > 0 && (writer.left().len() <= TOO_SHORT || !writer.left().starts_with(b"\x1f\x8b\x08")) {
            super::trailing(writer);
            return;
        }
        writer.group(format!("member[{index}]"), |member| {
            if write_header(member).is_some() {
                write_data(member, &mut budget);
            }
        });
        index += 1;
    }
}

fn write_header(writer: &mut FieldWriter<'_>) -> Option<()> {
    for name in ["ID1", "ID2"] {
        writer.number(little(name, 1))?;
    }
    let method = writer.number(little("CM", 1))?;
    writer.note(if method == 8 { "deflate" } else { "no known method" });
    let flags = writer.number(little("FLG", 1)).and_then(|flags| u8::try_from(flags).ok())?;
    let seconds = writer.number(little("MTIME", 4))?;
    writer.note(if seconds == 0 { "none".to_owned() } else { meaning::time(seconds.saturating_mul(1000)) });
    writer.number(little("XFL", 1))?;
    writer.number(little("OS", 1))?;
    if flags & flag::EXTRA != 0 {
        let len = writer.number(little("XLEN", 2))?;
        writer.data("extra", len)?;
    }
    for (bit, name) in [(flag::NAME, "FNAME"), (flag::COMMENT, "FCOMMENT")] {
        if flags & bit != 0 {
            let left = writer.left();
            let len = left.iter().position(|byte| *byte == 0).map_or(left.len(), |at| at + 1);
            writer.data(name, i128::try_from(len).unwrap_or(0))?;
        }
    }
    if flags & flag::HEADER_CRC != 0 {
        writer.number(little("CRC16", 2))?;
    }
    writer.goes_on().then_some(())
}

/// The deflated data and the trailer. Where the data cannot be decompressed, they are taken to end where the stream does.
fn write_data(writer: &mut FieldWriter<'_>, budget: &mut Budget) {
    let measured = measure(writer.left(), budget);
    let len = match &measured {
        Ok(member) => member.deflated,
        Err(_) => writer.left().len().saturating_sub(8).max(1),
    };
    writer.data("deflated", i128::try_from(len).unwrap_or(i128::MAX));
    match measured {
        Ok(member) => {
            *budget = budget.after(member.decompressed);
            if let Some(stored) = writer.number(little("CRC32", 4)) {
                writer.note(meaning::checksum("CRC-32 of the decompressed bytes", stored, member.crc));
            }
            if let Some(size) = writer.number(little("ISIZE", 4)) {
                let found = i128::try_from(member.decompressed).unwrap_or(i128::MAX) % (1 << 32);
                writer.note(if size == found {
                    "bytes when decompressed: matches".to_owned()
                } else {
                    format!("bytes when decompressed: {found} found")
                });
            }
        }
        Err(error) => {
            writer.mark(error.message());
            writer.number(little("CRC32", 4));
            writer.number(little("ISIZE", 4));
            writer.note("bytes when decompressed");
        }
    }
}
