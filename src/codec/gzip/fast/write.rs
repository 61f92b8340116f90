//! Sequences to bits.

use super::bits::Bits;
use super::block::Sequence;
use super::huffman::{self, Code};
use super::symbols::{DISTANCES, END, LEAST, LITERALS, extra_of_distance, of_length};
use crate::codec::room::Room;

/// The codes of a block.
pub(super) struct Codes {
    literals: [Code; 256],
    /// With the bits that follow them.
    lengths: [(u32, u8); 256],
    distances: [Code; DISTANCES],
    end: Code,
}

impl Codes {
    /// The codes of these lengths.
    pub(super) fn new(literals: &[u8; LITERALS], distances: &[u8; DISTANCES]) -> Self {
        let codes = huffman::codes(literals);
        let mut lengths = [(0, 0); 256];
        for (length, cell) in (0..=u8::MAX).zip(&mut lengths) {
            let (symbol, extra) = of_length(length);
            let code = codes.get(usize::from(symbol)).copied().unwrap_or_default();
            let follows = length & !(u8::MAX << extra);
            *cell = (u32::from(code.bits) | u32::from(follows) << code.len, code.len + extra);
        }
        Self {
            literals: codes.first_chunk().copied().unwrap_or([Code::default(); 256]),
            lengths,
            distances: huffman::codes(distances),
            end: codes.get(END).copied().unwrap_or_default(),
        }
    }

    /// Writes the sequences of `plain`, the literals behind them, and the end of the block.
    pub(super) fn write(&self, sequences: &[Sequence], plain: &[u8], bits: &mut Bits, room: &mut Room<'_>) {
        let mut rest = plain;
        for sequence in sequences {
            let literals = usize::try_from(sequence.literals).unwrap_or(usize::MAX);
            let (literals, behind) = rest.split_at_checked(literals).unwrap_or_default();
            self.put_literals(literals, bits, room);
            self.put_match(sequence, bits, room);
            rest = behind.get(usize::from(sequence.length) + LEAST..).unwrap_or_default();
        }
        self.put_literals(rest, bits, room);
        bits.code(self.end);
        bits.flush(room);
    }

    /// Three codes have room between two flushes.
    #[inline(always)]
    fn put_literals(&self, literals: &[u8], bits: &mut Bits, room: &mut Room<'_>) {
        let (threes, left) = literals.as_chunks::<3>();
        for three in threes {
            for literal in three {
                bits.code(self.literals.get(usize::from(*literal)).copied().unwrap_or_default());
            }
            bits.flush(room);
        }
        for literal in left {
            bits.code(self.literals.get(usize::from(*literal)).copied().unwrap_or_default());
        }
        bits.flush(room);
    }

    /// Both codes and what follows them are 48 bits at most.
    #[inline(always)]
    fn put_match(&self, sequence: &Sequence, bits: &mut Bits, room: &mut Room<'_>) {
        let (length, len) = self.lengths.get(usize::from(sequence.length)).copied().unwrap_or_default();
        bits.add(length.into(), len);
        let extra = extra_of_distance(sequence.symbol);
        bits.code(self.distances.get(usize::from(sequence.symbol)).copied().unwrap_or_default());
        bits.add((sequence.distance & !(u16::MAX << extra)).into(), extra);
        bits.flush(room);
    }
}
