//! Lengths and checksums put right, so that what the fuzzer changed reaches the code behind them.

use logsegment::wire::checksum::{crc32, crc32c};

/// Length and offset in front of an entry of Kafka 0.8 and later.
const OVERHEAD: usize = 12;
/// Bytes up to and with the magic.
const TO_MAGIC: usize = 17;

/// Puts checksums right, and lengths too where they are out of the input.
pub type Mend = fn(&mut [u8], bool);

/// How the fuzzer mends inputs of a target; `None` for those that have nothing to be mended.
pub fn mend_of(target: &str) -> Option<Mend> {
    match target {
        "auto" | "v0_v1" | "v2" | "v3" | "plugin" | "framing" => Some(mend_entries),
        "v07" => Some(mend_v07),
        "convert" | "salvage" | "inspect" => Some(mend_chosen),
        _ => None,
    }
}

/// Of entries with an offset: magic 0 to 3.
pub fn mend_entries(mut bytes: &mut [u8], with_lengths: bool) {
    while bytes.len() > TO_MAGIC {
        let claimed = u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize;
        let mut len = claimed.saturating_add(OVERHEAD);
        if len > bytes.len() || len <= TO_MAGIC {
            if !with_lengths {
                return;
            }
            len = bytes.len();
            bytes[8..12].copy_from_slice(&((len - OVERHEAD) as u32).to_be_bytes());
        }
        let (entry, rest) = bytes.split_at_mut(len);
        seal(entry);
        bytes = rest;
    }
}

/// The checksum of one whole entry.
pub fn seal(entry: &mut [u8]) {
    let is_batch = entry[16] >= 2;
    let (crc_at, covered_from) = if is_batch { (17, 21) } else { (12, 16) };
    let Some(covered) = entry.get(covered_from..) else { return };
    let crc = if is_batch { crc32c(covered) } else { crc32(covered) };
    entry[crc_at..crc_at + 4].copy_from_slice(&crc.to_be_bytes());
}

/// Of messages of Kafka 0.7: a length, the magic, for magic 1 attributes, and the checksum of the rest.
pub fn mend_v07(mut bytes: &mut [u8], with_lengths: bool) {
    while bytes.len() > 9 {
        let claimed = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let mut len = claimed.saturating_add(4);
        if len > bytes.len() || len < 10 {
            if !with_lengths {
                return;
            }
            len = bytes.len();
            bytes[..4].copy_from_slice(&((len - 4) as u32).to_be_bytes());
        }
        let (message, rest) = bytes.split_at_mut(len);
        let crc_at = if message[4] == 0 { 5 } else { 6 };
        let crc = crc32(message.get(crc_at + 4..).unwrap_or_default());
        if let Some(stored) = message.get_mut(crc_at..crc_at + 4) {
            stored.copy_from_slice(&crc.to_be_bytes());
        }
        bytes = rest;
    }
}

/// Of entries behind four bytes of choices, of which the first says what they are (`Choices::formats`).
fn mend_chosen(bytes: &mut [u8], with_lengths: bool) {
    let Some((choices, entries)) = bytes.split_at_mut_checked(4) else { return };
    let mend = if choices[0] % 7 == 6 { mend_v07 } else { mend_entries };
    mend(entries, with_lengths);
}
