//! Where a valid entry is.

use std::ops::Range;

use crate::model::BatchHeader;

/// A valid entry: where it is and what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPosition {
    /// Position in the input.
    pub position: u64,
    /// Bytes.
    pub size: u64,
    /// First offset.
    pub base_offset: i64,
    /// Last offset.
    pub last_offset: i64,
    /// Checksum.
    pub crc: u32,
}

impl EntryPosition {
    /// Where the entry with this header is.
    pub fn of(header: &BatchHeader) -> Self {
        let BatchHeader { position, size, base_offset, last_offset, crc, .. } = *header;
        Self { position, size, base_offset, last_offset, crc }
    }

    /// Its bytes in the input.
    pub fn bytes(&self) -> Range<u64> {
        self.position..self.position.saturating_add(self.size)
    }

    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        Self { position: other.position, ..*self } == *other
    }
}
