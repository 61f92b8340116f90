//! What the end of a run of bytes means: whole, torn, zeros or damaged.

/// How a run of bytes ends after its last whole entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "positions and lengths in bytes, named by the variants")]
pub enum Tail {
    /// With the entry.
    Complete,
    /// Inside an entry that needs `needed` bytes, of which `available` are there (L8-14). All are there of an invalid last entry of a log
    /// that grows.
    Torn { position: u64, needed: u64, available: u64 },
    /// In zeros up to the end, as a preallocated file does (SEG-2).
    Zeros { position: u64, bytes: u64 },
    /// In bytes that are no entry, or in an entry with valid ones after its beginning.
    Damaged { position: u64 },
}

impl Tail {
    /// The name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Torn { .. } => "torn",
            Self::Zeros { .. } => "zeros",
            Self::Damaged { .. } => "damaged",
        }
    }

    /// Where the bytes after the last whole entry begin; `None` if there are none.
    pub fn position(self) -> Option<u64> {
        match self {
            Self::Complete => None,
            Self::Torn { position, .. } | Self::Zeros { position, .. } | Self::Damaged { position } => Some(position),
        }
    }
}
