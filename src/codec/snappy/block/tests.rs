//! `snap` is the oracle: the same verdict for the same reason, and the same bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::raw::declared_len;
use super::*;
use crate::codec::testing::hard_to_compress;

/// Decompresses a block, and holds that against `snap`.
fn check(block: &[u8]) {
    if block.is_empty() {
        // Refused before it comes here; of its length snap says 0.
        return;
    }
    let Some((declared, elements)) = declared_len(block) else {
        // snap takes no bytes at all for a block of nothing.
        assert!(block.is_empty() || snap::raw::decompress_len(block).is_err());
        return;
    };
    assert_eq!(snap::raw::decompress_len(block), Ok(declared));
    if declared > 1 << 22 {
        return;
    }
    let mut output = vec![0xa5; declared];
    let found = decompress(elements, &mut output);
    let mut expected = vec![0; declared];
    match snap::raw::Decoder::new().decompress(block, &mut expected) {
        Ok(len) => assert_eq!((found, output.get(..)), (Ok(()), expected.get(..len))),
        Err(error) => assert_eq!(found, Err(explain(&error)), "{error}"),
    }
}

fn explain(error: &snap::Error) -> &'static str {
    match error {
        snap::Error::HeaderMismatch { .. } => "the block ends before its declared length",
        snap::Error::Literal { .. } => "a literal runs past the block",
        snap::Error::CopyRead { .. } => "a copy is cut short",
        snap::Error::CopyWrite { .. } => "a copy runs past the declared length",
        snap::Error::Offset { .. } => "a copy reaches back before the block",
        _ => "the block is corrupt",
    }
}

fn compressed(input: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(input).unwrap()
}

/// An element by its kind, its length and its distance, encoded so that it means them as far as it can.
fn element(kind: u8, len: usize, distance: usize) -> (Vec<u8>, usize) {
    let byte = |number: usize| u8::try_from(number & 0xff).unwrap();
    let long = |len: usize| byte((len - 1) << 2);
    match kind {
        0 => ([vec![long(len.min(60))], vec![7; len.min(60)]].concat(), len.min(60)),
        1 => ([vec![60 << 2, byte(len - 1)], vec![8; len]].concat(), len),
        2 => ([vec![62 << 2, byte(len - 1), 0, 0], vec![9; len]].concat(), len),
        3 => {
            let len = 4 + len % 8;
            (vec![byte((len - 4) << 2 | 1 | (distance >> 8 & 7) << 5), byte(distance)], len)
        }
        4 => (vec![long(len) | 2, byte(distance), byte(distance >> 8)], len),
        _ => (vec![long(len) | 3, byte(distance), byte(distance >> 8), 0, 0], len),
    }
}

/// A block whose copies reach back to what is there, but for some.
fn block_of(elements: &[(u8, usize, usize)]) -> Vec<u8> {
    let (mut bytes, mut len) = (Vec::new(), 0);
    for (kind, wanted, distance) in elements {
        // The last of the distances are left as they are, whether or not they reach back too far.
        let distance = if *distance < 60_000 { 1 + distance % len.max(1) } else { *distance };
        let (element, added) = element(*kind, *wanted, distance);
        bytes.extend(element);
        len += added;
    }
    [varint(len), bytes].concat()
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f | 0x80).unwrap());
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

/// Returns pieces for `joined`: literals, and a distance and a length.
fn pieces() -> impl Strategy<Value = Vec<(Vec<u8>, usize, usize)>> {
    let most = if cfg!(miri) { 30 } else { 600 };
    vec((vec(any::<u8>(), 0..40), 0_usize..80_000, 0_usize..400), 0..most)
}

/// Joins pieces: the literals of each, then a repetition of that length from that distance back.
fn joined(pieces: &[(Vec<u8>, usize, usize)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (literals, distance, len) in pieces {
        bytes.extend_from_slice(literals);
        if let Some(from) = bytes.len().checked_sub(1 + distance % bytes.len().max(1)) {
            bytes.extend((0..*len).map(|index| index + from).map_while(|at| bytes.get(at).copied()).collect::<Vec<_>>());
        }
    }
    bytes
}

proptest! {
    #[test]
    fn blocks_that_snap_compresses(pieces in pieces()) {
        check(&compressed(&joined(&pieces)));
    }

    #[test]
    fn elements_of_every_kind(elements in vec((0_u8..6, 1_usize..65, 0_usize..60_050), 0..400)) {
        check(&block_of(&elements));
    }

    #[test]
    fn small_distances(elements in vec((0_u8..6, 1_usize..65, 0_usize..70), 0..400)) {
        check(&block_of(&elements));
    }

    #[test]
    fn damage(
        elements in vec((0_u8..6, 1_usize..65, 0_usize..60_000), 0..200),
        damage in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        kept in any::<proptest::sample::Index>(),
    ) {
        let whole = block_of(&elements);
        check(&whole[..kept.index(whole.len())]);
        let mut damaged = whole;
        for (at, byte) in damage {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        check(&damaged);
    }

    #[test]
    fn noise(block in vec(any::<u8>(), 1..400)) {
        check(&block);
        check(&[varint(block.len() * 4), block].concat());
    }
}

#[test]
fn input_that_is_hard_to_compress() {
    hard_to_compress(|input| check(&compressed(input)));
}

#[test]
fn lengths_that_are_a_little_off() {
    let block = compressed(&b"some of these bytes stand here twice, and some again; ".repeat(8));
    let (declared, elements) = declared_len(&block).unwrap();
    for len in declared - 100..declared + 100 {
        check(&[&varint(len), elements].concat());
    }
}
