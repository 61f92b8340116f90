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
