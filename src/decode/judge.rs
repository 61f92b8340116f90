//! What makes an entry believable to framing: a header that makes sense and a checksum that matches.

use super::parse_header;
use crate::error::Error;
use crate::format::v2::{layout, parse};
use crate::framing::{Claim, Frame, Judge, LOG_OVERHEAD};
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType};

/// Judges record batches by their checksum. Entries of formats that this build does not read cannot be believed at all.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumJudge {
    /// Limits of the decode, so that no candidate is larger than what may be read.
    pub limits: Limits,
    /// Whether a wrong checksum makes a whole entry damage.
    pub check_crc: bool,
}

/// Where the magic stands, counted from the start of an entry.
const MAGIC_AT: usize = 16;

impl Judge for ChecksumJudge {
    fn damage_of(&self, entry: &[u8], magic: i8) -> Option<Error> {
        if magic != layout::MAGIC {
            // Bytes out of step look like an entry of an older format now and then: its length needs the same proof as a broken one's.
            return parse_header(Frame { position: 0, magic, bytes: entry }).err();
        }
        match parse::header(entry, 0) {
            Ok(header) if self.check_crc => parse::verify(entry, header.crc).err().map(|error| error.in_batch(header.base_offset)),
            Ok(_) => None,
            Err(error) => Some(error),
        }
    }

    fn is_intact(&self, entry: &[u8]) -> bool {
        parse::header(entry, 0).is_ok_and(|header| parse::verify(entry, header.crc).is_ok())
    }

    fn claim(&self, front: &[u8]) -> Claim {
        let Some(head) = front.get(..layout::HEADER_LEN) else { return Claim::Cut };
        let Ok(header) = parse::header(head, 0) else { return Claim::No };
        let Some(len) = claimed_len(head) else { return Claim::No };
        let is_allowed = u64::try_from(len).is_ok_and(|len| self.limits.ensure_batch_bytes(len).is_ok());
        if len < layout::HEADER_LEN || !is_allowed || !makes_sense(&header) {
            return Claim::No;
        }
        if front.len() < len { Claim::Cut } else { Claim::Whole(len) }
    }

    fn next(&self, bytes: &[u8]) -> Option<usize> {
        memchr::memchr(layout::MAGIC.cast_unsigned(), bytes.get(MAGIC_AT..)?)
    }

    fn reach(&self) -> usize {
        MAGIC_AT
    }
}

fn claimed_len(head: &[u8]) -> Option<usize> {
    let size = head.get(8..LOG_OVERHEAD)?.first_chunk::<4>()?;
    usize::try_from(i32::from_be_bytes(*size)).ok()?.checked_add(LOG_OVERHEAD)
}

fn makes_sense(header: &BatchHeader) -> bool {
    let delta = header.last_offset.wrapping_sub(header.base_offset);
    let count = i64::from(header.count.unwrap_or(-1));
    header.attributes.unused() == 0
        && !matches!(header.compression(), CompressionType::Unknown(_))
        && header.base_offset >= 0
        && (0..=delta.saturating_add(1)).contains(&count)
}
