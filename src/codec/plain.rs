//! The unpacked bytes of one entry, in storage that is reused.

/// Readable bytes behind the unpacked ones, so that readers may load in fixed windows.
pub const SLACK: usize = 64;

/// A reused output buffer: initialised storage, and how much of it was unpacked.
///
/// What lies behind the unpacked bytes is initialised and of no meaning: storage is not zeroed again.
#[derive(Clone, Debug, Default)]
pub struct Plain {
    pub(super) storage: Vec<u8>,
    pub(super) len: usize,
}

impl Plain {
    /// Takes storage over; all its bytes are reused, none is kept as content.
    ///
    /// Hand over what `into_vec` gave, not cleared: what the vector holds need not be zeroed again.
    pub fn from_vec(storage: Vec<u8>) -> Self {
        Self { storage, len: 0 }
    }

    /// Takes bytes over as if they had been unpacked.
    pub fn holding(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        bytes.resize(len + SLACK, 0);
        Self { storage: bytes, len }
    }

    /// Gives the whole storage back. The unpacked bytes are its first `len()`, and at least `SLACK` more follow them.
    pub fn into_vec(self) -> Vec<u8> {
        self.storage
    }

    /// The unpacked bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.storage.get(..self.len).unwrap_or_default()
    }

    /// The unpacked bytes and `SLACK` more, once something was unpacked; before that, nothing.
    #[inline]
    pub fn readable(&self) -> &[u8] {
        self.storage.get(..self.len + SLACK).unwrap_or_default()
    }

    /// Bytes unpacked.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when nothing was unpacked.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
