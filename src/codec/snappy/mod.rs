//! Snappy as Kafka's clients write it: one raw block, or the chunks of snappy-java ("xerial").
//!
//! Sources: `SnappyCompression` of Kafka's clients, `SnappyInputStream` and `SnappyCodec` of snappy-java 1.1.10.

mod block;
mod compress;
mod raw;
mod target;
mod xerial;

pub use compress::Compressor;
pub use xerial::MAGIC as XERIAL_MAGIC;

use super::{Remark, bad};
use crate::error::{Error, Result};
use target::{Declared, Target, Within};

/// Unpacks a stream of either framing into memory of the caller's, and gives how many bytes that is.
///
/// # Errors
/// `Codec` when the stream is bad, `Limit` when it unpacks to more than `room`.
pub fn unpack_to(input: &[u8], room: &mut [u8]) -> Result<usize> {
    let mut within = Within::new(room);
    unpack(input, &mut within, None)?;
    Ok(within.len())
}

/// Bytes that a stream of either framing says it unpacks to: a claim, which is no more than its blocks can hold.
///
/// # Errors
/// `Codec` when the stream is bad, as far as its framing shows it.
pub fn unpacked_len(input: &[u8]) -> Result<usize> {
    let mut declared = Declared::default();
    unpack(input, &mut declared, None)?;
    Ok(declared.len())
}

/// Unpacks a stream of either framing.
pub(super) fn unpack(input: &[u8], out: &mut impl Target, remarks: Option<&mut Vec<Remark>>) -> Result<()> {
    if input.is_empty() {
        return Err(fault("COD-S2", "the input is empty"));
    }
    match xerial::chunks(input) {
        Some(chunks) => xerial::unpack(chunks, out, remarks),
        None => raw::unpack(input, out),
    }
}

#[cold]
fn fault(rule: &'static str, fault: &'static str) -> Error {
    bad("snappy", rule, fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Sink;

    #[test]
    fn a_stream_is_unpacked_into_memory_of_the_callers() {
        let plain: Vec<u8> = (0..200_000_u32).map(|n| (n / 7).to_le_bytes()[0]).collect();
        let mut packed = Sink::default();
        Compressor::default().compress((&plain, 0), &mut packed).unwrap();
        let mut room = vec![1; plain.len() + 3];
        assert_eq!(unpacked_len(packed.bytes()), Ok(plain.len()));
        assert_eq!(unpack_to(packed.bytes(), &mut room), Ok(plain.len()));
        assert!(room.starts_with(&plain) && room.ends_with(&[1; 3]));
        let short = unpack_to(packed.bytes(), &mut room[..plain.len() - 1]).unwrap_err();
        assert_eq!(short.kind().code(), "limit");
        assert_eq!(unpack_to(b"\x05\x10hello", &mut room), Ok(5));
        assert_eq!(unpack_to(b"\x05\x10hell", &mut room).map_err(|error| error.rule()), Err("COD-S1"));
        assert_eq!(unpacked_len(b"\xff\xff\xff\xff\x07\x10hello").map_err(|error| error.rule()), Err("COD-S9"));
    }
}
