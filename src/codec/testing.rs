//! What the unit tests of this room share: one call, one outcome to compare.

use super::{Codec, Plain, Remark, SLACK, Unpacker};
use crate::limits::{Budget, Limits};

/// What unpacking gave.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The bytes and the remarks.
    Plain(Vec<u8>, Vec<Remark>),
    /// The rule that is broken.
    Error(&'static str),
}

impl Outcome {
    /// These bytes, without a remark.
    pub(super) fn plain(bytes: &[u8]) -> Self {
        Self::Plain(bytes.to_vec(), Vec::new())
    }
}

/// Unpacks under the default limits.
pub(super) fn unpack(codec: Codec, input: &[u8]) -> Outcome {
    unpack_within(&Limits::default(), codec, input)
}

/// Unpacks twice with the same contexts, with and without remarks: only the remarks may differ, and an error leaves nothing behind.
pub(super) fn unpack_within(limits: &Limits, codec: Codec, input: &[u8]) -> Outcome {
    let (mut unpacker, mut plain, mut remarks) = (Unpacker::default(), Plain::default(), Vec::new());
    let budget = Budget::for_entry(limits, input.len());
    let first = unpacker.unpack(codec, input, &mut plain, &budget, None);
    let silent = plain.bytes().to_vec();
    let second = unpacker.unpack(codec, input, &mut plain, &budget, Some(&mut remarks));
    assert_eq!((&first, silent.as_slice()), (&second, plain.bytes()));
    assert_eq!(plain.readable().len(), plain.len() + SLACK);
    match second {
        Ok(()) => Outcome::Plain(silent, remarks),
        Err(error) => {
            assert!(plain.is_empty());
            Outcome::Error(error.rule())
        }
    }
}

/// Input that compressors get wrong: nothing, lengths about each limit, one byte again and again, noise, and repetitions at every distance
/// that 16 bits hold and one more. Under Miri, where a byte takes a thousand times as long, the short ones.
pub(super) fn hard_to_compress(mut check: impl FnMut(&[u8])) {
    let (most, step) = if cfg!(miri) { (4096, 23) } else { (200_000, 1) };
    let noise = noise(most);
    let long = [4095, 4096, 32_767, 32_768, 65_534, 65_535, 65_536, 65_537, 131_072, 200_000];
    for len in (0..300).step_by(step).chain(long.into_iter().filter(|len| *len <= most)) {
        check(&vec![7; len]);
        check(&noise[..len]);
        check(&noise.iter().map(|byte| b'a' + byte % 2).take(len).collect::<Vec<_>>());
    }
    let distances = [4, 5, 7, 8, 9, 2047, 2048, 32_768, 65_519, 65_534, 65_535, 65_536, 65_537, 100_000];
    for distance in distances.into_iter().filter(|distance| *distance < most) {
        check(&noise[..distance].repeat(1 + most / distance));
        check(&[&noise[..distance], &noise[..20]].concat());
    }
}

/// Bytes that look like chance, the same every time.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(len).collect()
}
