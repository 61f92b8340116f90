//! Messages of Kafka 0.7 as bytes. Its producers wrote magic 1 alone (L7-6), and so does this.

use super::layout::{ATTRIBUTES, CRC_V1, LENGTH_LEN, PAYLOAD_V1};
use crate::error::{ErrorKind, Result};
use crate::wire::{Sink, checksum};

const MAGIC: u8 = 1;

/// Bytes of an entry around its payload.
pub const OVERHEAD: usize = PAYLOAD_V1;

/// Writes a message after what `out` holds.
///
/// # Errors
/// `Limit` when it has more bytes than its length can say.
pub fn put_message(out: &mut Sink, attributes: u8, payload: &[u8]) -> Result<()> {
    let start = out.len();
    open_message(out);
    out.put(payload);
    seal_message(out, start, attributes)
}

/// Leaves space for what `seal_message` writes; what is written next is the payload.
pub fn open_message(out: &mut Sink) {
    out.put(&[0; OVERHEAD]);
}

/// Writes what comes before the payload of the entry that starts at `start` and ends where `out` ends.
///
/// # Errors
/// `Limit` when it has more bytes than its length can say.
pub fn seal_message(out: &mut Sink, start: usize, attributes: u8) -> Result<()> {
    let len = out.len().saturating_sub(start + LENGTH_LEN);
    let asked = u64::try_from(len).unwrap_or(u64::MAX);
    let length =
        i32::try_from(len).map_err(|_| ErrorKind::Limit { limit: "2147483647 bytes of a message", asked, allowed: 0x7fff_ffff })?;
    let crc = checksum::crc32(out.from(start + OVERHEAD));
    out.patch(start, &length.to_be_bytes());
    out.patch(start + LENGTH_LEN, &[MAGIC]);
    out.patch(start + ATTRIBUTES, &[attributes]);
    out.patch(start + CRC_V1, &crc.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l7_8_the_example_comes_out_byte_for_byte() {
        let mut out = Sink::default();
        put_message(&mut out, 0, b"hello").unwrap();
        assert_eq!(out.bytes(), b"\0\0\0\x0b\x01\0\x36\x10\xa6\x86hello");
    }

    #[test]
    fn l7_9_an_empty_payload_has_a_checksum_of_nothing() {
        let mut out = Sink::default();
        put_message(&mut out, 0, b"").unwrap();
        assert_eq!(out.bytes(), b"\0\0\0\x06\x01\0\0\0\0\0");
    }
}
