//! A block: sequences of literals and matches, how often each symbol comes in them, and the cheapest way to write them.

use super::bits::Bits;
use super::header::Header;
use super::huffman;
use super::symbols::{DISTANCES, END, LEAST, LITERALS, extra_of_distance, extra_of_length, of_distance, of_length};
use super::write::Codes;
use crate::codec::room::Room;

/// Literals, then a match.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    /// Less one.
    pub(super) distance: u16,
    /// The distance's.
    pub(super) symbol: u8,
    /// Less `LEAST`.
    pub(super) length: u8,
}

/// What a matcher found in some bytes.
pub(super) struct Block {
    sequences: Vec<Sequence>,
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
}

/// Code lengths of RFC 1951, 3.2.6.
const FIXED: Lengths = Lengths { literals: fixed_literals(), distances: [5; DISTANCES] };
const STORED: u64 = 0;
const WITH_FIXED_CODES: u64 = 1;
const WITH_CODES: u64 = 2;
/// A stored block is no longer.
const MOST_STORED: usize = 0xffff;

struct Lengths {
    literals: [u8; LITERALS],
    distances: [u8; DISTANCES],
}

impl Default for Block {
    fn default() -> Self {
        Self { sequences: Vec::new(), literals: [0; LITERALS], distances: [0; DISTANCES] }
    }
}

impl Block {
    /// Forgets all and keeps the storage.
    pub(super) fn clear(&mut self) {
        self.sequences.clear();
        self.literals = [0; LITERALS];
        self.distances = [0; DISTANCES];
    }

    /// Adds literals and a match that `LEAST` to `MOST` bytes long and `WINDOW` away at most.
    #[inline(always)]
    pub(super) fn put(&mut self, literals: &[u8], len: usize, distance: usize) {
        self.count(literals);
        let [length, ..] = (len - LEAST).to_le_bytes();
        let [low, high, ..] = (distance - 1).to_le_bytes();
        let distance = u16::from_le_bytes([low, high]);
        let symbol = of_distance(distance);
        if let Some(frequency) = self.literals.get_mut(usize::from(of_length(length).0)) {
            *frequency += 1;
        }
        if let Some(frequency) = self.distances.get_mut(usize::from(symbol)) {
            *frequency += 1;
        }
        let literals = u32::try_from(literals.len()).unwrap_or(0);
        self.sequences.push(Sequence { literals, distance, symbol, length });
    }

    /// Counts literals: those of a sequence, or those behind the last match.
    #[inline(always)]
    pub(super) fn count(&mut self, literals: &[u8]) {
        for literal in literals {
            if let Some(frequency) = self.literals.get_mut(usize::from(*literal)) {
                *frequency += 1;
            }
        }
    }

    /// Writes the block for `plain`, the bytes that it was made of.
    pub(super) fn write(&mut self, plain: &[u8], is_last: bool, bits: &mut Bits, room: &mut Room<'_>) {
        if let Some(frequency) = self.literals.get_mut(END) {
            *frequency = 1;
        }
        let own = Lengths {
            literals: huffman::lengths(&self.literals, huffman::LONGEST),
            distances: huffman::lengths(&self.distances, huffman::LONGEST),
        };
        let header = Header::new(&own.literals, &own.distances);
        let (with_own, with_fixed) = (header.bits() + self.bits(&own), self.bits(&FIXED));
        if stored_bits(plain.len()) <= with_own.min(with_fixed) + self.extra_bits() {
            store(plain, is_last, bits, room);
            return;
        }
        let lengths = if with_own < with_fixed {
            begin(WITH_CODES, is_last, bits);
            header.write(bits, room);
            own
        } else {
            begin(WITH_FIXED_CODES, is_last, bits);
            FIXED
        };
        Codes::new(&lengths.literals, &lengths.distances).write(&self.sequences, plain, bits, room);
    }

    /// How many bits all codes take.
    fn bits(&self, lengths: &Lengths) -> usize {
        weighed(&self.literals, lengths.literals) + weighed(&self.distances, lengths.distances)
    }

    /// How many bits follow codes.
    fn extra_bits(&self) -> usize {
        weighed(&self.literals, (0..).map(extra_of_length)) + weighed(&self.distances, (0..).map(extra_of_distance))
    }
}

fn weighed(frequencies: &[u32], lengths: impl IntoIterator<Item = u8>) -> usize {
    frequencies.iter().zip(lengths).map(|(frequency, len)| usize::try_from(*frequency).unwrap_or(0) * usize::from(len)).sum()
}

const fn fixed_literals() -> [u8; LITERALS] {
    let mut lengths = [8; LITERALS];
    let (_, behind) = lengths.split_at_mut(144);
    let (nines, behind) = behind.split_at_mut(112);
    let (sevens, _) = behind.split_at_mut(24);
    fill(nines, 9);
    fill(sevens, 7);
    lengths
}

const fn fill(mut room: &mut [u8], value: u8) {
    while let Some((first, rest)) = room.split_first_mut() {
        *first = value;
        room = rest;
    }
}

fn begin(kind: u64, is_last: bool, bits: &mut Bits) {
    bits.add(u64::from(is_last) | kind << 1, 3);
}

/// How many bits a stored block takes, without its first three and what fills up their byte.
fn stored_bits(len: usize) -> usize {
    (len + 4 * len.div_ceil(MOST_STORED).max(1)) * 8
}

/// Writes the bytes as they are.
fn store(plain: &[u8], is_last: bool, bits: &mut Bits, room: &mut Room<'_>) {
    let mut chunks = plain.chunks(MOST_STORED).peekable();
    while let Some(chunk) = chunks.next() {
        begin(STORED, is_last && chunks.peek().is_none(), bits);
        bits.align(room);
        let [low, high, ..] = chunk.len().to_le_bytes();
        room.put([low, high, !low, !high]);
        room.copy(chunk, chunk.len());
    }
}
