//! The chunks of snappy-java: 16 bytes of header, then raw blocks, each after its length.

use super::raw;
use super::target::BlockTarget;
use crate::codec::CodecFinding;
use crate::codec::error::snappy_error;
use crate::error::Result;
use crate::wire::as_u64;

/// The first bytes of the streams of snappy-java.
pub const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
/// The first four bytes of the magic in place of a chunk length: another stream begins.
const ANOTHER_HEADER: [u8; 4] = *b"\x82SNA";

/// Returns the chunks after the header; `None` if `input` has no such header and is a raw block.
///
/// The two version fields are ignored, as in snappy-java: Redpanda wrote them little-endian (COD-S3).
pub(super) fn chunks(input: &[u8]) -> Option<&[u8]> {
    let (header, chunks) = input.split_first_chunk::<16>()?;
    header.starts_with(&MAGIC).then_some(chunks)
}

/// Decompresses chunk after chunk. One to three bytes at the end are ignored, as in snappy-java (COD-S5).
pub(super) fn decompress(mut rest: &[u8], out: &mut impl BlockTarget, findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        if *length == ANOTHER_HEADER {
            rest = skip_header(after)?;
            continue;
        }
        let (chunk, after) = split_chunk(i32::from_be_bytes(*length), after)?;
        raw::decompress(chunk, out)?;
        if out.is_enough() {
            return Ok(());
        }
        rest = after;
    }
    if let (Some(findings), false) = (findings, rest.is_empty()) {
        findings.push(CodecFinding::TrailingBytes { bytes: as_u64(rest.len()) });
    }
    Ok(())
}

fn split_chunk(length: i32, bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let length = usize::try_from(length).map_err(|_| snappy_error("COD-S4", "a chunk length is negative"))?;
    if length == 0 {
        return Err(snappy_error("COD-S6", "a chunk length is 0"));
    }
    bytes.split_at_checked(length).ok_or_else(|| snappy_error("COD-S5", "a chunk is cut short"))
}

/// Skips the rest of a header between chunks. Here, unlike at the start, snappy-java wants a version of 1 or more.
fn skip_header(bytes: &[u8]) -> Result<&[u8]> {
    let cut = || snappy_error("COD-S4", "a header between chunks is cut short");
    let (magic, after) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let (version, after) = after.split_first_chunk::<4>().ok_or_else(cut)?;
    let (_compatible, after) = after.split_first_chunk::<4>().ok_or_else(cut)?;
    if !MAGIC.ends_with(magic) {
        return Err(snappy_error("COD-S4", "a header between chunks has another magic"));
    }
    if i32::from_be_bytes(*version) < 1 {
        return Err(snappy_error("COD-S4", "a header between chunks has a version below 1"));
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec::Snappy;
    use crate::codec::testing::{DecompressionOutcome, decompress};

    const HEADER: &[u8] = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
    const HELLO: &[u8] = b"\0\0\0\x07\x05\x10hello";

    fn stream(parts: &[&[u8]]) -> DecompressionOutcome {
        decompress(Snappy, &[&[HEADER], parts].concat().concat())
    }

    #[test]
    fn cod_s2_chunks_are_one_stream() {
        assert_eq!(stream(&[HELLO, HELLO]), DecompressionOutcome::of(b"hellohello"));
    }

    #[test]
    fn cod_s2_a_cut_header_is_a_raw_block() {
        assert!(HEADER.get(..15).is_some_and(|cut| matches!(decompress(Snappy, cut), DecompressionOutcome::Error(_))));
    }

    #[test]
    fn cod_s3_the_versions_of_the_first_header_are_ignored() {
        let redpanda = [b"\x82SNAPPY\0\x01\0\0\0\x01\0\0\0", HELLO].concat();
        assert_eq!(decompress(Snappy, &redpanda), DecompressionOutcome::of(b"hello"));
    }

    #[test]
    fn cod_s4_another_header_between_chunks_is_skipped() {
        assert_eq!(stream(&[HELLO, HEADER, HELLO]), DecompressionOutcome::of(b"hellohello"));
    }

    #[test]
    fn cod_s4_there_the_header_must_be_whole_and_of_version_1() {
        assert_eq!(stream(&[HELLO, b"\x82SNAPPY\0\0\0\0\0\0\0\0\x01", HELLO]), DecompressionOutcome::Error("COD-S4"));
        assert_eq!(stream(&[HELLO, b"\x82SNAPPX\0\0\0\0\x01\0\0\0\x01", HELLO]), DecompressionOutcome::Error("COD-S4"));
        assert_eq!(stream(&[HELLO, b"\x82SNAPPY\0\0\0\0\x01\0\0\0"]), DecompressionOutcome::Error("COD-S4"));
    }

    #[test]
    fn cod_s4_other_negative_lengths_are_errors() {
        assert_eq!(stream(&[b"\xff\xff\xff\xfe\x05\x10hello"]), DecompressionOutcome::Error("COD-S4"));
    }

    #[test]
    fn cod_s5_one_to_three_bytes_left_are_reported() {
        for left in 1..=3 {
            let expected = DecompressionOutcome::Decompressed(b"hello".to_vec(), vec![CodecFinding::TrailingBytes { bytes: left }]);
            let zeros = vec![0; usize::try_from(left).unwrap_or_default()];
            assert_eq!(stream(&[HELLO, &zeros]), expected);
        }
    }

    #[test]
    fn cod_s5_a_cut_chunk_is_an_error() {
        assert_eq!(stream(&[b"\0\0\0\x08\x05\x10hello"]), DecompressionOutcome::Error("COD-S5"));
        assert_eq!(stream(&[b"\x7f\xff\xff\xff\x05\x10hello"]), DecompressionOutcome::Error("COD-S5"));
    }

    #[test]
    fn cod_s6_a_header_alone_is_empty_and_an_empty_chunk_an_error() {
        assert_eq!(stream(&[]), DecompressionOutcome::of(b""));
        assert_eq!(stream(&[b"\0\0\0\0", HELLO]), DecompressionOutcome::Error("COD-S6"));
    }

    #[test]
    fn cod_s9_a_chunk_cannot_claim_more_than_it_holds() {
        assert_eq!(stream(&[b"\0\0\0\x07\xff\xff\xff\xff\x07\x10h"]), DecompressionOutcome::Error("COD-S9"));
    }
}
