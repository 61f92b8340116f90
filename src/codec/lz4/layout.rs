//! The layout of a frame.
//!
//! magic 4 | FLG 1 | BD 1 | [content size 8] | HC 1 | blocks: size 4, bytes, [checksum 4] | end mark 4 | [content checksum 4]; little-endian.

pub(super) const MAGIC: [u8; 4] = *b"\x04\x22\x4d\x18";

// FLG
pub(super) const RESERVED: u8 = 0b0000_0011;
/// Bit 0 of FLG: the frame names a dictionary.
pub const DICTIONARY_ID: u8 = 0b0000_0001;
/// Bit 2: a checksum of the content follows the end mark.
pub const CONTENT_CHECKSUM: u8 = 0b0000_0100;
/// Bit 3: the size of the content follows BD.
pub const CONTENT_SIZE: u8 = 0b0000_1000;
/// Bit 4: a checksum follows every block.
pub const BLOCK_CHECKSUM: u8 = 0b0001_0000;
/// Bit 5: no block refers to those before it.
pub const INDEPENDENT: u8 = 0b0010_0000;
pub(super) const VERSION: u8 = 0b1100_0000;
pub(super) const VERSION_1: u8 = 0b0100_0000;

// Block size
/// The bit of a block's size that says that its bytes are stored as they are.
pub const STORED: u32 = 1 << 31;
