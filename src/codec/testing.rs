//! Shared by the unit tests of the codecs: one call, one outcome to compare.

use super::{Codec, CodecFinding, Decompressed, Decompressor, SLACK};
use crate::limits::{Budget, Limits};

/// The result of a decompression.
#[derive(Debug, PartialEq)]
pub(super) enum DecompressionOutcome {
    /// The bytes and the findings.
    Decompressed(Vec<u8>, Vec<CodecFinding>),
    /// The rule that is broken.
    Error(&'static str),
}

impl DecompressionOutcome {
    /// These bytes, without a finding.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self::Decompressed(bytes.to_vec(), Vec::new())
    }
}

/// Decompresses under the default limits.
pub(super) fn decompress(codec: Codec, input: &[u8]) -> DecompressionOutcome {
    decompress_within(&Limits::default(), codec, input)
}

/// Decompresses twice with the same contexts, with and without findings: only the findings may differ, and an error leaves no output.
pub(super) fn decompress_within(limits: &Limits, codec: Codec, input: &[u8]) -> DecompressionOutcome {
    let (mut decompressor, mut buffer, mut findings) = (Decompressor::default(), Decompressed::default(), Vec::new());
    let budget = Budget::for_entry(limits, input.len());
    let first = decompressor.decompress(codec, input, &mut buffer, &budget, None);
    let silent = buffer.bytes().to_vec();
    let second = decompressor.decompress(codec, input, &mut buffer, &budget, Some(&mut findings));
    assert_eq!((&first, silent.as_slice()), (&second, buffer.bytes()));
    assert_eq!(buffer.readable().len(), buffer.len() + SLACK);
    match second {
        Ok(()) => DecompressionOutcome::Decompressed(silent, findings),
        Err(error) => {
            assert!(buffer.is_empty());
            DecompressionOutcome::Error(error.rule())
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
