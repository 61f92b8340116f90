//! Kinds of damage. Each takes the bytes of a stretch and says in words what it did.

use std::ops::Range;

use logsegment::wire::checksum::{crc32, crc32c};

use super::random::Random;

/// What is damaged: a stretch, where its entries lie in it, and bytes of another file.
pub struct Stretch<'a> {
    pub bytes: &'a [u8],
    pub entries: &'a [Range<usize>],
    pub donor: &'a [u8],
    pub is_v07: bool,
}

/// Bytes with one damage or a few, and which.
pub fn damaged(stretch: &Stretch<'_>, random: &mut Random) -> (Vec<u8>, String) {
    let mut bytes = stretch.bytes.to_vec();
    // Mostly one, so that what it leads to can be told.
    let times = if random.below(4) == 0 { 2 + random.below(3) } else { 1 };
    let told: Vec<_> = (0..times).map(|_| damage(&mut bytes, stretch, random)).collect();
    (bytes, told.join(", "))
}

/// The same inside of one entry, whose length and checksum fit again afterwards.
pub fn resealed(stretch: &Stretch<'_>, random: &mut Random) -> (Vec<u8>, String) {
    let entry = stretch.entries[random.below(stretch.entries.len())].clone();
    let field = Checksum::of(&stretch.bytes[entry.clone()], stretch.is_v07);
    let mut covered = stretch.bytes[entry.start + field.covered..entry.end].to_vec();
    let times = 1 + random.below(3);
    let told: Vec<_> = (0..times).map(|_| change(&mut covered, 0..field.fields, stretch.donor, random)).collect();
    let mut made = stretch.bytes[entry.start..entry.start + field.covered].to_vec();
    made.extend(covered);
    field.seal(&mut made);
    let bytes = [&stretch.bytes[..entry.start], &made, &stretch.bytes[entry.end..]].concat();
    (bytes, format!("resealed at {}: {}", entry.start, told.join(", ")))
}

fn damage(bytes: &mut Vec<u8>, stretch: &Stretch<'_>, random: &mut Random) -> String {
    let entry = stretch.entries[random.below(stretch.entries.len())].clone();
    if random.below(8) == 0 && entry.end <= bytes.len() {
        return wrong_length(bytes, entry, stretch.is_v07, random);
    }
    change(bytes, entry.start..entry.start + 61, stretch.donor, random)
}

/// One change somewhere, every second time among the fields of a header.
fn change(bytes: &mut Vec<u8>, fields: Range<usize>, donor: &[u8], random: &mut Random) -> String {
    let at = match random.below(2) {
        0 => random.below(bytes.len()),
        _ => (fields.start + random.below(fields.len())).min(bytes.len().saturating_sub(1)),
    };
    let most = random.below(5) * 100 + 8;
    let len = 1 + random.below((bytes.len() - at).min(most));
    if at >= bytes.len() {
        bytes.push(random.byte());
        return "push".into();
    }
    match random.below(11) {
        0..=2 => {
            let bit = random.below(8);
            bytes[at] ^= 1 << bit;
            format!("flip {at}/{bit}")
        }
        3 | 4 => {
            bytes[at] = random.byte();
            format!("set {at} to {}", bytes[at])
        }
        5 => {
            let end = (at + len).min(bytes.len());
            bytes[at..end].fill(0);
            format!("zeros {at}..{end}")
        }
        6 => {
            let end = if random.below(2) == 0 { bytes.len() } else { (at + len).min(bytes.len()) };
            bytes.drain(at..end);
            format!("cut {at}..{end}")
        }
        7 => {
            let inserted = random.bytes(len.min(64));
            bytes.splice(at..at, inserted);
            format!("insert {len} at {at}")
        }
        8 => {
            let copy = bytes[at..(at + len).min(bytes.len())].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
            format!("copy {at}+{len} to {to}")
        }
        9 => swap(bytes, at, len, random),
        _ => {
            let from = random.below(donor.len());
            let taken = donor[from..donor.len().min(from + len)].to_vec();
            let end = (at + taken.len()).min(bytes.len());
            bytes.splice(at..end, taken);
            format!("splice {from}+{len} of another file over {at}..{end}")
        }
    }
}

/// Two runs of bytes change places.
fn swap(bytes: &mut [u8], at: usize, len: usize, random: &mut Random) -> String {
    let middle = (at + len).min(bytes.len());
    let end = (middle + 1 + random.below(len)).min(bytes.len());
    bytes[at..end].rotate_left(middle - at);
    format!("swap {at}..{middle} and {middle}..{end}")
}

/// A length field that is nearly right, or claims far too much.
fn wrong_length(bytes: &mut [u8], entry: Range<usize>, is_v07: bool, random: &mut Random) -> String {
    let at = entry.start + if is_v07 { 0 } else { 8 };
    let said = i32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let rest = (bytes.len() - at - 4) as i32;
    let claims = [
        said.wrapping_sub(1),
        said.wrapping_add(1),
        said / 2,
        said.wrapping_mul(2),
        rest,
        rest - 1,
        rest + 1,
        0,
        -1,
        13,
        14,
        i32::MAX,
        i32::MIN,
        1 << 24,
    ];
    let claim = claims[random.below(claims.len())];
    bytes[at..at + 4].copy_from_slice(&claim.to_be_bytes());
    format!("length {claim} at {at}")
}

/// Where the checksum of an entry stands, and what it covers.
struct Checksum {
    len_at: usize,
    crc_at: usize,
    covered: usize,
    /// Bytes behind `covered` that are fields before the records.
    fields: usize,
    is_castagnoli: bool,
}

impl Checksum {
    fn of(entry: &[u8], is_v07: bool) -> Self {
        let (crc_at, covered, fields, is_castagnoli) = match (is_v07, entry[if is_v07 { 4 } else { 16 }]) {
            (true, 0) => (5, 9, 8, false),
            (true, _) => (6, 10, 8, false),
            (false, 0) => (12, 16, 10, false),
            (false, 1) => (12, 16, 18, false),
            _ => (17, 21, 44, true),
        };
        Self { len_at: if is_v07 { 0 } else { 8 }, crc_at, covered, fields, is_castagnoli }
    }

    fn seal(&self, entry: &mut [u8]) {
        let len = (entry.len() - self.len_at - 4) as u32;
        entry[self.len_at..self.len_at + 4].copy_from_slice(&len.to_be_bytes());
        let covered = &entry[self.covered..];
        let crc = if self.is_castagnoli { crc32c(covered) } else { crc32(covered) };
        entry[self.crc_at..self.crc_at + 4].copy_from_slice(&crc.to_be_bytes());
    }
}
