//! Blocks that decompress to nothing, at which Kafka's reader mostly ends the stream (COD-L17).
//!
//! Sources: `Lz4BlockInputStream`, `ChunkedBytesStream`, `DefaultRecord` and `AbstractLegacyRecordBatch` of Kafka's clients 3.9 and 4.3.
//! A read that meets such a block gives 0 bytes. `ChunkedBytesStream` turns that into the end of the stream, unless it has at least a whole
//! buffer to read: then it passes the 0 on, and the reader of a record's body asks again.

/// Returns the bytes of the entry that decompressed bytes start with, as its length field claims; `None` if they end before or inside it.
pub type EntryLen = fn(&[u8]) -> Option<usize>;

/// For content that no reader of Kafka's splits into entries.
pub const NO_ENTRIES: EntryLen = |_| None;

/// Bytes that Kafka buffers of a decompressed LZ4 stream (`CompressionType.LZ4.decompressionOutputSize`).
const BUFFER_LEN: usize = 2048;

/// A walk over the entries of a frame as far as the frame is decompressed.
pub(super) struct EntryWalk {
    entry_len: EntryLen,
    /// Where the last entry starts whose length is known to be needed.
    at: usize,
}

impl EntryWalk {
    pub(super) fn new(entry_len: EntryLen) -> Self {
        Self { entry_len, at: 0 }
    }

    /// True if Kafka reads nothing after an empty block that follows these decompressed bytes.
    #[cold]
    pub(super) fn end_at_empty_block(&mut self, decompressed: &[u8]) -> bool {
        while let Some(len) = decompressed.get(self.at..).and_then(self.entry_len) {
            let end = self.at.saturating_add(len.max(1));
            if end > decompressed.len() {
                return end - decompressed.len() < BUFFER_LEN;
            }
            self.at = end;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec::Lz4;
    use crate::codec::HeaderChecksum::Correct;
    use crate::codec::testing::{DecompressionOutcome, decompress};
    use crate::codec::{CodecFinding, EntryLen, NO_ENTRIES};

    /// Entries of 3,000 bytes.
    const LONG: EntryLen = |bytes| (!bytes.is_empty()).then_some(3000);
    const EMPTY: &[u8] = b"";

    /// A frame of these blocks: an empty block as one token of no literals, others as they are.
    fn frame(blocks: &[&[u8]]) -> Vec<u8> {
        let mut frame = b"\x04\x22\x4d\x18\x60\x40\x82".to_vec();
        for block in blocks {
            let len = u32::try_from(block.len()).unwrap_or_default();
            if len == 0 {
                frame.extend_from_slice(b"\x01\0\0\0\0");
            } else {
                frame.extend_from_slice(&(len | 1 << 31).to_le_bytes());
                frame.extend_from_slice(block);
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame
    }

    fn ended(decompressed: &[u8], bytes: u64) -> DecompressionOutcome {
        DecompressionOutcome::Decompressed(decompressed.to_vec(), vec![CodecFinding::EmptyBlock { bytes }])
    }

    #[test]
    fn cod_l17_an_empty_block_ends_the_stream() {
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[b"ab", EMPTY, b"cd"])), ended(b"ab", 10));
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &frame(&[EMPTY])), ended(b"", 4));
        // What follows is not looked at.
        let cut = [&frame(&[b"ab", EMPTY]), b"\xff".as_slice()].concat();
        assert_eq!(decompress(Lz4(Correct, NO_ENTRIES), &cut), ended(b"ab", 5));
    }

    #[test]
    fn cod_l17_inside_an_entry_that_lacks_a_whole_buffer_the_stream_goes_on() {
        let long = [7; 3000];
        let of = |first: usize, second: usize| frame(&[&long[..first], EMPTY, &long[first..second], EMPTY]);
        assert_eq!(decompress(Lz4(Correct, LONG), &of(952, 3000)), ended(&long, 4));
        assert_eq!(decompress(Lz4(Correct, LONG), &of(953, 3000)), ended(&long[..953], 2060));
        assert_eq!(decompress(Lz4(Correct, LONG), &of(900, 952)), DecompressionOutcome::of(&long[..952]));
        // Between two entries there is no body to read.
        assert_eq!(decompress(Lz4(Correct, LONG), &frame(&[&long, EMPTY, &long])), ended(&long, 3008));
    }
}
