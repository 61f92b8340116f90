//! An accident to good bytes never changes, unnoticed, what a checksum covers; and the readers agree about it.
//! None of the accidents can forge a checksum but by a chance of one in four thousand million.

use logsegment::columns::OnError;
use logsegment::model::RecordFormat;

use super::choices::Choices;
use super::reading::{self, covered_rows, options};
use super::writing::Written;

/// What happens to the bytes; places count modulo their length.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip { at: u16, mask: u8 },
    Zeros { at: u16, len: u8 },
    Cut { at: u16, len: u8 },
    Truncate { at: u16 },
    Double { at: u16, len: u8 },
    Swap { one: u16, other: u16, len: u8 },
}

/// Six bytes choose the accident, the others what is written.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let damage = Damage::choose(&mut choices);
    let written = Written::choose(&mut choices);
    let (clean, options) = (written.encode(), options(written.formats()));
    let damaged = damage.inflict(&clean);
    reading::check(&damaged, &options);
    if written.format == RecordFormat::V07 {
        // Its checksum covers neither codec nor length: a plain message may turn into a compressed one.
        return;
    }
    let known = covered_rows(&clean, &options, OnError::Raise);
    for row in covered_rows(&damaged, &options, OnError::Skip) {
        assert!(known.contains(&row), "{damage:?} made up a record: {row:?}");
    }
}

impl Damage {
    fn choose(choices: &mut Choices<'_>) -> Self {
        let kind = choices.byte();
        let (at, other, len) = (choices.u16(), choices.u16(), choices.byte());
        match kind % 6 {
            0 => Self::Flip { at, mask: len },
            1 => Self::Zeros { at, len },
            2 => Self::Cut { at, len },
            3 => Self::Truncate { at },
            4 => Self::Double { at, len },
            _ => Self::Swap { one: at, other, len },
        }
    }

    /// The bytes after the accident.
    fn inflict(self, clean: &[u8]) -> Vec<u8> {
        let mut bytes = clean.to_vec();
        if bytes.is_empty() {
            return bytes;
        }
        let place = |at: u16| usize::from(at) % clean.len();
        let range = |at: u16, len: u8| place(at)..(place(at) + usize::from(len)).min(clean.len());
        match self {
            Self::Flip { at, mask } => bytes[place(at)] ^= mask,
            Self::Zeros { at, len } => bytes[range(at, len)].fill(0),
            Self::Cut { at, len } => drop(bytes.drain(range(at, len))),
            Self::Truncate { at } => bytes.truncate(place(at)),
            Self::Double { at, len } => drop(bytes.splice(place(at)..place(at), clean[range(at, len)].to_vec())),
            Self::Swap { one, other, len } => {
                let len = usize::from(len).min(clean.len() - place(one)).min(clean.len() - place(other));
                bytes[place(one)..place(one) + len].copy_from_slice(&clean[place(other)..place(other) + len]);
                bytes[place(other)..place(other) + len].copy_from_slice(&clean[place(one)..place(one) + len]);
            }
        }
        bytes
    }
}
