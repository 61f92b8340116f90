//! The header and the trailer around the deflated data of a member.
//!
//! magic 2 | method 1 | flags 1 | time 4, hints 1, system 1 | [extra: length 2, bytes] | [name 0] | [comment 0] | [header crc 2]
//! | deflated data | crc 4 | size 4; little-endian.

use crate::codec::error::gzip_error;
use crate::error::{Error, Result};

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;

// Flags. Bits 5 to 7 are reserved; Java does not look at them.
/// The flag of a checksum of the header.
pub const HEADER_CRC: u8 = 0b0_0010;
/// The flag of extra bytes.
pub const EXTRA: u8 = 0b0_0100;
/// The flag of a name.
pub const NAME: u8 = 0b0_1000;
/// The flag of a comment.
pub const COMMENT: u8 = 0b1_0000;

/// Splits the header off; returns the deflated data and all bytes after it.
pub(super) fn split_header(input: &[u8]) -> Result<&[u8]> {
    let (&[first, second, method, flags], after) = input.split_first_chunk::<4>().ok_or_else(cut)?;
    if [first, second] != MAGIC {
        return Err(gzip_error("COD-G1", "the magic is not that of gzip"));
    }
    if method != DEFLATE {
        return Err(gzip_error("COD-G1", "the method is not deflate"));
    }
    let mut rest = after.get(6..).ok_or_else(cut)?;
    if flags & EXTRA != 0 {
        let (len, after) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        rest = after.get(usize::from(u16::from_le_bytes(*len))..).ok_or_else(cut)?;
    }
    if flags & NAME != 0 {
        rest = skip_text(rest)?;
    }
    if flags & COMMENT != 0 {
        rest = skip_text(rest)?;
    }
    if flags & HEADER_CRC != 0 {
        rest = verify_header(input, rest)?;
    }
    Ok(rest)
}

/// Returns the deflated data of a further member; `None` if `rest` does not begin with a member.
///
/// Java looks for no member in 18 bytes or fewer, since none fits, and treats an invalid header as garbage.
pub(super) fn next(rest: &[u8]) -> Option<&[u8]> {
    const TOO_SHORT: usize = 18;
    if rest.len() <= TOO_SHORT { None } else { split_header(rest).ok() }
}

/// Verifies the trailer against the decompressed data; returns the bytes after it (COD-G3).
pub(super) fn verify<'a>(decompressed: &[u8], trailer: &'a [u8]) -> Result<&'a [u8]> {
    let cut = || gzip_error("COD-G3", "the trailer is cut short");
    let (crc, after) = trailer.split_first_chunk::<4>().ok_or_else(cut)?;
    let (size, rest) = after.split_first_chunk::<4>().ok_or_else(cut)?;
    let [a, b, c, d, ..] = decompressed.len().to_le_bytes();
    if *size != [a, b, c, d] {
        return Err(gzip_error("COD-G3", "the size in the trailer is not that of the data"));
    }
    if u32::from_le_bytes(*crc) != crc32fast::hash(decompressed) {
        return Err(gzip_error("COD-G3", "the checksum in the trailer is not that of the data"));
    }
    Ok(rest)
}

/// Skips bytes up to a zero, and the zero.
fn skip_text(bytes: &[u8]) -> Result<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
    bytes.get(end + 1..).ok_or_else(cut)
}

/// Verifies the checksum of the header, which ends where `rest` begins; returns the bytes after it.
fn verify_header<'a>(input: &[u8], rest: &'a [u8]) -> Result<&'a [u8]> {
    let (stored, after) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let header = input.get(..input.len() - rest.len()).unwrap_or_default();
    let [low, high, _, _] = crc32fast::hash(header).to_le_bytes();
    if *stored != [low, high] {
        return Err(gzip_error("COD-G2", "the header checksum does not match"));
    }
    Ok(after)
}

#[cold]
fn cut() -> Error {
    gzip_error("COD-G1", "the header is cut short")
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec::Gzip;
    use crate::codec::CodecFinding;
    use crate::codec::testing::{DecompressionOutcome, decompress};

    const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
    const WORLD: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\x53\x28\xcf\x2f\xca\x49\x01\0\xcb\x42\x3b\x4a\x06\0\0\0";

    /// "hello" after these flags and fields.
    fn hello(flags: u8, fields: &[u8]) -> Vec<u8> {
        let (header, body) = HELLO.split_at_checked(10).unwrap_or_default();
        let mut bytes = [header, fields, body].concat();
        if let Some(byte) = bytes.get_mut(3) {
            *byte = flags;
        }
        bytes
    }

    fn trailing(decompressed: &[u8], bytes: u64) -> DecompressionOutcome {
        DecompressionOutcome::Decompressed(decompressed.to_vec(), vec![CodecFinding::TrailingBytes { bytes }])
    }

    #[test]
    fn cod_g1_not_gzip() {
        for bytes in [b"".as_slice(), b"\x1f", b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15", b"\x1f\x8b\x07\0\0\0\0\0\0\0\x03\0"] {
            assert_eq!(decompress(Gzip, bytes), DecompressionOutcome::Error("COD-G1"), "{bytes:02x?}");
        }
    }

    #[test]
    fn cod_g2_header_fields_are_skipped() {
        assert_eq!(decompress(Gzip, &hello(0x1c, b"\x03\0abcname\0comment\0")), DecompressionOutcome::of(b"hello"));
        assert_eq!(decompress(Gzip, &hello(0xe0, b"")), DecompressionOutcome::of(b"hello"));
        assert_eq!(decompress(Gzip, &hello(0x04, b"\xff\xff")), DecompressionOutcome::Error("COD-G1"));
        let nameless = hello(0x08, b"name").into_iter().map(|byte| byte.max(1)).collect::<Vec<_>>();
        assert_eq!(decompress(Gzip, &nameless), DecompressionOutcome::Error("COD-G1"));
    }

    #[test]
    fn cod_g2_the_header_checksum_is_verified() {
        let header = hello(0x02, b"");
        let crc = crc32fast::hash(header.get(..10).unwrap_or_default()).to_le_bytes();
        let [low, high, ..] = crc;
        assert_eq!(decompress(Gzip, &hello(0x02, &[low, high])), DecompressionOutcome::of(b"hello"));
        assert_eq!(decompress(Gzip, &hello(0x02, &[low, !high])), DecompressionOutcome::Error("COD-G2"));
    }

    #[test]
    fn cod_g2_members_are_one_stream() {
        assert_eq!(decompress(Gzip, &[HELLO, WORLD].concat()), DecompressionOutcome::of(b"hello world"));
        // The size of the last member is too small a guess for the first.
        assert_eq!(decompress(Gzip, &[HELLO, WORLD, HELLO].concat()), DecompressionOutcome::of(b"hello worldhello"));
    }

    #[test]
    fn cod_g2_trailing_bytes_are_reported() {
        assert_eq!(decompress(Gzip, &[HELLO, b"\x01\x02\x03garbage"].concat()), trailing(b"hello", 10));
        assert_eq!(decompress(Gzip, &[HELLO, &[0; 100]].concat()), trailing(b"hello", 100));
        assert_eq!(decompress(Gzip, &[HELLO, WORLD, b"\xff\xff\xff\xff"].concat()), trailing(b"hello world", 4));
        // A header without room for a member after it.
        let cut = WORLD.get(..18).unwrap_or_default();
        assert_eq!(decompress(Gzip, &[HELLO, cut].concat()), trailing(b"hello", 18));
    }

    #[test]
    fn cod_g3_a_cut_member_after_a_member_is_an_error() {
        let cut = WORLD.get(..19).unwrap_or_default();
        assert_eq!(decompress(Gzip, &[HELLO, cut].concat()), DecompressionOutcome::Error("COD-G3"));
    }

    #[test]
    fn cod_g3_every_cut_is_an_error() {
        for len in 0..HELLO.len() {
            let cut = HELLO.get(..len).unwrap_or_default();
            assert!(matches!(decompress(Gzip, cut), DecompressionOutcome::Error("COD-G1" | "COD-G3")), "{len}");
        }
    }

    #[test]
    fn cod_g3_every_flipped_bit_of_the_trailer_is_an_error() {
        for byte in HELLO.len() - 8..HELLO.len() {
            for bit in 0..8 {
                let mut bytes = HELLO.to_vec();
                if let Some(byte) = bytes.get_mut(byte) {
                    *byte ^= 1 << bit;
                }
                assert_eq!(decompress(Gzip, &bytes), DecompressionOutcome::Error("COD-G3"), "{byte} {bit}");
            }
        }
    }
}
