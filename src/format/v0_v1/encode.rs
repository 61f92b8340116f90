//! Messages as bytes: uncompressed messages, and wrappers around compressed ones.

use super::layout::{CHECKSUMMED, CRC, MIN_LEN_V0, MIN_LEN_V1, SIZE};
use crate::error::{ErrorKind, Result};
use crate::model::RecordFormat;
use crate::wire::{Sink, checksum};

/// What is in a message besides its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// V0 or V1.
    pub format: RecordFormat,
    /// As stored: absolute, or relative in a wrapper of magic 1.
    pub offset: i64,
    /// ms; magic 0 has none.
    pub timestamp: i64,
    /// The attribute bits.
    pub attributes: u8,
}

/// Bytes of an entry with null key and null value; in a wrapper, of what is around the compressed entries.
#[inline]
pub fn overhead(format: RecordFormat) -> usize {
    if format == RecordFormat::V0 { MIN_LEN_V0 } else { MIN_LEN_V1 }
}

/// Bytes of an entry.
#[inline]
pub fn entry_len(format: RecordFormat, key: Option<&[u8]>, value: Option<&[u8]>) -> usize {
    overhead(format) + key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len)
}

/// Writes an uncompressed message after what `out` holds.
///
/// # Errors
/// `Limit` when it has more bytes than its size can say.
pub fn put_message(out: &mut Sink, header: &MessageHeader, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<()> {
    let start = out.len();
    put_front(out, header);
    put_nullable(out, key)?;
    put_nullable(out, value)?;
    seal(out, start)
}

/// Leaves space for the wrapper that `seal_wrapper` writes; what is written next are its compressed entries.
pub fn open_wrapper(out: &mut Sink, format: RecordFormat) {
    let blank = [0; MIN_LEN_V1];
    out.put(blank.get(..overhead(format)).unwrap_or_default());
}

/// Writes the wrapper at `start` around all that was written after it: a message without key, whose value that is (L8-20).
///
/// # Errors
/// `Limit` when it has more bytes than its size can say.
pub fn seal_wrapper(out: &mut Sink, start: usize, header: &MessageHeader) -> Result<()> {
    let value_at = start + overhead(header.format);
    let value_len = stored_len(out.len().saturating_sub(value_at))?;
    let mut front = Sink::default();
    put_front(&mut front, header);
    front.put(&NULL);
    front.put(&value_len);
    out.patch(start, front.bytes());
    seal(out, start)
}

/// The length of null.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// Offset to timestamp; size and checksum are left for later.
fn put_front(out: &mut Sink, header: &MessageHeader) {
    out.put(&header.offset.to_be_bytes());
    out.put(&[0; CHECKSUMMED - SIZE]);
    out.put(&header.format.magic().to_be_bytes());
    out.put(&[header.attributes]);
    if header.format != RecordFormat::V0 {
        out.put(&header.timestamp.to_be_bytes());
    }
}

fn put_nullable(out: &mut Sink, bytes: Option<&[u8]>) -> Result<()> {
    match bytes {
        None => out.put(&NULL),
        Some(bytes) => {
            out.put(&stored_len(bytes.len())?);
            out.put(bytes);
        }
    }
    Ok(())
}

/// Writes size and checksum of the entry that starts at `start` and ends where `out` ends.
fn seal(out: &mut Sink, start: usize) -> Result<()> {
    let size = stored_len(out.len().saturating_sub(start + CRC))?;
    let crc = checksum::crc32(out.from(start + CHECKSUMMED));
    out.patch(start + SIZE, &size);
    out.patch(start + CRC, &crc.to_be_bytes());
    Ok(())
}

fn stored_len(len: usize) -> Result<[u8; 4]> {
    let asked = u64::try_from(len).unwrap_or(u64::MAX);
    let stored =
        i32::try_from(len).map_err(|_| ErrorKind::Limit { limit: "2147483647 bytes of a message", asked, allowed: 0x7fff_ffff })?;
    Ok(stored.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn l8_9_the_examples_come_out_byte_for_byte() {
        let mut out = Sink::default();
        let v0 = MessageHeader { format: RecordFormat::V0, offset: 5, timestamp: -1, attributes: 0 };
        put_message(&mut out, &v0, None, Some(b"hello")).unwrap();
        assert_eq!(hex(out.bytes()), "00000000000000050000001387a77ab20000ffffffff0000000568656c6c6f");
        assert_eq!(out.len(), entry_len(RecordFormat::V0, None, Some(b"hello")));
        out.clear();
        let v1 = MessageHeader { format: RecordFormat::V1, offset: 5, timestamp: 1_600_000_000_000, attributes: 0 };
        put_message(&mut out, &v1, Some(b"k"), Some(b"hello")).unwrap();
        assert_eq!(hex(out.bytes()), "00000000000000050000001cbf2a7673010000000174876e8000000000016b0000000568656c6c6f");
        out.clear();
        put_message(&mut out, &MessageHeader { attributes: 8, ..v1 }, Some(b"k"), Some(b"hello")).unwrap();
        assert!(hex(out.bytes()).contains("bf9335550108"));
    }

    #[test]
    fn l8_20_a_wrapper_is_a_message_without_key() {
        for format in [RecordFormat::V0, RecordFormat::V1] {
            let header = MessageHeader { format, offset: 7, timestamp: 3, attributes: 1 };
            let (mut wrapper, mut message) = (Sink::default(), Sink::default());
            wrapper.put(b"before");
            open_wrapper(&mut wrapper, format);
            wrapper.put(b"compressed");
            seal_wrapper(&mut wrapper, 6, &header).unwrap();
            put_message(&mut message, &header, None, Some(b"compressed")).unwrap();
            assert_eq!(wrapper.from(6), message.bytes());
        }
    }
}
