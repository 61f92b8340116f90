//! The code lengths of a block, packed themselves (RFC 1951, 3.2.7).

use super::bits::Bits;
use super::huffman;
use super::symbols::END;
use crate::codec::room::Room;

/// Instructions: lengths of 0 to 15, and three that repeat.
const INSTRUCTIONS: usize = 19;
const REPEAT_LENGTH: u8 = 16;
const REPEAT_ZERO: u8 = 17;
const REPEAT_ZERO_OFTEN: u8 = 18;
/// The length of an instruction's own code has three bits.
const LONGEST: usize = 7;
/// The order in which those lengths are written; what is 0 at its end is left out, but for four.
const ORDER: [usize; INSTRUCTIONS] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LEAST_WRITTEN: usize = 4;

/// A header, ready to be weighed and written.
pub(super) struct Header {
    instructions: Vec<(u8, u8)>,
    frequencies: [u32; INSTRUCTIONS],
    lengths: [u8; INSTRUCTIONS],
    literals: usize,
    distances: usize,
}

impl Header {
    /// Tells these code lengths.
    pub(super) fn new(literals: &[u8], distances: &[u8]) -> Self {
        let (literals, distances) = (used(literals, END + 1), used(distances, 1));
        let mut header = Self {
            instructions: Vec::with_capacity(literals.len() + distances.len()),
            frequencies: [0; INSTRUCTIONS],
            lengths: [0; INSTRUCTIONS],
            literals: literals.len(),
            distances: distances.len(),
        };
        // A run may go over from one to the other.
        for run in [literals, distances].concat().chunk_by(|a, b| a == b) {
            header.tell(run);
        }
        header.lengths = huffman::lengths(&header.frequencies, LONGEST);
        header
    }

    /// Adds the instructions for a run of equal lengths.
    fn tell(&mut self, run: &[u8]) {
        let Some((&length, mut rest)) = run.split_first() else { return };
        if length == 0 {
            rest = run;
        } else {
            self.add(length, 0);
        }
        while rest.len() >= 3 {
            let (instruction, least, most) = match (length, rest.len()) {
                (0, ..11) => (REPEAT_ZERO, 3, 10),
                (0, _) => (REPEAT_ZERO_OFTEN, 11, 138),
                _ => (REPEAT_LENGTH, 3, 6),
            };
            let times = rest.len().min(most);
            self.add(instruction, u8::try_from(times - least).unwrap_or(0));
            rest = rest.get(times..).unwrap_or_default();
        }
        for length in rest {
            self.add(*length, 0);
        }
    }

    fn add(&mut self, instruction: u8, times: u8) {
        self.instructions.push((instruction, times));
        if let Some(frequency) = self.frequencies.get_mut(usize::from(instruction)) {
            *frequency += 1;
        }
    }

    /// Lengths of instructions' codes that are written.
    fn written(&self) -> usize {
        let last = ORDER.iter().rposition(|instruction| self.lengths.get(*instruction).is_some_and(|length| *length > 0));
        last.map_or(0, |last| last + 1).max(LEAST_WRITTEN)
    }

    /// How many bits it takes.
    pub(super) fn bits(&self) -> usize {
        let bits = |(instruction, times): &(u8, u32)| {
            let length = self.lengths.get(usize::from(*instruction)).copied().unwrap_or(0);
            usize::from(length + extra(*instruction)) * usize::try_from(*times).unwrap_or(0)
        };
        let instructions: usize = (0..).zip(self.frequencies).map(|cell| bits(&cell)).sum();
        5 + 5 + 4 + 3 * self.written() + instructions
    }

    /// Writes it.
    pub(super) fn write(&self, bits: &mut Bits, room: &mut Room<'_>) {
        let written = self.written();
        for (number, least, len) in [(self.literals, END + 1, 5), (self.distances, 1, 5), (written, LEAST_WRITTEN, 4)] {
            bits.add(u64::try_from(number - least).unwrap_or(0), len);
        }
        bits.flush(room);
        for instruction in ORDER.iter().take(written) {
            bits.add(self.lengths.get(*instruction).copied().unwrap_or(0).into(), 3);
            bits.flush(room);
        }
        let codes = huffman::codes(&self.lengths);
        for (instruction, times) in &self.instructions {
            bits.code(codes.get(usize::from(*instruction)).copied().unwrap_or_default());
            bits.add((*times).into(), extra(*instruction));
            bits.flush(room);
        }
    }
}

/// Without the zeros at the end, but for the first `least`.
fn used(lengths: &[u8], least: usize) -> &[u8] {
    let end = lengths.iter().rposition(|length| *length > 0).map_or(0, |last| last + 1);
    lengths.get(..end.max(least)).unwrap_or(lengths)
}

/// Bits that say how often.
fn extra(instruction: u8) -> u8 {
    match instruction {
        REPEAT_LENGTH => 2,
        REPEAT_ZERO => 3,
        REPEAT_ZERO_OFTEN => 7,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(literals: &[u8], distances: &[u8]) -> Vec<(u8, u8)> {
        let header = Header::new(literals, distances);
        let mut bytes = [0; 512];
        let (mut room, mut bits) = (Room::new(&mut bytes), Bits::default());
        header.write(&mut bits, &mut room);
        assert_eq!(bits.written(&room), Some(header.bits()));
        header.instructions
    }

    #[test]
    fn runs_are_told_in_short_and_take_the_bits_that_were_said() {
        let mut literals = [0; 288];
        literals[0] = 4;
        literals[12] = 4;
        literals[20..29].fill(4);
        literals[256] = 3;
        let found = instructions(&literals, &[3, 3, 3, 3, 0, 0]);
        let expected: &[_] = &[(4, 0), (18, 0), (4, 0), (17, 4), (4, 0), (16, 3), (4, 0), (4, 0), (18, 127), (18, 78), (3, 0), (16, 1)];
        assert_eq!(found, expected);
    }

    #[test]
    fn at_least_one_distance_is_told() {
        let mut literals = [0; 288];
        literals[255] = 1;
        literals[256] = 1;
        assert_eq!(instructions(&literals, &[0; 32]), [(18, 127), (18, 106), (1, 0), (1, 0), (0, 0)]);
    }
}
