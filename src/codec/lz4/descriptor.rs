//! The descriptor of a frame: its fields, its header checksum, and what readers of 0.8 and 0.9 refuse of it. A frame can be rewritten by its
//! descriptor, without decompression.
//!
//! Blocks that depend on each other are accepted here: their header checksum is as good as that of others, and a rewrite keeps blocks as
//! they are. Sources: KIP-57, CNV-20 to CNV-22.

use super::header_checksum::{ChecksumForm, FoundChecksum};
use super::layout::{BLOCK_CHECKSUM, CONTENT_CHECKSUM, CONTENT_SIZE, MAGIC, RESERVED, STORED, VERSION, VERSION_1};
use crate::codec::error::lz4_error;
use crate::error::Result;
use crate::wire::to_len;

/// The bits of FLG, and the bit of a block's size that marks a stored block.
pub mod flag {
    pub use crate::codec::lz4::layout::{BLOCK_CHECKSUM, CONTENT_CHECKSUM, CONTENT_SIZE, DICTIONARY_ID, INDEPENDENT, STORED};
}

/// The position of FLG.
const FLG: usize = 4;
/// The position of the checksum in a frame without a content size.
const SHORT: usize = 6;
/// Bytes of a content size.
const SIZE_LEN: usize = 8;

/// The descriptor of one frame.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor<'a> {
    /// The frame's magic, FLG, BD and content size.
    bytes: &'a [u8],
    /// FLG.
    pub(super) flags: u8,
    /// BD.
    pub(super) sizes: u8,
    /// The header checksum as stored.
    pub stored: u8,
}

impl<'a> Descriptor<'a> {
    /// Parses the descriptor that `frame` begins with.
    ///
    /// # Errors
    /// `Codec` when the frame is cut short or has another magic (CNV-21), version, reserved bits or a dictionary id.
    pub fn parse(frame: &'a [u8]) -> Result<Self> {
        let cut = || lz4_error("COD-L1", "the frame descriptor is cut short");
        let (magic, after) = frame.split_first_chunk::<4>().ok_or_else(cut)?;
        if *magic != MAGIC {
            return Err(lz4_error("COD-L15", "the magic is not that of an LZ4 frame"));
        }
        let &[flags, sizes] = after.first_chunk::<2>().ok_or_else(cut)?;
        if flags & RESERVED != 0 {
            return Err(lz4_error("COD-L12", "reserved bits or a dictionary id are set"));
        }
        if flags & VERSION != VERSION_1 {
            return Err(lz4_error("COD-L2", "the version is not 1"));
        }
        let at = if flags & CONTENT_SIZE == 0 { SHORT } else { SHORT + SIZE_LEN };
        let (bytes, after) = frame.split_at_checked(at).ok_or_else(cut)?;
        let stored = *after.first().ok_or_else(cut)?;
        Ok(Self { bytes, flags, sizes, stored })
    }

    /// Returns the bytes of all blocks, if the frame declares them.
    pub(super) fn content_size(&self) -> Option<u64> {
        self.bytes.get(SHORT..)?.first_chunk::<SIZE_LEN>().map(|size| u64::from_le_bytes(*size))
    }

    /// Returns the position of the header checksum in the frame.
    pub fn checksum_at(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the header checksum in this form.
    pub fn checksum(&self, form: ChecksumForm) -> u8 {
        form.of(self.bytes)
    }

    /// Returns the form of the stored checksum.
    pub fn found(&self) -> FoundChecksum {
        match self.stored {
            stored if stored == self.checksum(ChecksumForm::Correct) => FoundChecksum::Correct,
            stored if stored == self.checksum(ChecksumForm::Broken) => FoundChecksum::Broken,
            _ => FoundChecksum::Neither,
        }
    }

    /// True when readers of 0.8 and 0.9 refuse the frame whatever its header checksum: it has a content size or checksum (COD-L11).
    pub fn is_too_new(&self) -> bool {
        self.flags & (CONTENT_SIZE | CONTENT_CHECKSUM) != 0
    }
}

/// Writes `frame` without content size and content checksum into `to`, which is at least as long; returns the bytes written (CNV-22).
/// The caller sets the header checksum.
///
/// # Errors
/// `Codec` when a block or the end mark is missing.
pub fn strip(frame: &[u8], to: &mut [u8]) -> Result<usize> {
    let descriptor = Descriptor::parse(frame)?;
    let (header, after) = frame.split_at_checked(descriptor.checksum_at() + 1).unwrap_or((frame, &[]));
    let (blocks, rest) = after.split_at_checked(blocks_len(after, descriptor.flags)?).unwrap_or((after, &[]));
    let checksum_len = if descriptor.flags & CONTENT_CHECKSUM == 0 { 0 } else { 4 };
    let rest = rest.get(checksum_len..).ok_or_else(|| lz4_error("COD-L11", "the content checksum is cut short"))?;
    let mut writer = StrippedFrame { to, at: 0 };
    writer.put(header.get(..SHORT).unwrap_or_default());
    writer.put(&[descriptor.stored]);
    writer.put(blocks);
    writer.put(rest);
    let len = writer.at;
    if let Some(flags) = to.get_mut(FLG) {
        *flags &= !(CONTENT_SIZE | CONTENT_CHECKSUM);
    }
    Ok(len)
}

/// Returns the bytes of the blocks including the end mark.
fn blocks_len(after: &[u8], flags: u8) -> Result<usize> {
    let checksum_len = if flags & BLOCK_CHECKSUM == 0 { 0 } else { 4 };
    let mut at = 0_usize;
    loop {
        let size = after.get(at..).and_then(|tail| tail.first_chunk::<4>());
        let size = size.ok_or_else(|| lz4_error("COD-L13", "the end mark is missing"))?;
        let len = to_len(u32::from_le_bytes(*size) & !STORED);
        at += 4;
        if len == 0 {
            return Ok(at);
        }
        at = at.saturating_add(len).saturating_add(checksum_len);
    }
}

struct StrippedFrame<'a> {
    to: &'a mut [u8],
    at: usize,
}

impl StrippedFrame<'_> {
    fn put(&mut self, bytes: &[u8]) {
        if let Some(slot) = self.to.get_mut(self.at..).and_then(|tail| tail.get_mut(..bytes.len())) {
            slot.copy_from_slice(bytes);
        }
        self.at += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(parts: &[&[u8]]) -> Vec<u8> {
        [&[&MAGIC[..]], parts].concat().concat()
    }

    #[test]
    fn cod_l7_both_forms_of_known_descriptors() {
        let known: [(&[u8], u8, u8); 10] = [
            (b"\x60\x40", 0x82, 0x1a),
            (b"\x60\x50", 0xfb, 0x77),
            (b"\x60\x60", 0x51, 0xd6),
            (b"\x60\x70", 0x73, 0x10),
            (b"\x64\x40", 0xa7, 0x0c),
            (b"\x64\x60", 0x85, 0x12),
            (b"\x64\x70", 0xb9, 0x56),
            (b"\x70\x40", 0xad, 0xec),
            (b"\x74\x40", 0xbd, 0xf6),
            (b"\x68\x40\x0b\0\0\0\0\0\0\0", 0x58, 0x69),
        ];
        for (bytes, correct, broken) in known {
            for (stored, found) in
                [(correct, FoundChecksum::Correct), (broken, FoundChecksum::Broken), (correct ^ broken ^ 0x55, FoundChecksum::Neither)]
            {
                let frame = frame(&[bytes, &[stored], b"\0\0\0\0"]);
                let descriptor = Descriptor::parse(&frame).unwrap();
                assert_eq!(descriptor.checksum(ChecksumForm::Correct), correct, "{bytes:02x?}");
                assert_eq!(descriptor.checksum(ChecksumForm::Broken), broken, "{bytes:02x?}");
                assert_eq!((descriptor.stored, descriptor.found()), (stored, found), "{bytes:02x?}");
                assert_eq!(descriptor.checksum_at(), 4 + bytes.len());
            }
        }
    }

    #[test]
    fn cnv_21_other_bytes_are_refused() {
        let whole = frame(&[b"\x68\x40\x0b\0\0\0\0\0\0\0\x58"]);
        for len in 0..whole.len() {
            assert_eq!(Descriptor::parse(&whole[..len]).unwrap_err().rule(), "COD-L1", "{len}");
        }
        assert_eq!(Descriptor::parse(b"\x02\x21\x4c\x18\x60\x40\x82").unwrap_err().rule(), "COD-L15");
        assert_eq!(Descriptor::parse(&frame(&[b"\x61\x40\x82"])).unwrap_err().rule(), "COD-L12");
        assert_eq!(Descriptor::parse(&frame(&[b"\x20\x40\x82"])).unwrap_err().rule(), "COD-L2");
    }

    #[test]
    fn cnv_22_size_and_checksum_are_taken_out_and_the_rest_stays() {
        let blocks = b"\x01\0\0\x80a\x56\x74\x0d\x55\0\0\0\0";
        let input = frame(&[b"\x7c\x40\x01\0\0\0\0\0\0\0\xaa", blocks, b"\x56\x74\x0d\x55", b"after"]);
        let mut to = vec![0; input.len()];
        let len = strip(&input, &mut to).unwrap();
        assert_eq!(to[..len], frame(&[b"\x70\x40\xaa", blocks, b"after"]));
        for cut in 15..input.len() - 10 {
            let error = strip(&input[..cut], &mut to).unwrap_err();
            assert!(["COD-L13", "COD-L11"].contains(&error.rule()), "{cut}: {error}");
        }
    }
}
