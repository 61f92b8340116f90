//! What makes an entry believable to framing: a header that makes sense and a checksum that matches.

use super::transactions::may_be_marker;
use super::{DecodeOptions, entry_candidates, parse_header, verify};
use crate::error::Error;
use crate::format::{record_batch, v0_v1, v2, v07};
use crate::framing::{Claim, EntryChecksum, Frame, LOG_OVERHEAD, Verifier};
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, Formats, RecordFormat};
use crate::wire::checksum::Running;

/// Judges entries by their checksum. Entries of other formats than those that are read cannot be trusted at all.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumVerifier {
    /// What the entries are.
    pub formats: Formats,
    /// Limits of the decode, so that no candidate is larger than what may be read.
    pub limits: Limits,
    /// Which entries are damage when their checksum is wrong.
    pub checksums: Checksums,
}

/// Whose checksums are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// Of every entry.
    All,
    /// Of entries that are transaction markers or may have been: they are small, nothing else of an entry is looked at.
    OfMarkers,
    /// Of none.
    None,
}

impl Checksums {
    /// Those that a scan for transactions compares. Where the decode that follows skips damage, a batch with a wrong checksum must neither begin
    /// nor end one.
    pub fn of_scan(skips_damage: bool) -> Self {
        if skips_damage { Self::All } else { Self::OfMarkers }
    }
}

/// The largest size that the field can tell.
const MOST_SIZE: u64 = 0x7fff_ffff;
/// Where the magic is, counted from the start of an entry.
const MAGIC_AT: usize = 16;

impl ChecksumVerifier {
    /// A verifier for what a decode with these options reads.
    pub fn of(options: &DecodeOptions) -> Self {
        let checksums = if options.check_crc { Checksums::All } else { Checksums::None };
        Self { formats: options.formats, limits: options.limits, checksums }
    }

    fn compares(&self, header: &BatchHeader) -> bool {
        match self.checksums {
            Checksums::All => true,
            Checksums::OfMarkers => may_be_marker(header),
            Checksums::None => false,
        }
    }

    /// The first byte of the largest size that an entry may have.
    fn top(&self) -> u8 {
        let [_, _, _, _, top, _, _, _] = self.limits.max_batch_bytes.min(MOST_SIZE).to_be_bytes();
        top
    }

    /// What entries behind damage may be. Whole batches of magic 3 are found where they are not read, too: they are refused then, not lost.
    fn searched_formats(&self) -> Formats {
        if self.formats == Formats::Auto { Formats::Every } else { self.formats }
    }

    fn is_allowed(&self, len: usize) -> bool {
        u64::try_from(len).is_ok_and(|len| self.limits.ensure_batch_bytes(len).is_ok())
    }
}

impl Verifier for ChecksumVerifier {
    fn damage_of(&self, entry: &[u8], magic: i8) -> Option<Error> {
        // Bytes out of step look like an entry of another format now and then: its length needs the same proof as a broken one's.
        match parse_header(Frame { position: 0, magic, bytes: entry }, self.formats, 0) {
            Ok(header) if self.compares(&header) => verify(entry, &header).err().map(|error| error.in_batch(header.base_offset)),
            Ok(_) => None,
            Err(error) => Some(error),
        }
    }

    fn is_valid(&self, entry: &[u8]) -> bool {
        let Some(magic) = entry.get(self.reach()) else { return false };
        let frame = Frame { position: 0, magic: i8::from_be_bytes([*magic]), bytes: entry };
        parse_header(frame, self.searched_formats(), 0).is_ok_and(|header| verify(entry, &header).is_ok())
    }

    fn claim(&self, front: &[u8]) -> Claim {
        let magic = front.get(self.reach()).map(|magic| i8::from_be_bytes([*magic]));
        match magic.and_then(|magic| self.searched_formats().of_magic(magic)) {
            Some(RecordFormat::V2) => self.batch_claim(front),
            Some(RecordFormat::V3) => self.proposed_claim(front),
            Some(RecordFormat::V0 | RecordFormat::V1) => self.message_claim(front),
            Some(RecordFormat::V07) => self.v07_claim(front),
            None => Claim::No,
        }
    }

    fn checksum_of(&self, front: &[u8]) -> Option<EntryChecksum> {
        let magic = i8::from_be_bytes([*front.get(self.reach())?]);
        let stored_at = |at: usize| front.get(at..)?.first_chunk().copied().map(u32::from_be_bytes);
        let (start, stored, running) = match self.searched_formats().of_magic(magic)? {
            RecordFormat::V2 | RecordFormat::V3 => (v2::layout::CHECKSUMMED, stored_at(v2::layout::CRC)?, Running::crc32c()),
            RecordFormat::V0 | RecordFormat::V1 => (v0_v1::layout::CHECKSUMMED, stored_at(v0_v1::layout::CRC)?, Running::crc32()),
            RecordFormat::V07 => return None,
        };
        Some(EntryChecksum { start, stored, running })
    }

    fn reads(&self, magic: i8) -> bool {
        self.formats.of_magic(magic).is_some()
    }

    fn next(&self, bytes: &[u8]) -> Option<usize> {
        match self.formats {
            Formats::Only(RecordFormat::V07) => memchr::memchr2(0, 1, bytes.get(v07::layout::MAGIC..)?),
            Formats::Auto | Formats::Every => entry_candidates::next(bytes, (0, record_batch::LAST_MAGIC.cast_unsigned()), self.top()),
            Formats::Only(format) => {
                let magic = format.magic().cast_unsigned();
                entry_candidates::next(bytes, (magic, magic), self.top())
            }
        }
    }

    fn reach(&self) -> usize {
        if self.formats.is_v07() { v07::layout::MAGIC } else { MAGIC_AT }
    }
}

impl ChecksumVerifier {
    fn batch_claim(&self, front: &[u8]) -> Claim {
        let Some(head) = front.get(..v2::layout::HEADER_LEN) else { return Claim::Cut };
        let Ok(header) = v2::parse::header(head, 0) else { return Claim::No };
        let Some(len) = claimed_len(head) else { return Claim::No };
        if len < v2::layout::HEADER_LEN || !self.is_allowed(len) || !makes_sense(&header) {
            return Claim::No;
        }
        if front.len() < len { Claim::Long(len) } else { Claim::Whole(len) }
    }

    fn proposed_claim(&self, front: &[u8]) -> Claim {
        let Some(len) = claimed_len(front).filter(|len| *len >= record_batch::MIN_HEADER_LEN && self.is_allowed(*len)) else {
            return Claim::No;
        };
        let Some(head) = front.get(..len.min(record_batch::MAX_HEADER_LEN)) else { return Claim::Cut };
        match record_batch::parse_header(RecordFormat::V3, head, 0) {
            Ok(header) if makes_sense(&header) => {}
            _ => return Claim::No,
        }
        if front.len() < len { Claim::Long(len) } else { Claim::Whole(len) }
    }

    /// A message has few fields, but its lengths must add up.
    fn message_claim(&self, front: &[u8]) -> Claim {
        let Some(len) = claimed_len(front).filter(|len| *len >= v0_v1::layout::MIN_LEN_V0 && self.is_allowed(*len)) else {
            return Claim::No;
        };
        if front.len() < v0_v1::layout::MIN_LEN_V0 {
            return Claim::Cut;
        }
        if !has_message_bits(front) || !v0_v1::parse::adds_up(front, len) {
            return Claim::No;
        }
        if front.len() < len { Claim::Long(len) } else { Claim::Whole(len) }
    }
}

impl ChecksumVerifier {
    /// There is little to hold on to in 0.7. An empty payload, whose checksum is 0, could be any zeros, and is not trusted.
    fn v07_claim(&self, front: &[u8]) -> Claim {
        let Some(len) = v07::parse::claimed_len(front).filter(|len| *len > v07::layout::PAYLOAD_V1 && self.is_allowed(*len)) else {
            return Claim::No;
        };
        let has_odd_bits = front.get(v07::layout::MAGIC) == Some(&1) && front.get(v07::layout::ATTRIBUTES).is_some_and(|bits| *bits > 3);
        match (has_odd_bits, front.len() < len) {
            (true, _) => Claim::No,
            (false, true) => Claim::Long(len),
            (false, false) => Claim::Whole(len),
        }
    }
}

/// True when offset and attributes are those of a message that somebody may have written.
fn has_message_bits(entry: &[u8]) -> bool {
    let unused = if entry.get(MAGIC_AT) == Some(&0) { 0xf8 } else { 0xf0 };
    let attributes = entry.get(v0_v1::layout::ATTRIBUTES).copied().unwrap_or(u8::MAX);
    entry.first().is_some_and(|sign| *sign < 0x80) && attributes & unused == 0 && attributes & 0x07 <= 3
}

fn claimed_len(head: &[u8]) -> Option<usize> {
    let size = head.get(8..LOG_OVERHEAD)?.first_chunk::<4>()?;
    usize::try_from(i32::from_be_bytes(*size)).ok()?.checked_add(LOG_OVERHEAD)
}

/// True for a header that a producer or a broker may have written. Contradictory headers are allowed: a batch with the right checksum is found
/// after damage, as it is read without damage.
fn makes_sense(header: &BatchHeader) -> bool {
    header.unused_bits() == 0
        && !matches!(header.compression(), CompressionType::Unknown(_))
        && header.base_offset >= 0
        && header.count.is_some_and(|count| count >= 0)
}
