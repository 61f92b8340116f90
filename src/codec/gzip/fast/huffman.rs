//! Prefix codes: the shortest for how often symbols come, no longer than allowed, and numbered as RFC 1951, 3.2.2 does it.

/// No code of DEFLATE is longer.
pub(super) const LONGEST: usize = 15;

/// A code, its first bit lowest.
#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    pub(super) bits: u16,
    pub(super) len: u8,
}

/// A node that joins two others. Nodes are made in the order of their weights.
#[derive(Clone, Copy, Default)]
struct Node {
    weight: u32,
    parent: usize,
    leaves: usize,
}

/// The length of each symbol's code, `most` at most; 0 for what never comes.
///
/// Two symbols have a code even where fewer come: some readers take no lone code.
pub(super) fn lengths<const N: usize>(frequencies: &[u32; N], most: usize) -> [u8; N] {
    let mut lengths = [0; N];
    let mut symbols: Vec<(u32, usize)> = frequencies.iter().copied().zip(0..).filter(|(frequency, _)| *frequency > 0).collect();
    if symbols.len() < 2 {
        let lone = symbols.first().map_or(0, |(_, symbol)| *symbol);
        for symbol in [lone, usize::from(lone == 0)] {
            if let Some(length) = lengths.get_mut(symbol) {
                *length = 1;
            }
        }
        return lengths;
    }
    symbols.sort_unstable();
    let numbers = numbers_of_codes(&symbols, most);
    let ordered = numbers.into_iter().zip(0_u8..=15).rev().flat_map(|(number, length)| std::iter::repeat_n(length, number));
    for ((_, symbol), len) in symbols.into_iter().zip(ordered) {
        if let Some(length) = lengths.get_mut(symbol) {
            *length = len;
        }
    }
    lengths
}

/// How many codes of each length there are, for symbols that come ever more often.
fn numbers_of_codes(symbols: &[(u32, usize)], most: usize) -> [usize; LONGEST + 1] {
    let mut numbers = [0; LONGEST + 1];
    let nodes = joined(symbols);
    let mut depths = vec![0; nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        // The parent of the last one is itself, and its depth still 0.
        let depth = depths.get(node.parent).map_or(0, |depth| depth + usize::from(node.parent != index));
        if let Some(own) = depths.get_mut(index) {
            *own = depth;
        }
        if let Some(number) = numbers.get_mut((depth + 1).min(most)) {
            *number += node.leaves;
        }
    }
    shorten(&mut numbers, most);
    numbers
}

/// The tree: the two lightest of leaves and nodes are joined until one is left.
fn joined(symbols: &[(u32, usize)]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::with_capacity(symbols.len());
    let mut leaves = symbols.iter().map(|(weight, _)| *weight).peekable();
    let mut oldest = 0;
    for index in 1..symbols.len() {
        let mut node = Node { parent: index - 1, ..Node::default() };
        for _ in 0..2 {
            let lightest = nodes.get_mut(oldest);
            let leaf = leaves.next_if(|leaf| lightest.as_ref().is_none_or(|node| *leaf <= node.weight));
            if let Some(leaf) = leaf {
                node.leaves += 1;
                node.weight = node.weight.saturating_add(leaf);
            } else if let Some(lightest) = lightest {
                lightest.parent = index - 1;
                node.weight = node.weight.saturating_add(lightest.weight);
                oldest += 1;
            }
        }
        nodes.push(node);
    }
    nodes
}

/// Makes room for the codes that were longer than `most`, and are counted as of that length: a shorter one becomes longer, and one of them its
/// neighbour, until all fit.
fn shorten(numbers: &mut [usize; LONGEST + 1], most: usize) {
    let taken: usize = numbers.iter().zip(0..=most).skip(1).map(|(number, length)| number << (most - length)).sum();
    for _ in 1 << most..taken {
        let Some(length) = (1..most).rev().find(|length| numbers.get(*length).is_some_and(|number| *number > 0)) else { return };
        for (at, more, fewer) in [(most, 0, 1), (length, 0, 1), (length + 1, 2, 0)] {
            if let Some(number) = numbers.get_mut(at) {
                *number = *number + more - fewer;
            }
        }
    }
}

/// The codes of these lengths.
pub(super) fn codes<const N: usize>(lengths: &[u8; N]) -> [Code; N] {
    let mut next = first_codes(lengths);
    lengths.map(|len| match next.get_mut(usize::from(len)) {
        Some(code) if len > 0 => {
            let bits = code.reverse_bits() >> (u16::BITS - u32::from(len));
            *code += 1;
            Code { bits, len }
        }
        _ => Code::default(),
    })
}

/// The first code of each length.
fn first_codes(lengths: &[u8]) -> [u16; LONGEST + 1] {
    let mut numbers = [0; LONGEST + 1];
    for len in lengths.iter().filter(|len| **len > 0) {
        if let Some(number) = numbers.get_mut(usize::from(*len)) {
            *number += 1;
        }
    }
    let mut next = 0;
    numbers.map(|number| {
        let first = next << 1;
        next = first + number;
        first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of all codes that these take, in the smallest unit.
    fn taken(lengths: &[u8]) -> u32 {
        lengths.iter().filter(|len| **len > 0).map(|len| 1 << (LONGEST - usize::from(*len))).sum()
    }

    #[test]
    fn codes_are_those_of_the_rfcs_example() {
        let codes = codes(&[3, 3, 3, 3, 3, 2, 4, 4]).map(|code| code.bits.reverse_bits() >> (16 - code.len));
        assert_eq!(codes, [2, 3, 4, 5, 6, 0, 14, 15]);
    }

    #[test]
    fn a_symbol_that_comes_often_has_a_short_code() {
        assert_eq!(lengths(&[45, 13, 12, 16, 9, 5, 0], 15), [1, 3, 3, 3, 4, 4, 0]);
        assert_eq!(lengths(&[0, 0, 0], 15), [1, 1, 0]);
        assert_eq!(lengths(&[0, 0, 7], 15), [1, 0, 1]);
        assert_eq!(lengths(&[7, 0, 0], 15), [1, 1, 0]);
    }

    #[test]
    fn lengths_keep_to_the_most_and_use_every_code() {
        let mut fibonacci = [1_u32; 40];
        for index in 2..40 {
            fibonacci[index] = fibonacci[index - 1] + fibonacci[index - 2];
        }
        for most in [6, 7, 9, 15] {
            let lengths = lengths(&fibonacci, most);
            assert_eq!((lengths.iter().max(), taken(&lengths)), (u8::try_from(most).ok().as_ref(), 1 << LONGEST));
            assert!(lengths.is_sorted_by(|a, b| a >= b));
        }
    }

    proptest::proptest! {
        #[test]
        fn every_code_is_used(few in proptest::array::uniform19(0_u32..9), many in proptest::array::uniform32(0_u32..1 << 20)) {
            assert_eq!(taken(&lengths(&few, 7)), 1 << LONGEST);
            assert_eq!(taken(&lengths(&many, 15)), 1 << LONGEST);
        }
    }
}
