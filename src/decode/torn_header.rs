//! The offsets in the header of a batch that is not whole.

use crate::format::{record_batch, v0_v1, v2};
use crate::model::{Formats, RecordFormat};

/// Return the first and the last offset of the batch that begins with these bytes, or `None` if they end before both, or in older formats.
pub fn torn_offsets(bytes: &[u8], formats: Formats) -> Option<(i64, i64)> {
    let magic = bytes.get(v0_v1::layout::MAGIC)?.cast_signed();
    match formats.of_magic(magic)? {
        RecordFormat::V2 => {
            let first = i64::from_be_bytes(*bytes.first_chunk()?);
            let delta = i32::from_be_bytes(*bytes.get(v2::layout::LAST_OFFSET_DELTA..)?.first_chunk()?);
            Some((first, first.saturating_add(delta.into())))
        }
        format @ RecordFormat::V3 => {
            record_batch::parse_header(format, bytes, 0).ok().map(|header| (header.base_offset, header.last_offset))
        }
        RecordFormat::V0 | RecordFormat::V1 | RecordFormat::V07 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_offsets_must_be_there() {
        let mut header = [0; v2::layout::HEADER_LEN];
        header[..8].copy_from_slice(&41_i64.to_be_bytes());
        header[16] = 2;
        header[23..27].copy_from_slice(&34_i32.to_be_bytes());
        assert_eq!(torn_offsets(&header, Formats::Auto), Some((41, 75)));
        assert_eq!(torn_offsets(&header[..27], Formats::Auto), Some((41, 75)));
        assert_eq!(torn_offsets(&header[..26], Formats::Auto), None);
        assert_eq!(torn_offsets(&header[..16], Formats::Auto), None);
        header[16] = 1;
        assert_eq!(torn_offsets(&header, Formats::Auto), None);
    }
}
