//! One block. liblz4 decompresses it; if liblz4 refuses it, the decoder of `lz4_flex` finds the reason.

use super::frame::Lz4Block;
use super::liblz4;
use crate::codec::error::lz4_error;
use crate::codec::output::Output;
use crate::error::{Error, Result};
use lz4_flex::block::DecompressError;

/// Decompresses a block to at most `maximum` bytes.
pub(super) fn decompress(block: &Lz4Block<'_>, maximum: usize, out: &mut Output<'_>) -> Result<()> {
    match block {
        Lz4Block::Stored(bytes) => store(bytes, out),
        Lz4Block::Compressed(bytes) => decompress_block(bytes, maximum, out),
    }
}

fn store(bytes: &[u8], out: &mut Output<'_>) -> Result<()> {
    out.ensure(bytes.len())?;
    if let Some(buffer) = out.unfilled(bytes.len())?.get_mut(..bytes.len()) {
        buffer.copy_from_slice(bytes);
    }
    out.fill(bytes.len());
    Ok(())
}

fn decompress_block(bytes: &[u8], maximum: usize, out: &mut Output<'_>) -> Result<()> {
    // A byte of input decompresses to 255 bytes at most, so a small block gets no buffer of 4 MiB.
    let wanted = maximum.min(bytes.len().saturating_mul(255));
    let buffer = out.unfilled(wanted)?;
    let end = buffer.len().min(maximum);
    let buffer = buffer.get_mut(..end).unwrap_or_default();
    if let Some(len) = liblz4::decompress(bytes, buffer) {
        out.fill(len);
        return Ok(());
    }
    match lz4_flex::block::decompress_into(bytes, buffer) {
        // liblz4 checks the rules for the end of a block, as do Kafka's readers, which call it too.
        Ok(_) => Err(lz4_error("COD-L1", "a block does not end as a block must")),
        Err(error) => Err(explain(&error, end, maximum, out)),
    }
}

/// Decompresses a block that refers to the 64 KiB before it (COD-L12). Rare: no broker takes such frames.
#[cold]
pub(super) fn decompress_dependent(bytes: &[u8], maximum: usize, out: &mut Output<'_>) -> Result<()> {
    const WINDOW: usize = 64 << 10;
    let before = out.from(out.len().saturating_sub(WINDOW)).to_vec();
    let buffer = out.unfilled(maximum.min(bytes.len().saturating_mul(255)))?;
    let end = buffer.len().min(maximum);
    match lz4_flex::block::decompress_into_with_dict(bytes, buffer.get_mut(..end).unwrap_or_default(), &before) {
        Ok(len) => {
            out.fill(len);
            Ok(())
        }
        Err(error) => Err(explain(&error, end, maximum, out)),
    }
}

/// Returns the error of a block: one whose output does not fit exceeds the budget, unless the buffer had all that the frame allows.
#[cold]
fn explain(error: &DecompressError, given: usize, maximum: usize, out: &Output<'_>) -> Error {
    match error {
        DecompressError::OutputTooSmall { .. } if given < maximum => {
            out.ensure(given + 1).err().unwrap_or_else(|| lz4_error("COD-L13", "a block decompresses to more than it can hold"))
        }
        DecompressError::OutputTooSmall { .. } => lz4_error("COD-L13", "a block decompresses to more than the frame allows"),
        DecompressError::LiteralOutOfBounds => lz4_error("COD-L1", "a literal runs past its block"),
        DecompressError::ExpectedAnotherByte => lz4_error("COD-L1", "a block ends inside a sequence"),
        DecompressError::OffsetOutOfBounds => lz4_error("COD-L1", "a match reaches back before its block"),
        _ => lz4_error("COD-L1", "a block is corrupt"),
    }
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec::Lz4;
    use crate::codec::HeaderChecksum::Correct;
    use crate::codec::NO_ENTRIES;
    use crate::codec::testing::{DecompressionOutcome, decompress, decompress_within};
    use crate::limits::Limits;

    fn frame(blocks: &[&[u8]]) -> Vec<u8> {
        let mut frame = b"\x04\x22\x4d\x18\x60\x40\x82".to_vec();
        for block in blocks {
            frame.extend_from_slice(&u32::try_from(block.len()).unwrap_or_default().to_le_bytes());
            frame.extend_from_slice(block);
        }
        frame.extend_from_slice(&[0; 4]);
        frame
    }

    /// `a`, a match of `19 + 255 * more + last` bytes from one back, then `literals` at the end.
    fn run(more: usize, last: u8, literals: &[u8]) -> Vec<u8> {
        let mut block = b"\x1fa\x01\0".to_vec();
        block.resize(block.len() + more, 255);
        block.push(last);
        block.push(u8::try_from(literals.len() << 4).unwrap_or_default());
        block.extend_from_slice(literals);
        block
    }

    #[test]
    fn blocks_are_decompressed_one_after_the_other() {
        let block = run(0, 1, b"bcdef");
        let expected = [vec![b'a'; 21], b"bcdef".to_vec()].concat();
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[&block, &block])), DecompressionOutcome::of(&expected.repeat(2)));
    }

    #[test]
    fn cod_l12_a_match_does_not_reach_into_the_block_before() {
        let reaching = b"\x10b\x02\0\x50cdefg";
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[&run(0, 1, b"bcdef"), reaching])), DecompressionOutcome::Error("COD-L1"));
    }

    #[test]
    fn cod_l13_a_block_decompresses_to_the_maximum_and_no_further() {
        // 1 + 19 + 255 * 256 + 231 + 5 = 65,536
        let expected = [vec![b'a'; 65_531], b"bcdef".to_vec()].concat();
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[&run(256, 231, b"bcdef")])), DecompressionOutcome::of(&expected));
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[&run(256, 232, b"bcdef")])), DecompressionOutcome::Error("COD-L13"));
    }

    #[test]
    fn cod_l13_a_compressed_block_larger_than_the_maximum_is_refused() {
        assert_eq!(
            decompress(Lz4(Correct, NO_ENTRIES), b"\x04\x22\x4d\x18\x60\x40\x82\0\0\x81\x01\x01\x01"),
            DecompressionOutcome::Error("COD-L13")
        );
    }

    #[test]
    fn cod_l1_corrupt_blocks_are_errors() {
        for block in [b"\x50ab".as_slice(), b"\x10a\x05\0\x50bcdef", b"\x1fa\x01\0\xff", b"\xf0"] {
            assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[block])), DecompressionOutcome::Error("COD-L1"), "{block:02x?}");
        }
    }

    #[test]
    fn cod_l1_a_match_from_no_distance_is_zeros_as_for_kafka_and_never_what_was_there_before() {
        for length in [4_u8, 12] {
            let block = [&[0x10 | (length - 4), b'a', 0, 0], b"\x50bcdef".as_slice()].concat();
            let expected = [b"a".as_slice(), &vec![0; usize::from(length)], b"bcdef"].concat();
            assert_eq!(
                decompress(Lz4(Correct, NO_ENTRIES), &frame(&[&run(0, 1, b"stale"), &block])),
                DecompressionOutcome::of(&[decompressed_run(), expected].concat())
            );
        }
    }

    fn decompressed_run() -> Vec<u8> {
        [vec![b'a'; 21], b"stale".to_vec()].concat()
    }

    #[test]
    fn cod_6_blocks_end_at_the_budget() {
        let within = |bytes| Limits { max_decompressed_bytes: bytes, ..Limits::default() };
        let compressed = frame(&[&run(0, 1, b"bcdef")]);
        assert!(matches!(decompress_within(&within(26), Lz4(Correct, NO_ENTRIES), &compressed), DecompressionOutcome::Decompressed(..)));
        assert_eq!(decompress_within(&within(25), Lz4(Correct, NO_ENTRIES), &compressed), DecompressionOutcome::Error("COD-6"));
        let stored = b"\x04\x22\x4d\x18\x60\x40\x82\x01\0\0\x80\x01\0\0\0\0";
        assert_eq!(decompress_within(&within(0), Lz4(Correct, NO_ENTRIES), stored), DecompressionOutcome::Error("COD-6"));
    }
}
